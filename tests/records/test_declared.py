from __future__ import annotations

import pytest

from wbgpu.records.declared import Declared
from wbgpu.records.video import VideoInfo


def info(fps: float | None = 3.0) -> VideoInfo:
    return VideoInfo(
        path="a.mp4",
        num_frames=12,
        height=24,
        width=32,
        fps=fps,
        codec="h264",
        pixel_format="yuv420p",
        color_space=None,
        color_range=None,
        rotation_degrees=0,
        is_variable_frame_rate=False,
        backend="pyav",
        device="cpu",
    )


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (Declared("m", num_frames=13), "it has 12 frame(s), but 13 are declared by m"),
        (Declared("m", size=(24, 32)), "its frames are 32x24, but 24x32 is declared by m"),
        (Declared("m", fps=3.1), "it has 3 frames per second, but 3.1 are declared by m"),
        (Declared("m", 12, (32, 24), 3.0), None),
        (Declared("m", fps=3.04), None),
        (Declared("m"), None),
    ],
)
def test_a_clip_is_held_to_what_was_declared(declared, message):
    assert declared.contradiction(info()) == message


def test_a_clip_without_a_rate_is_not_held_to_one():
    """Arrays and images say none."""
    assert Declared("m", fps=3.0).contradiction(info(None)) is None
