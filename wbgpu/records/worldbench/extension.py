"""The key ``wbgpu``: what worldbench's files have no place for, at the top and in each episode.

Metrics outside the composite stand only here, because worldbench's gate would take them for
scores. Numbers that worldbench's own keys hold are not repeated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from wbgpu.records.metric import MetricInfo, MetricOutcome
from wbgpu.records.node import Node
from wbgpu.records.strict_json import Line
from wbgpu.records.suite import (
    EpisodeFailure,
    EpisodeResult,
    Protocol,
    Provenance,
    SuiteResult,
)
from wbgpu.records.tile import Tile
from wbgpu.records.video import Alignment, VideoInfo
from wbgpu.records.worldbench.distances import DISTANCES, distance_payload
from wbgpu.records.worldbench.metric_entries import frozen, plain
from wbgpu.records.worldbench.seal import SEAL, settings_sha256

EXTENSION = "wbgpu"


def suite_extension(result: SuiteResult) -> dict[str, Any]:
    """The top-level block, without aggregates; its digest covers the composite's settings too."""
    block = {
        "producer": result.producer,
        "checkpoint_name": result.checkpoint_name,
        "ground_truth_root": result.ground_truth_root,
        "predictions_root": result.predictions_root,
        "skip_context": result.num_context,
        "dataset_identifier": result.dataset_identifier,
        "metrics": {
            name: {
                "metric_id": info.metric_id,
                "unit": info.unit,
                "higher_is_better": info.higher_is_better,
            }
            for name, info in result.metric_infos.items()
        },
        "protocol": None if result.protocol is None else _protocol(result.protocol),
        "provenance": None if result.provenance is None else plain(asdict(result.provenance)),
        "notes": list(result.notes),
    }
    if result.distribution_distances:
        block[DISTANCES] = [distance_payload(one) for one in result.distribution_distances]
    composite = {
        "enabled_metrics": list(result.enabled_metrics),
        "required_metrics": list(result.required_metrics),
        "configured_weights": dict(result.configured_weights),
        "configuration_hash": result.configuration_hash,
    }
    return block | {SEAL: settings_sha256(block | composite)}


def episode_extension(episode: EpisodeResult, composite: frozenset[str]) -> dict[str, Any]:
    """The block of one episode; ``composite`` names the metrics that worldbench's keys hold."""
    failure = episode.failure
    return {
        "ground_truth_path": episode.ground_truth_path,
        "prediction_path": episode.prediction_path,
        "num_steps": episode.num_steps,
        "failure": None if failure is None else asdict(failure),
        "warnings": list(episode.warnings),
        "alignment": _alignment(episode.alignment),
        "metrics": {
            name: Line(_shared_part(outcome) | ({} if name in composite else _own_part(outcome)))
            for name, outcome in episode.metrics.items()
        },
    }


def _protocol(protocol: Protocol) -> dict[str, Any]:
    """What videos never have is left out."""
    return {key: value for key, value in asdict(protocol).items() if value is not False}


def _video_part(video: VideoInfo) -> dict[str, Any]:
    """What most videos do not have is left out."""
    return {
        key: value
        for key, value in vars(video).items()
        if value is not None or key not in ("frames", "tile", "float_range")
    }


def _alignment(alignment: Alignment | None) -> Line | None:
    if alignment is None:
        return None
    videos = {
        "target": _video_part(alignment.target),
        "prediction": _video_part(alignment.prediction),
    }
    return Line(plain(vars(alignment) | videos))


def _shared_part(outcome: MetricOutcome) -> dict[str, Any]:
    return {
        "metric_id": outcome.metric_id,
        "step": list(outcome.step),
    }


def _own_part(outcome: MetricOutcome) -> dict[str, Any]:
    return {
        "status": outcome.status,
        "value": outcome.value,
        "reason": outcome.reason,
        "error_type": outcome.error_type,
        "prefix": list(outcome.prefix),
        "prefix_reasons": list(outcome.prefix_reasons),
        "prefix_details": plain(dict(outcome.prefix_details)),
        **(
            {}
            if outcome.whole_details is None
            else {"whole_details": plain(dict(outcome.whole_details))}
        ),
        "issues": list(outcome.issues),
    }


def parse_own_outcome(name: str, node: Node) -> MetricOutcome:
    """Read a metric that stands only in the extension."""
    status = node["status"].one_of("available", "unsupported", "error")
    value = node.optional_number("value")
    reason = node.optional_string("reason")
    if (status == "available") != (value is not None):
        node.fail(f"status {status!r} with value {value!r}")
    if status != "available" and not reason:
        node.fail(f"status {status!r} needs a reason")
    return MetricOutcome(
        name=name,
        metric_id=node["metric_id"].string(),
        status=status,  # type: ignore[arg-type]
        value=value,
        reason=reason,
        error_type=node.optional_string("error_type"),
        prefix=optional_numbers(node["prefix"]),
        prefix_reasons=_optional_strings(node["prefix_reasons"]),
        step=optional_numbers(node["step"]),
        prefix_details={
            key: frozen([e.value for e in column.elements()])
            for key, column in node["prefix_details"].items()
        },
        whole_details=None
        if (whole := node.get("whole_details")) is None
        else {key: frozen(value) for key, value in whole.object().items()},
        issues=node["issues"].strings(),
    )


def parse_shared_part(node: Node) -> dict[str, Any]:
    """Fields of a composite metric's outcome that worldbench's keys have no place for."""
    return {
        "metric_id": node["metric_id"].string(),
        "step": optional_numbers(node["step"]),
    }


def parse_infos(node: Node) -> Mapping[str, MetricInfo]:
    """Read the identities of the metrics."""
    return {
        name: MetricInfo(
            name,
            entry["metric_id"].string(),
            entry["unit"].string(),
            entry["higher_is_better"].boolean(),
        )
        for name, entry in node.items()
    }


def parse_failure(node: Node | None) -> EpisodeFailure | None:
    """Read why an episode failed."""
    if node is None:
        return None
    return EpisodeFailure(node["error_type"].string(), node["message"].string())


def parse_protocol(node: Node | None) -> Protocol | None:
    """Read the protocol."""
    if node is None:
        return None
    return Protocol(
        metric_ids=_string_map(node["metric_ids"]),
        num_context=node["num_context"].integer(),
        alignment_policy=node["alignment_policy"].string(),
        resize_policy=node["resize_policy"].string(),
        whole_predictions=False
        if (whole := node.get("whole_predictions")) is None
        else whole.boolean(),
    )


def parse_provenance(node: Node | None) -> Provenance | None:
    """Read how the numbers came about."""
    if node is None:
        return None
    return Provenance(
        environment=_string_map(node["environment"]),
        device=node["device"].string(),
        statistics_path=node["statistics_path"].string(),
        decoder=node["decoder"].string(),
        input_sha256=_string_map(node["input_sha256"]),
        configuration=node["configuration"].object(),
        configuration_file=node.optional_string("configuration_file"),
        command=node.optional_string("command"),
    )


def parse_own_alignment(node: Node | None) -> Alignment | None:
    """Read an alignment in full."""
    if node is None:
        return None
    return Alignment(
        policy=node["policy"].one_of("strict", "safe"),  # type: ignore[arg-type]
        num_context=node["num_context"].integer(),
        num_steps=node["num_steps"].integer(),
        target=_video(node["target"]),
        prediction=_video(node["prediction"]),
        resized=node["resized"].boolean(),
        fps_differed=node["fps_differed"].boolean(),
        max_count_mismatch=node["max_count_mismatch"].integer(),
        warnings=node["warnings"].strings(),
    )


def optional_numbers(node: Node) -> tuple[float | None, ...]:
    """A list of numbers and nulls."""
    return tuple(None if e.value is None else e.number() for e in node.elements())


def _video(node: Node) -> VideoInfo:
    return VideoInfo(
        path=node["path"].string(),
        num_frames=node["num_frames"].integer(),
        height=node["height"].integer(),
        width=node["width"].integer(),
        fps=node.optional_number("fps"),
        codec=node["codec"].string(),
        pixel_format=node["pixel_format"].string(),
        color_space=node.optional_string("color_space"),
        color_range=node.optional_string("color_range"),
        rotation_degrees=node["rotation_degrees"].integer(),
        is_variable_frame_rate=node["is_variable_frame_rate"].boolean(),
        backend=node["backend"].string(),
        device=node["device"].string(),
        fallback_reason=node.optional_string("fallback_reason"),
        frames=_optional_integers(node, "frames"),
        tile=_optional_tile(node),
        float_range=_optional_range(node, "float_range"),
    )


def _optional_integers(node: Node, key: str) -> Any:
    found = node.get(key)
    return None if found is None else tuple(element.integer() for element in found.elements())


def _optional_range(node: Node, key: str) -> tuple[float, float] | None:
    found = node.get(key)
    if found is None:
        return None
    if len(found.elements()) != 2:
        found.fail("expected two numbers")
    low, high = (element.number() for element in found.elements())
    return low, high


def _optional_tile(node: Node) -> Tile | None:
    found = node.get("tile")
    if found is None:
        return None
    if len(found.elements()) != len(Tile._fields):
        found.fail(f"expected {', '.join(Tile._fields)}")
    return Tile(*(element.integer() for element in found.elements()))


def _optional_strings(node: Node) -> tuple[str | None, ...]:
    return tuple(None if e.value is None else e.string() for e in node.elements())


def _string_map(node: Node) -> dict[str, str]:
    return {key: value.string() for key, value in node.items()}
