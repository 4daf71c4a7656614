from __future__ import annotations

from pathlib import Path

import pytest

from wbgpu.episodes.tiled_videos import TiledVideos
from wbgpu.errors import ConfigurationError, InputError, PairingError
from wbgpu.records.clip import Clip
from wbgpu.records.tile import Tile


def make(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    return root


def test_truth_on_the_left_and_prediction_on_the_right(tmp_path):
    root = make(tmp_path / "v", "b.gif", "a.mp4")
    layout = TiledVideos(2, truth=[0], prediction=[1])
    first, second = layout.pairs(root, None)
    assert (first.episode_id, second.episode_id) == ("a.mp4", "b.gif")
    assert first.ground_truth == Clip(root / "a.mp4", tile=Tile(0, 0, 2, 1))
    assert first.prediction == Clip(root / "a.mp4", tile=Tile(1, 0, 2, 1))
    (single,) = layout.pairs(root / "b.gif", None)
    assert single == second
    assert [e.ground_truth for e in layout.episodes(root)] == [
        first.ground_truth,
        second.ground_truth,
    ]


def test_grids_in_two_folders(tmp_path):
    layout = TiledVideos(3, 2, truth=[0, 4], gap=2, border=1)
    truths, predictions = make(tmp_path / "gt", "g.mp4"), make(tmp_path / "p", "g.gif")
    first, second = layout.pairs(truths, predictions)
    assert (first.episode_id, second.episode_id) == ("g.mp4#0", "g.mp4#4")
    assert second.ground_truth == Clip(truths / "g.mp4", tile=Tile(1, 1, 3, 2, 2, 1))
    assert second.prediction == Clip(predictions / "g.gif", tile=Tile(1, 1, 3, 2, 2, 1))
    assert layout.pairs(truths / "g.mp4", predictions / "g.gif") == (first, second)


def test_a_row_of_truths_above_a_row_of_predictions(tmp_path):
    root = make(tmp_path / "v", "g.mp4")
    pairs = TiledVideos(3, 2, truth=[0, 1, 2], prediction=[3, 4, 5]).pairs(root, None)
    tiles = [(pair.ground_truth.tile[:2], pair.prediction.tile[:2]) for pair in pairs]
    assert tiles == [((0, 0), (0, 1)), ((1, 0), (1, 1)), ((2, 0), (2, 1))]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_columns": 0}, "num_columns: expected an integer >= 1"),
        ({"num_columns": 2, "gap": -1}, "gap: expected an integer >= 0"),
        ({"num_columns": 2, "truth": [2]}, "truth: expected different tiles from 0 to 1"),
        ({"num_columns": 2, "truth": [0, 0]}, "truth: expected different"),
        ({"num_columns": 2, "truth": []}, "truth: expected different"),
        ({"num_columns": 2, "truth": 0}, r"truth: expected different .* such as \[0\], got 0"),
        ({"num_columns": 3, "truth": [0], "prediction": [1, 2]}, "1 tiles are truth and 2"),
    ],
)
def test_settings_that_fit_no_grid_are_named(settings, message):
    with pytest.raises(ConfigurationError, match=message):
        TiledVideos(**settings)


def test_predictions_are_where_the_tiles_say(tmp_path):
    root = make(tmp_path / "v", "g.mp4")
    with pytest.raises(ConfigurationError, match="lie beside the truth; leave it out"):
        TiledVideos(2, truth=[0], prediction=[1]).pairs(root, root)
    with pytest.raises(ConfigurationError, match="give the other grids"):
        TiledVideos(2).pairs(root, None)
    with pytest.raises(PairingError, match="1 on one side only, such as h"):
        TiledVideos(2).pairs(root, make(tmp_path / "p", "g.mp4", "h.mp4"))
    with pytest.raises(PairingError, match=r"no videos under .*\.gif"):
        TiledVideos(2).episodes(make(tmp_path / "empty", "x.txt"))
    with pytest.raises(InputError, match="unsupported extension"):
        TiledVideos(2).episodes(tmp_path / "empty/x.txt")
