from __future__ import annotations

import numpy as np
import pytest
import torch
from worldbench.utils import detect_object_centroid, detect_robot_centroid, object_area

from tests.oracles.drawn_scenes import random_scene
from wbgpu.tracking import ColourBlobs, Tracks


def _tensor(frames: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(frames).permute(0, 3, 1, 2)


def _scenes() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    pastel = rng.integers(150, 200, (6, 9, 11, 3)).astype(np.uint8)
    sparse = np.full((8, 40, 50, 3), 20, np.uint8)
    for frame in sparse:
        rows, columns = rng.integers(0, 40, 9), rng.integers(0, 50, 9)
        frame[rows, columns] = rng.integers(0, 256, (9, 3))
    yellow = np.full((3, 30, 40, 3), 128, np.uint8)
    yellow[0, 4:8, 4:8] = (200, 190, 40)
    yellow[1, 4:8, 4:8] = (220, 40, 40)
    yellow[1, 20:24, 30:34] = (200, 190, 40)
    return {
        "drawn": random_scene(rng, 40),
        "noise": rng.integers(0, 256, (12, 13, 17, 3)).astype(np.uint8),
        "pastel": pastel,
        "sparse": sparse,
        "yellow": yellow,
    }


@pytest.mark.parametrize("scene", ["drawn", "noise", "pastel", "sparse", "yellow"])
def test_blobs_are_those_that_worldbench_finds(scene):
    """Every rule and fallback: another blob would be another score under worldbench's id."""
    frames = _scenes()[scene]
    tracks = ColourBlobs().start().track(_tensor(frames))
    for index, frame in enumerate(frames.astype(np.float32)):
        for role, detect in (("robot", detect_robot_centroid), ("object", detect_object_centroid)):
            found = tracks.of(role).position[index, 0].tolist()
            expected = detect(frame)
            if expected is None:
                assert np.isnan(found).all(), (role, index)
                assert tracks.of(role).confidence[index, 0] == 0
            else:
                assert found == pytest.approx(expected, abs=1e-4), (role, index)
        assert tracks.of("object").area[index, 0] == object_area(frame)


def test_tracks_do_not_depend_on_cuts_and_strides():
    """A window's length is no property of the video."""
    frames = _tensor(_scenes()["drawn"])
    whole = ColourBlobs().track(frames)
    parts = Tracks.cat([ColourBlobs().track(part.contiguous()) for part in frames.split(7)])
    assert torch.equal(whole.position.nan_to_num(-1), parts.position.nan_to_num(-1))
    assert torch.equal(whole.area, parts.area)
    assert torch.equal(whole.confidence, parts.confidence)


@pytest.mark.cuda
def test_tracks_are_equal_on_cuda():
    """Integer sums: no bit may differ."""
    frames = _tensor(_scenes()["drawn"])
    here, there = ColourBlobs().track(frames), ColourBlobs().track(frames.cuda()).to("cpu")
    assert torch.equal(here.position.nan_to_num(-1), there.position.nan_to_num(-1))
    assert torch.equal(here.area, there.area)


def test_other_frames_are_refused():
    """Frames from 0 to 1 have no red pixel, so everything would be missing without a word."""
    with pytest.raises(ValueError, match="uint8"):
        ColourBlobs().track(torch.zeros(2, 3, 4, 4))
