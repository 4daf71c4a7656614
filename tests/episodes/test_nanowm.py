from __future__ import annotations

from typing import Any

import pytest

from tests.episodes.nanowm_exports import files, prepared
from wbgpu.episodes.layout import DescribedLayout, SuiteDescription
from wbgpu.episodes.nanowm import NanoWMRollouts
from wbgpu.episodes.video_folders import VideoFolders
from wbgpu.errors import ConfigurationError, InputError, PairingError
from wbgpu.records.declared import Declared

NAMES = ("sample_0000_gt.mp4", "sample_0000_gen.mp4", "sample_0001_gt.mp4", "sample_0001_gen.mp4")


def layout(**settings: Any) -> NanoWMRollouts:
    return NanoWMRollouts(**{"num_context": 4, **settings})


def ids(episodes) -> list[str]:
    return [episode.episode_id for episode in episodes]


def test_a_folder_of_rollouts(tmp_path):
    """Truth and prediction of a sample lie side by side, and both must be context and horizon."""
    root = files(tmp_path / "r", *NAMES, "sample_0000_compare.mp4")
    pairs = layout(fps=3).pairs(root, None)
    assert ids(pairs) == ids(layout().episodes(root)) == ["sample_0000", "sample_0001"]
    assert pairs[1].ground_truth.path == root / "sample_0001_gt.mp4"
    assert pairs[1].prediction.path == root / "sample_0001_gen.mp4"
    settings = "suite.num_context=4 suite.layout.num_steps=8 suite.layout.fps=3"
    declared = Declared(settings, 12, fps=3)
    assert {pairs[0].ground_truth.declared, pairs[1].prediction.declared} == {declared}
    assert layout(num_steps=None).episodes(root)[0].ground_truth.declared.num_frames is None


def test_rollouts_of_another_checkpoint_against_the_same_ground_truth(tmp_path):
    """Sample 1 of a run with another rollout length is another scene."""
    ours, theirs = files(tmp_path / "a", *NAMES), files(tmp_path / "b", *NAMES)
    assert [p.prediction.path.parent for p in layout().pairs(ours, theirs)] == [theirs, theirs]
    files(theirs, "sample_0001_gt.mp4", content=b"y")
    with pytest.raises(PairingError, match=r"sample_0001_gt.mp4 is not the file"):
        layout().pairs(ours, theirs)
    assert len(layout(same_truth=False).pairs(ours, theirs)) == 2
    assert len(layout(episodes=["sample_0000"]).pairs(ours, theirs)) == 1


def test_missing_partners_are_named(tmp_path):
    root = files(tmp_path / "r", *NAMES[:3], "sample_0002_gen.mp4")
    with pytest.raises(
        PairingError, match=r"(?s)predictions: 1\n  sample_0001\n.*1\n  sample_0002"
    ):
        layout().pairs(root, None)
    with pytest.raises(PairingError, match="no ground truth under"):
        layout().episodes(files(tmp_path / "g", "sample_0000_gen.mp4"))
    with pytest.raises(PairingError, match=r"no predictions under .*/empty"):
        layout().pairs(root, files(tmp_path / "empty"))
    with pytest.raises(PairingError, match="no ground-truth videos"):
        layout().episodes(tmp_path / "empty")
    with pytest.raises(InputError, match="ground truth does not exist"):
        layout().episodes(tmp_path / "none")
    with pytest.raises(InputError, match="predictions folder does not exist"):
        layout().pairs(root, tmp_path / "none")


def test_a_prepared_folder(tmp_path):
    """What worldbench pairs is paired alike, and the manifest is among the files of a result."""
    root = prepared(tmp_path / "p", "rt1/b.mp4", "rt1/a.mp4")
    pairs = layout().pairs(root, root / "candidate")
    worldbenchs = VideoFolders().pairs(root / "ground_truth", root / "candidate")
    assert ids(pairs) == ids(worldbenchs) == ["rt1/a.mp4", "rt1/b.mp4"]
    assert [p.prediction.path for p in pairs] == [p.prediction.path for p in worldbenchs]
    assert pairs[0].prediction.declared.place.endswith("manifest.json: $.episodes[1]")
    assert pairs[0].signals.files == {"metadata": root / "manifest.json"}
    (root / "candidate/rt1/a.mp4").unlink()
    with pytest.raises(PairingError, match=r"Missing predictions: 1\n  rt1/a.mp4"):
        layout().pairs(root, root / "candidate")
    files(root / "baseline", "rt1/c.mp4")
    with pytest.raises(PairingError, match=r"Prediction-only episodes: 1\n  rt1/c.mp4"):
        layout().pairs(root, root / "baseline")
    with pytest.raises(ConfigurationError, match=r"suite.predictions: give the folder"):
        layout().pairs(root, None)
    with pytest.raises(ConfigurationError, match=r"suite.predictions: expected a folder of"):
        layout().pairs(root, tmp_path)


def test_two_folders_as_the_adapter_takes_them(tmp_path):
    truth = files(tmp_path / "gt", "rt1/a.mp4", "b.mp4")
    images = files(tmp_path / "p", "rt1/a/0.png", "b/0.png")
    pairs = layout().pairs(truth, images)
    assert ids(pairs) == ["b.mp4", "rt1/a.mp4"]
    assert pairs[1].prediction.images == (images / "rt1/a/0.png",)
    assert pairs[1].prediction.declared.num_frames == 12
    assert ids(layout().pairs(images, truth)) == ["b", "rt1/a"]
    with pytest.raises(ConfigurationError, match=r"suite.predictions: give the folder"):
        layout().pairs(truth, None)
    with pytest.raises(PairingError, match="Missing predictions: 2"):
        layout().pairs(truth, files(tmp_path / "other", "c.mp4"))


@pytest.mark.parametrize("prediction", ["b.mp4", "b"])
def test_two_clips_of_any_name(tmp_path, prediction):
    files(tmp_path, "a.mp4", "b.mp4", "b/0.png", "b/1.png")
    (pair,) = layout().pairs(tmp_path / "a.mp4", tmp_path / prediction)
    assert (pair.episode_id, pair.prediction.path) == ("a.mp4", tmp_path / prediction)


def test_some_episodes(tmp_path):
    """Predictions of the others are left alone; ids keep their order, whatever was asked first."""
    truth = files(tmp_path / "gt", "a.mp4", "a-b.mp4", "c.mp4")
    root = files(tmp_path / "p", "a.mp4", "a-b.mp4", "c.mp4")
    assert ids(layout(episodes=["a", "a-b.mp4"]).pairs(truth, root)) == ["a-b.mp4", "a.mp4"]
    with pytest.raises(ConfigurationError, match=r"layout.episodes: 'd' is not under .*: 3\n  a-b"):
        layout(episodes=["d"]).episodes(truth)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"episodes": ["a", "a.mp4"]}, "episodes: expected different ids"),
        ({"episodes": []}, "episodes: expected different ids"),
        ({"num_steps": 0}, "num_steps: expected an integer >= 1 or null, got 0"),
        ({"num_steps": True}, "num_steps: expected an integer"),
        ({"fps": 0}, "fps: expected a number above 0"),
        ({"fps": float("nan")}, "fps: expected a number above 0"),
        ({"fps": float("inf")}, "fps: expected a number above 0"),
        ({"fps": True}, "fps: expected a number above 0"),
        ({"fps": "3"}, "fps: expected a number above 0"),
        ({"episodes": "sample_0000"}, r"ids such as \[sample_0000\], got 'sample_0000'"),
        ({"episodes": 3}, "episodes: expected different ids such as"),
        ({"episodes": [None]}, "episodes: expected different ids such as"),
        ({"episodes": {"a": 1}}, "episodes: expected different ids such as"),
        ({"checkpoint": ["a"]}, "checkpoint: expected a name or null"),
        ({"checkpoint": ""}, "checkpoint: expected a name or null"),
        ({"dataset": True}, "dataset: expected a name or null"),
        ({"same_truth": "maybe"}, "same_truth: expected true or false, got 'maybe'"),
    ],
)
def test_settings_that_fit_no_rollout(settings, message):
    with pytest.raises(ConfigurationError, match=message):
        layout(**settings)


def test_names_of_digits_are_names(tmp_path):
    """Hydra reads checkpoint=300000 as a number, which once ended in a crash after all scoring."""
    root = files(tmp_path / "r", "10_gt.mp4", "10_gen.mp4")
    named = layout(checkpoint=300000, dataset=5, episodes=[10])
    described = named.describe(root, None)
    assert described.checkpoint_name == "300000"
    assert described.notes[0] == "Dataset: 5"
    assert ids(named.pairs(root, None)) == ["10"]


def test_what_is_known_of_a_suite(tmp_path):
    """The name under which a checkpoint is reported, and what its reader has to know."""
    assert isinstance(layout(), DescribedLayout)
    assert not isinstance(VideoFolders(), DescribedLayout)
    root = prepared(tmp_path / "p", "a.mp4")
    described = layout(dataset="RT-1 / Fractal").describe(root, root / "candidate")
    assert described.checkpoint_name == "nanowm-300k"
    assert described.notes[1] == "One fixed episode."
    assert layout().describe(root, None).checkpoint_name is None
    rollouts = files(tmp_path / "r", *NAMES)
    named = layout(checkpoint="nanowm-50k", dataset="RT-1").describe(rollouts, None)
    assert (named.checkpoint_name, named.notes[0]) == ("nanowm-50k", "Dataset: RT-1")
    assert "codec's own error is not counted" in named.notes[1]
    assert layout().describe(root / "ground_truth", root / "baseline") == SuiteDescription()
