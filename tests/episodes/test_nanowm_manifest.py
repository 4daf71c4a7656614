from __future__ import annotations

import re
import unicodedata
from typing import Any

import pytest

from tests.episodes.nanowm_exports import files, manifest, prepared, write_manifest
from wbgpu.episodes.nanowm_manifest import Manifest, read_manifest
from wbgpu.errors import ConfigurationError, PairingError, ResultFileError
from wbgpu.records.declared import Declared

PATHS = ("rt1/b.mp4", "rt1/a.mp4")


def read(root, **settings: Any) -> Manifest:
    settings = {"num_context": 4, "num_steps": 8, "dataset": None, **settings}
    found = read_manifest(root, **settings)
    assert found is not None
    return found


def test_what_a_manifest_says(tmp_path):
    """Episodes sort by path, and each clip is held to what its entry says."""
    root = prepared(tmp_path / "p", *PATHS)
    found = read(root)
    assert list(found.truths()) == list(found.episodes) == ["rt1/a.mp4", "rt1/b.mp4"]
    truth = found.truths()["rt1/a.mp4"]
    assert truth.path == root / "ground_truth/rt1/a.mp4"
    assert truth.declared == Declared(f"{root}/manifest.json: $.episodes[1]", 12, (32, 24), 3.0)
    source = "IPEC-COMMUNITY/fractal20220817_data_lerobot, observation.images.image"
    assert found.notes == (f"Dataset: RT-1 / Fractal, {source}", "One fixed episode.")
    assert found.checkpoint(root / "baseline", None) == "nanowm-50k"
    assert found.checkpoint(root / "x/../candidate", "nanowm-300k") == "nanowm-300k"


def test_without_a_manifest_or_a_candidate(tmp_path):
    assert read_manifest(tmp_path, num_context=4, num_steps=8, dataset=None) is None
    document = manifest("a.mp4", candidate=False)
    document |= {"dataset_source": None, "camera": None, "known_limitations": []}
    write_manifest(tmp_path, document)
    found = read(tmp_path)
    assert list(found.checkpoints) == [tmp_path / "baseline"]
    assert found.notes == ("Dataset: RT-1 / Fractal",)


def test_any_number_of_generated_frames_where_none_is_configured(tmp_path):
    write_manifest(tmp_path, manifest("a.mp4", context=1, steps=3))
    assert read(tmp_path, num_context=1, num_steps=None).episodes["a.mp4"].num_frames == 4


def test_predictions_of_another_checkpoint_or_folder_are_refused(tmp_path):
    root = prepared(tmp_path / "p", "a.mp4")
    found = read(root)
    with pytest.raises(ConfigurationError, match=r"layout.checkpoint: 'x'.*'nanowm-50k' made"):
        found.checkpoint(root / "baseline", "x")
    for other in (tmp_path, root / "ground_truth"):
        with pytest.raises(ConfigurationError, match=r"suite.predictions.*baseline or .*candidate"):
            found.checkpoint(other, None)


def changed(key: str, value: Any) -> dict[str, Any]:
    """A manifest with one value changed, or without its key where the value is ``...``."""
    document = manifest("a.mp4", "b.mp4")
    node: Any = document
    *parents, last = re.findall(r"\w+", key)
    for part in parents:
        node = node[int(part) if part.isdigit() else part]
    if value is ...:
        del node[last]
    else:
        node[last] = value
    return document


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("schema_version", "2", "expected '1', got '2'"),
        ("adapter", "other", "expected 'nanowm_rt1_prepare_worldbench_inputs'"),
        ("adapter", ..., "the key 'adapter' is missing"),
        ("dataset", None, r"\$\.dataset: expected a string, got null"),
        ("context_frames", 1, r"\$\.context_frames: 1, but suite.num_context is 4"),
        ("prediction_frames", 3, r"\$\.prediction_frames: 3, but suite.layout.num_steps is 8"),
        ("fps", 0, r"\$\.fps: expected a number above 0"),
        ("fps", "3", r"\$\.fps: expected a number"),
        ("ground_truth_directory", "/gt", r"ground_truth_directory: expected a path within"),
        ("candidate_directory", "../c", r"candidate_directory: expected a path within"),
        ("candidate_directory", "baseline", r"candidate_directory: 'baseline' is named as another"),
        ("baseline_directory", "ground_truth", r"baseline_directory: 'ground_truth' is named as"),
        ("baseline_directory", "\ud800", r"baseline_directory: expected a path within"),
        ("baseline_checkpoint", "", r"\$\.baseline_checkpoint: expected a name, got an empty"),
        ("candidate_checkpoint", None, r"\$\.candidate_checkpoint: expected a string"),
        ("known_limitations", "none", r"known_limitations: expected a list"),
        ("episodes", [], "expected at least one episode"),
        ("episodes.1.output_relative_path", "../a.mp4", r"\[1\]\.output_relative_path: expected a"),
        ("episodes.1.output_relative_path", "/a.mp4", r"\[1\]\.output_relative_path: expected a"),
        ("episodes.1.output_relative_path", "", r"\[1\]\.output_relative_path: expected a path"),
        ("episodes.1.output_relative_path", "a\0b", r"\[1\]\.output_relative_path: expected a"),
        ("episodes.1.output_relative_path", "a.mkv", r"'a.mkv' stands there twice"),
        ("episodes.1.episode_id", "a.mp4", r"\[1\]\.episode_id: 'a.mp4' stands there twice"),
        ("episodes.0.frame_count", 13, r"frame_count: 13, but context_frames \+ prediction_fr"),
        ("episodes.0.frame_count", 12.0, r"frame_count: expected an integer"),
        ("episodes.0.context_frames", 3, r"\[0\]\.context_frames: 3, but \$\.context_frames is 4"),
        ("episodes.0.prediction_frames", 7, r"\[0\]\.prediction_frames: 7, but"),
        ("episodes.0.resolution", [32], r"resolution: expected width and height"),
        ("episodes.0.resolution", [32, 0], r"resolution: expected width and height"),
        ("episodes.0.resolution", None, r"resolution: expected a list"),
    ],
)
def test_what_is_malformed_is_named_by_file_and_field(tmp_path, key, value, message):
    write_manifest(tmp_path, changed(key, value))
    with pytest.raises(ResultFileError, match=message) as caught:
        read(tmp_path)
    assert str(tmp_path / "manifest.json") in str(caught.value)


def test_another_dataset_and_no_json_at_all(tmp_path):
    path = write_manifest(tmp_path, manifest("a.mp4"))
    assert read(tmp_path, dataset="RT-1 / Fractal").dataset == "RT-1 / Fractal"
    with pytest.raises(ResultFileError, match=r"\$\.dataset: 'RT-1 / Fractal', but .*'Bridge'"):
        read(tmp_path, dataset="Bridge")
    path.write_text("{not-json")
    with pytest.raises(ResultFileError, match=r"manifest.json: not valid JSON"):
        read(tmp_path)


def test_the_folder_holds_what_the_manifest_lists(tmp_path):
    root = prepared(tmp_path / "p", *PATHS)
    files(root / "ground_truth", "rt1/c.mp4")
    with pytest.raises(PairingError, match=r"rt1/c.mp4 is not in .*manifest.json.*differ in 1"):
        read(root).truths()
    (root / "ground_truth/rt1/c.mp4").unlink()
    (root / "ground_truth/rt1/a.mp4").unlink()
    with pytest.raises(PairingError, match=r"rt1/a.mp4 is not there"):
        read(root).truths()


@pytest.mark.parametrize(("listed", "on_disk"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_names_of_the_same_letters_are_the_same(tmp_path, listed, on_disk):
    """A folder that was copied by way of macOS is still the manifest's."""
    root = prepared(tmp_path / "p", unicodedata.normalize(on_disk, "é.mp4"))
    write_manifest(root, manifest(unicodedata.normalize(listed, "é.mp4")))
    (name,) = read(root).truths()
    assert name == unicodedata.normalize("NFC", "é.mp4")
