"""The section that makes a result repeatable: protocol and provenance."""

from __future__ import annotations

from collections.abc import Mapping

from wbgpu.records.suite import SuiteResult
from wbgpu.report.model_inputs import model_rows
from wbgpu.report.numbers import setting
from wbgpu.report.tables import escape

_UNKNOWN = "not recorded in the file"


def origin_section(result: SuiteResult, title: str = "Protocol and provenance") -> list[str]:
    """How the numbers came about, as a list."""
    return _section(title, origin_rows(result))


def pair_origin_sections(baseline: SuiteResult, candidate: SuiteResult) -> list[str]:
    """How both came about: first what they share, then what each has alone."""
    before, after = origin_rows(baseline), origin_rows(candidate)
    shared = {key: text for key, text in before.items() if after.get(key) == text}
    lines = _section("Protocol and provenance of both", shared) if shared else []
    for side, result, rows in (("Baseline", baseline, before), ("Candidate", candidate, after)):
        own = {key: text for key, text in rows.items() if key not in shared}
        if own:
            lines += _section(f"{side}: {escape(result.checkpoint_name)}", own)
    return lines


def _section(title: str, rows: Mapping[str, str]) -> list[str]:
    return [f"## {title}", "", *(f"- {key}: {escape(text)}" for key, text in rows.items()), ""]


def origin_rows(result: SuiteResult) -> dict[str, str]:
    """How the numbers came about, by what is told."""
    return {
        "Made by": f"{result.producer} at {result.created_at}",
        "Ground truth": result.ground_truth_root,
        "Predictions": result.predictions_root,
        **model_rows(result),
        "Ground-truth identity": result.dataset_identifier or _UNKNOWN,
        "Context frames, not scored": (
            _UNKNOWN if result.num_context is None else str(result.num_context)
        ),
        "Composite weights": ", ".join(
            f"{name} {setting(weight)}" for name, weight in result.configured_weights.items()
        ),
        "Composite configuration hash": result.configuration_hash or _UNKNOWN,
        **_alignment(result),
        **_protocol(result),
        **_provenance(result),
    }


def _alignment(result: SuiteResult) -> dict[str, str]:
    """How the only pair of an evaluation was laid together; batches differ by episode."""
    alignments = [e.alignment for e in result.episodes if e.alignment is not None]
    if result.result_type != "evaluation" or len(alignments) != 1:
        return {}
    (alignment,) = alignments
    target, prediction = alignment.target, alignment.prediction
    rows = {
        "Alignment": alignment.policy,
        "Scored steps": str(alignment.num_steps),
        "Prediction resized": "yes" if alignment.resized else "no",
        "Frame rates differ": "yes" if alignment.fps_differed else "no",
    }
    for side, video in (("Ground-truth video", target), ("Predicted video", prediction)):
        trimmed = video.num_frames - alignment.num_context - alignment.num_steps
        rate = "unknown rate" if video.fps is None else f"{video.fps:g} fps"
        rows[side] = (
            f"{video.num_frames} frames, {trimmed} trimmed, {video.resolution}, {rate}, "
            f"{video.codec} {video.pixel_format}"
        )
    if alignment.warnings:
        rows["Alignment warnings"] = " ".join(alignment.warnings)
    return rows


def _protocol(result: SuiteResult) -> dict[str, str]:
    protocol = result.protocol
    if protocol is None:
        return {"Metric definitions": _UNKNOWN}
    return {
        "Metric definitions": ", ".join(protocol.metric_ids.values()),
        "Alignment policy": protocol.alignment_policy,
        "Resize policy": protocol.resize_policy,
    }


def _provenance(result: SuiteResult) -> dict[str, str]:
    provenance = result.provenance
    if provenance is None:
        return {"Environment": _UNKNOWN}
    return {
        "Device": f"{provenance.device}, statistics path {provenance.statistics_path}",
        "Decoder": provenance.decoder,
        "Environment": ", ".join(f"{k} {v}" for k, v in provenance.environment.items()),
        "Configuration file": provenance.configuration_file or "none",
        **({} if provenance.command is None else {"Command": provenance.command}),
    }
