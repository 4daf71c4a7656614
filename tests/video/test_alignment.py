"""Alignment accepts, refuses and trims exactly as worldbench 0.4.1 does."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from worldbench.runners import video as worldbench

from wbgpu.errors import AlignmentError, ConfigurationError
from wbgpu.records.video import VideoInfo
from wbgpu.video.alignment import align


def _info(name="gt.mp4", num_frames=10, height=48, width=64, fps=5.0, variable=False) -> VideoInfo:
    return VideoInfo(
        path=name,
        num_frames=num_frames,
        height=height,
        width=width,
        fps=fps,
        codec="h264",
        pixel_format="yuv420p",
        color_space=None,
        color_range=None,
        rotation_degrees=0,
        is_variable_frame_rate=variable,
        backend="pyav",
        device="cpu",
    )


def _worldbench_video(info: VideoInfo) -> worldbench.DecodedVideo:
    frames = [np.full((1, 1, 3), index % 256, np.uint8) for index in range(info.num_frames)]
    return worldbench.DecodedVideo(Path(info.path), frames, info.fps, info.width, info.height)


_rates = st.one_of(st.none(), st.sampled_from([1.0, 1.045, 1.06, 5.0, 5.1, 30.0, 30.3, 30.31]))
_sizes = st.sampled_from([(4, 4), (4, 6), (6, 4)])


@given(
    num_frames=st.tuples(st.integers(1, 45), st.integers(1, 45)),
    sizes=st.tuples(_sizes, _sizes),
    rates=st.tuples(_rates, _rates),
    num_context=st.integers(-1, 12),
    policy=st.sampled_from(["strict", "safe"]),
    ratio=st.sampled_from([0.0, 0.25, 1.0, -0.1]),
    max_frames=st.sampled_from([0, 1, 8, -1]),
)
@example((20, 5), ((4, 4),) * 2, (5.0, 5.0), 0, "safe", 0.25, 8)
@example((8, 7), ((4, 4), (6, 4)), (5.0, 10.0), 1, "safe", 0.25, 8)
@example((8, 8), ((4, 4),) * 2, (None, 5.0), 1, "strict", 0.25, 8)
@example((8, 8), ((4, 4),) * 2, (1.0, 1.045), 1, "strict", 0.25, 8)  # within 0.05
@example((8, 8), ((4, 4),) * 2, (1.0, 1.06), 1, "strict", 0.25, 8)
@example((8, 8), ((4, 4),) * 2, (30.0, 30.3), 1, "strict", 0.25, 8)  # within 1 %
@example((8, 8), ((4, 4),) * 2, (30.0, 30.31), 1, "strict", 0.25, 8)
def test_same_verdict_as_worldbench(
    num_frames, sizes, rates, num_context, policy, ratio, max_frames
):
    """A pair accepted by one tool and refused by the other, or trimmed elsewhere."""
    target, prediction = (
        _info(name, num_frames[index], *sizes[index], rates[index])
        for index, name in enumerate(("gt.mp4", "pred.mp4"))
    )
    try:
        if num_context < 0:  # worldbench checks this where it decodes
            raise worldbench.VideoEvaluationError
        expected = worldbench.align_video_pair(
            _worldbench_video(target),
            _worldbench_video(prediction),
            skip_context=num_context,
            alignment=policy,
            max_frame_mismatch_ratio=ratio,
            max_frame_mismatch_frames=max_frames,
        )
    except worldbench.VideoEvaluationError:
        expected = None
    arguments = {
        "num_context": num_context,
        "policy": policy,
        "max_mismatch_ratio": ratio,
        "max_mismatch_frames": max_frames,
    }
    if expected is None:
        with pytest.raises((AlignmentError, ConfigurationError)):
            align(target, prediction, **arguments)
        return
    found = align(target, prediction, **arguments)
    assert found.num_steps == len(expected.ground_truth_frames) == len(expected.prediction_frames)
    # Frames carry their number: the first scored one is the first after the context.
    assert expected.ground_truth_frames[0][0, 0, 0] == found.num_context
    details = expected.details
    assert found.resized == details["resizing_occurred"]
    assert found.fps_differed == details["fps_differed"]
    assert found.max_count_mismatch == details.get("max_allowed_frame_count_mismatch", 0)
    # worldbench says nothing of rates that it takes for equal.
    said = [warning for warning in found.warnings if "differ a little" not in warning]
    assert len(said) == len(expected.warnings)


@pytest.mark.parametrize(
    ("prediction", "policy", "num_context", "phrases"),
    [
        ({}, "strict", 10, ("leaves no ground-truth future", "gt.mp4", "10 frame")),
        ({"num_frames": 3}, "safe", 4, ("leaves no predicted future", "pred.mp4", "3 frame")),
        ({"num_frames": 9}, "strict", 2, ("requires matching future lengths", "7", "8")),
        ({"height": 50}, "strict", 0, ("resolution", "64x50", "64x48")),
        ({"fps": 10.0}, "strict", 0, ("FPS", "10.000", "5.000")),
        ({"fps": None}, "strict", 0, ("FPS", "unknown", "5.000")),
        ({"num_frames": 30}, "safe", 0, ("too large", "30", "10", "at most 8")),
    ],
)
def test_errors_say_what_to_do(prediction, policy, num_context, phrases):
    """The files, what was expected, what came; worldbench's words where its users grep for them."""
    target, other = _info(), _info("pred.mp4", **prediction)
    with pytest.raises(AlignmentError) as caught:
        align(target, other, num_context=num_context, policy=policy)
    for phrase in phrases:
        assert phrase in str(caught.value)
    if "leaves no" not in phrases[0]:
        assert "gt.mp4" in str(caught.value)
        assert "pred.mp4" in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "phrase"),
    [
        ({"num_context": -1}, "non-negative, but it is -1"),
        ({"policy": "loose"}, "'loose'"),
        ({"max_mismatch_ratio": -0.5}, "max_mismatch_ratio.*-0.5"),
        ({"max_mismatch_ratio": float("nan")}, "max_mismatch_ratio.*nan"),
        ({"max_mismatch_ratio": float("inf")}, "max_mismatch_ratio.*inf"),
        ({"max_mismatch_frames": -2}, "max_mismatch_frames.*-2"),
    ],
)
def test_wrong_settings(arguments, phrase):
    """A setting is the user's mistake, not the videos'."""
    with pytest.raises(ConfigurationError, match=phrase):
        align(_info(), _info(), **{"num_context": 0, "policy": "safe", **arguments})


@pytest.mark.parametrize("backend", ["numpy", "safetensors", "pillow"])
def test_arrays_and_images_need_no_rate(backend):
    """They have no place for one, so strict alignment would refuse them all."""
    prediction = dataclasses.replace(_info("pred.npy", fps=None), backend=backend)
    found = align(_info(), prediction, num_context=0, policy="strict")
    assert found.warnings == (
        "The prediction does not say its frame rate; frames are compared by index.",
    )


@pytest.mark.parametrize("policy", ["strict", "safe"])
def test_uneven_times_are_said(policy):
    """Steps of a variable frame rate are no equal times; a reader of the report must know."""
    found = align(_info(), _info("pred.mp4", variable=True), num_context=0, policy=policy)
    assert [w for w in found.warnings if "prediction has a variable frame rate" in w]


@pytest.mark.parametrize("policy", ["strict", "safe"])
def test_nearly_equal_rates_are_said(policy):
    """30 against 29.97 passes, as in worldbench, but drifts by a frame in 33 seconds."""
    target, prediction = _info(fps=30.0), _info("pred.mp4", fps=30000 / 1001)
    found = align(target, prediction, num_context=0, policy=policy)
    assert not found.fps_differed
    assert len(found.warnings) == 1
    for phrase in ("a little", "ground truth 30.000", "prediction 29.970"):
        assert phrase in found.warnings[0]


@pytest.mark.parametrize("fps", [30.0, 30.0005, None])
def test_rates_that_are_equal_but_for_rounding_are_not_said(fps):
    """Matroska's milliseconds would warn about every file."""
    found = align(_info(fps=fps), _info(fps=fps and 30.0), num_context=0, policy="strict")
    assert found.warnings == ()


def test_a_huge_ratio_allows_everything():
    """1e308 is finite, and times the number of frames it is not."""
    found = align(
        _info(num_frames=9),
        _info(num_frames=200),
        num_context=0,
        policy="safe",
        max_mismatch_ratio=1e308,
    )
    assert found.num_steps == 9
