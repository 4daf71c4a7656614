"""Which frames of a pair are scored: the rules of worldbench 0.4.1, strict and safe."""

from __future__ import annotations

import math

from wbgpu.errors import AlignmentError, ConfigurationError
from wbgpu.records.video import Alignment, AlignmentPolicy, VideoInfo, is_same_rate

# Rates closer than this differ by how a container rounds times: less than a frame in 10,000.
_ROUNDING = 1e-4
_MAX_RATIO = 1e6


def align(
    target: VideoInfo,
    prediction: VideoInfo,
    *,
    num_context: int,
    policy: AlignmentPolicy,
    max_mismatch_ratio: float = 0.25,
    max_mismatch_frames: int = 8,
) -> Alignment:
    """Lay the futures of two videos against each other, frame by frame from ``num_context`` on.

    ``strict`` wants equal future lengths, sizes and frame rates (within 1 % of the larger, or 0.05
    frames per second; arrays and images may say none). ``safe`` scores the common prefix when the
    futures differ by at most ``max(max_mismatch_frames, ceil(max_mismatch_ratio * the longer
    future))`` frames, has the prediction resized to the target's size, and compares by index when
    rates differ.

    Args:
        target: the ground truth.
        prediction: the prediction; it begins with the same context frames.
        num_context: leading frames of both that are not scored.
        policy: ``strict`` or ``safe``.
        max_mismatch_ratio: ``safe`` only.
        max_mismatch_frames: ``safe`` only.

    Raises:
        ConfigurationError: a setting is negative or unknown.
        AlignmentError: the videos differ in a way that the policy forbids, or no future is left.
    """
    check_alignment_settings(
        num_context=num_context,
        policy=policy,
        max_mismatch_ratio=max_mismatch_ratio,
        max_mismatch_frames=max_mismatch_frames,
    )
    for video, future in ((target, "ground-truth"), (prediction, "predicted")):
        if num_context >= video.num_frames:
            raise AlignmentError(
                f"{video.path}: skipping {num_context} context frame(s) leaves no {future} future; "
                f"it has {video.num_frames} frame(s). Skip fewer, or give a longer video."
            )
    if policy == "strict":
        _check_strict(target, prediction, num_context)
    target_steps = target.num_frames - num_context
    prediction_steps = prediction.num_frames - num_context
    max_count_mismatch = 0
    if policy == "safe":
        longer = max(target_steps, prediction_steps)
        # More than all frames can never differ, and a huge product would be no integer.
        allowed = math.ceil(longer * min(max_mismatch_ratio, _MAX_RATIO))
        max_count_mismatch = max(max_mismatch_frames, allowed)
        if abs(target_steps - prediction_steps) > max_count_mismatch:
            raise AlignmentError(
                f"The number of frames differs by too much: the mismatch is too large to align "
                f"safely. {target.path} has {target_steps} future frame(s), {prediction.path} has "
                f"{prediction_steps}; at most {max_count_mismatch} may differ. Give videos of the "
                "same horizon, or raise the mismatch limit."
            )
    return Alignment(
        policy=policy,
        num_context=num_context,
        num_steps=min(target_steps, prediction_steps),
        target=target,
        prediction=prediction,
        resized=_size(target) != _size(prediction),
        fps_differed=not is_same_rate(target.fps, prediction.fps),
        max_count_mismatch=max_count_mismatch,
        warnings=tuple(_warnings(target, prediction, num_context)),
    )


def check_alignment_settings(
    *,
    num_context: int,
    policy: AlignmentPolicy,
    max_mismatch_ratio: float,
    max_mismatch_frames: int,
) -> None:
    """Check the settings of :func:`align` before any file is opened.

    Raises:
        ConfigurationError: a setting is negative, not finite or unknown.
    """
    if num_context < 0:
        raise ConfigurationError(
            f"num_context (--skip-context) must be non-negative, but it is {num_context}."
        )
    if policy not in ("strict", "safe"):
        raise ConfigurationError(f"alignment must be 'strict' or 'safe', but it is {policy!r}.")
    if not (math.isfinite(max_mismatch_ratio) and max_mismatch_ratio >= 0):
        raise ConfigurationError(
            f"max_mismatch_ratio must be non-negative and finite, but it is {max_mismatch_ratio}."
        )
    if max_mismatch_frames < 0:
        raise ConfigurationError(
            f"max_mismatch_frames must be non-negative, but it is {max_mismatch_frames}."
        )


def _check_strict(target: VideoInfo, prediction: VideoInfo, num_context: int) -> None:
    files = f"{prediction.path} (prediction) against {target.path} (ground truth)"
    if target.num_frames != prediction.num_frames:
        raise AlignmentError(
            f"{files}: {prediction.num_frames - num_context} future frame(s) against "
            f"{target.num_frames - num_context}; strict alignment requires matching future lengths."
            " Cut the longer one, or use safe alignment (suite.alignment=safe)."
        )
    if _size(target) != _size(prediction):
        raise AlignmentError(
            f"{files}: the resolution is {prediction.resolution} against {target.resolution}; "
            "strict alignment requires equal sizes. Resize one, or use safe alignment "
            "(suite.alignment=safe)."
        )
    one_is_unknown = (target.fps is None) != (prediction.fps is None)
    is_untimed = target.is_untimed or prediction.is_untimed
    if (one_is_unknown and not is_untimed) or not is_same_rate(target.fps, prediction.fps):
        raise AlignmentError(
            f"{files}: the FPS is {_fps(prediction)} against {_fps(target)}; strict alignment "
            "requires equal frame rates (within 1 %). Write both with the same rate, or use safe "
            "alignment."
        )


def _warnings(target: VideoInfo, prediction: VideoInfo, num_context: int) -> list[str]:
    warnings = []
    if target.num_frames != prediction.num_frames:
        common = min(target.num_frames, prediction.num_frames) - num_context
        warnings.append(
            f"Frame counts differ: the ground truth has {target.num_frames - num_context} future "
            f"frame(s), the prediction {prediction.num_frames - num_context}; the first {common} "
            "are scored."
        )
    if _size(target) != _size(prediction):
        warnings.append(
            f"The prediction is resized from {prediction.resolution} to {target.resolution}."
        )
    if not is_same_rate(target.fps, prediction.fps):
        warnings.append(
            f"Frame rates differ: ground truth {_fps(target)}, prediction {_fps(prediction)} "
            "frames per second; frames are compared by index, not by time."
        )
    elif target.fps and prediction.fps:
        larger = max(target.fps, prediction.fps)
        if abs(target.fps - prediction.fps) > _ROUNDING * larger:
            warnings.append(
                f"Frame rates differ a little: ground truth {_fps(target)}, prediction "
                f"{_fps(prediction)} frames per second; frames are compared by index."
            )
    for video, name in ((target, "ground truth"), (prediction, "prediction")):
        if video.fps is None:
            other = prediction if video is target else target
            if other.fps is not None:
                warnings.append(
                    f"The {name} does not say its frame rate; frames are compared by index."
                )
        if video.is_variable_frame_rate:
            warnings.append(
                f"The {name} has a variable frame rate; frames are compared by index, not by time."
            )
    return warnings


def _size(video: VideoInfo) -> tuple[int, int]:
    return video.height, video.width


def _fps(video: VideoInfo) -> str:
    return "unknown" if video.fps is None else f"{video.fps:.3f}"
