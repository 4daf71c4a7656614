"""worldbench's ``provenance`` of a video pair: how the two were laid together."""

from __future__ import annotations

from typing import Any

from wbgpu.records.node import Node
from wbgpu.records.video import Alignment, VideoInfo

_POLICIES = {
    "strict": {
        "mode": "strict",
        "alignment_method": "strict_frame_index_alignment",
        "frame_alignment": "all_future_frames",
        "resolution_policy": "exact_match",
        "fps_policy": "exact_with_tolerance",
        "frame_count_policy": "exact_match_after_context",
    },
    "safe": {
        "mode": "safe",
        "alignment_method": "safe_common_future_prefix_frame_index_alignment",
        "frame_alignment": "common_future_prefix",
        "resolution_policy": "resize_prediction_to_ground_truth",
        "fps_policy": "frame_index_alignment_with_warning",
        "frame_count_policy": "trim_common_prefix_with_major_mismatch_rejection",
    },
}
_UNKNOWN = "unknown"


def pair_provenance(
    name: str | None, ground_truth_path: str, prediction_path: str, created_at: str
) -> dict[str, Any]:
    """What can be said of a pair whose alignment is not known."""
    return {
        "source": "video_pair",
        "name": name,
        "ground_truth_path": ground_truth_path,
        "prediction_path": prediction_path,
        "created_at": created_at,
    }


def alignment_provenance(alignment: Alignment) -> dict[str, Any]:
    """The keys that follow from an alignment."""
    details = _alignment_details(alignment)
    target, prediction = alignment.target, alignment.prediction
    copied = (
        "ground_truth_original_frame_count",
        "prediction_original_frame_count",
        "evaluated_frame_count",
        "ground_truth_frames_trimmed",
        "prediction_frames_trimmed",
        "ground_truth_original_resolution",
        "prediction_original_resolution",
        "evaluated_resolution",
        "resizing_occurred",
        "ground_truth_original_fps",
        "prediction_original_fps",
        "fps_differed",
    )
    return {
        "skip_context": alignment.num_context,
        "alignment_policy": alignment.policy,
        "alignment_method": details["alignment_method"],
        "alignment": details,
        "alignment_warnings": list(alignment.warnings),
        "warnings": list(alignment.warnings),
        "ground_truth_frame_count": target.num_frames,
        "prediction_frame_count": prediction.num_frames,
        "evaluated_ground_truth_frames": alignment.num_steps,
        "evaluated_prediction_frames": alignment.num_steps,
        "ground_truth_context_frames_skipped": alignment.num_context,
        "prediction_context_frames_skipped": alignment.num_context,
        "fps": target.fps,
        "prediction_fps": prediction.fps,
        "resolution": target.resolution,
        **{key: details[key] for key in copied},
    }


def parse_alignment(provenance: Node) -> Alignment | None:
    """Read what a file of worldbench tells of an alignment; ``None`` when it tells nothing."""
    details = provenance.get("alignment")
    if details is None:
        return None
    return Alignment(
        policy=provenance["alignment_policy"].one_of("strict", "safe"),  # type: ignore[arg-type]
        num_context=provenance["skip_context"].integer(),
        num_steps=details["evaluated_frame_count"].integer(),
        target=_video(provenance["ground_truth_path"], details, "ground_truth"),
        prediction=_video(provenance["prediction_path"], details, "prediction"),
        resized=details["resizing_occurred"].boolean(),
        fps_differed=details["fps_differed"].boolean(),
        max_count_mismatch=(
            mismatch.integer()
            if (mismatch := details.get("max_allowed_frame_count_mismatch"))
            else 0
        ),
        warnings=provenance.optional_strings("alignment_warnings"),
    )


def _alignment_details(alignment: Alignment) -> dict[str, Any]:
    target, prediction = alignment.target, alignment.prediction
    futures = {
        "ground_truth": target.num_frames - alignment.num_context,
        "prediction": prediction.num_frames - alignment.num_context,
    }
    details: dict[str, Any] = dict(_POLICIES[alignment.policy])
    for side, video in (("ground_truth", target), ("prediction", prediction)):
        details[f"{side}_original_frame_count"] = video.num_frames
        details[f"{side}_future_frame_count"] = futures[side]
        details[f"{side}_frames_trimmed"] = futures[side] - alignment.num_steps
        details[f"{side}_original_resolution"] = video.resolution
        details[f"{side}_original_fps"] = video.fps
    details["evaluated_frame_count"] = alignment.num_steps
    details["evaluated_resolution"] = target.resolution
    details["resizing_occurred"] = alignment.resized
    details["fps_differed"] = alignment.fps_differed
    if alignment.policy == "safe":
        details["frame_count_mismatch"] = abs(futures["ground_truth"] - futures["prediction"])
        details["max_allowed_frame_count_mismatch"] = alignment.max_count_mismatch
        details["resized_prediction"] = alignment.resized
        details["fps_mismatch"] = alignment.fps_differed
    return details


def _video(path: Node, details: Node, side: str) -> VideoInfo:
    resolution = details[f"{side}_original_resolution"]
    width, _, height = resolution.string().partition("x")
    if not (width.isdecimal() and height.isdecimal()):
        resolution.fail(f"expected WIDTHxHEIGHT, got {resolution.value!r}")
    return VideoInfo(
        path=path.string(),
        num_frames=details[f"{side}_original_frame_count"].integer(),
        height=int(height),
        width=int(width),
        fps=details.optional_number(f"{side}_original_fps"),
        codec=_UNKNOWN,
        pixel_format=_UNKNOWN,
        color_space=None,
        color_range=None,
        rotation_degrees=0,
        is_variable_frame_rate=False,
        backend=_UNKNOWN,
        device=_UNKNOWN,
    )
