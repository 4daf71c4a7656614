"""One metric's entries: over the whole episode, and over the prefix that ends at a horizon.

worldbench repeats some numbers under a second name; those are made on writing and dropped on
reading, so a record holds each number once. Its ``components`` are columns of the record.
Remarks for a person stand in the whole episode's entry alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from wbgpu.records.metric import MetricOutcome
from wbgpu.records.node import Node
from wbgpu.records.profile import worldbench_metric_info
from wbgpu.records.strict_json import Line

_MADE_ON_WRITING = {
    "visual_similarity": ("frame_pairs",),
    "temporal_stability": ("flicker_frames", "largest_jump_delta"),
    "action_consistency": ("mismatch_count", "mismatch_percentage"),
}
_COMPONENTS = ("mse_score", "psnr_score", "ssim_score")
_PLAIN_TYPES = frozenset({float, int, str, bool, type(None)})


def whole_entry(outcome: MetricOutcome, entries: Sequence[dict[str, Any] | None]) -> Line:
    """Entry of a metric over all steps of an episode; ``entries`` are those of its prefixes."""
    details: dict[str, Any] = {}
    if outcome.whole_details is not None:
        details = {key: plain(value) for key, value in outcome.whole_details.items()}
        details = _under_worldbench_names(outcome.name, details, len(entries))
    elif outcome.is_available and entries and (last := entries[-1]) is not None:
        details = last["details"]
    return Line(
        {
            "name": outcome.name,
            "score": outcome.value,
            # worldbench 0.4.1 rejects files with the status "error"; error_type tells them apart.
            "status": "available" if outcome.is_available else "unsupported",
            "reason": outcome.reason,
            "error_type": outcome.error_type,
            "details": details,
            "issues": list(outcome.issues)
            if outcome.is_available
            else _unavailable_issues(outcome),
        }
    )


def prefix_entries(outcome: MetricOutcome) -> list[dict[str, Any] | None]:
    """Entries of a metric over steps 1..t for t = 1, 2 ...; ``None`` where it has no value."""
    columns = [plain(column) for column in outcome.prefix_details.values()]
    rows = zip_longest(*columns) if columns else [()] * len(outcome.prefix)
    return [
        None
        if value is None
        else {
            "name": outcome.name,
            "score": value,
            "status": "available",
            "reason": None,
            "error_type": None,
            "details": _under_worldbench_names(
                outcome.name, dict(zip(outcome.prefix_details, row, strict=True)), index + 1
            ),
            "issues": [],
        }
        for index, (value, row) in enumerate(zip(outcome.prefix, rows, strict=True))
    ]


def unavailable_prefix_entry(error_type: str | None, reason: str | None) -> dict[str, Any]:
    """Entry of a metric that has no value over the steps of a prefix."""
    return {
        "status": "unsupported",
        "reason": reason,
        "error_type": error_type,
        "issues": [reason] if reason else [],
    }


def parse_outcome(name: str, entry: Node, horizons: list[Node]) -> MetricOutcome:
    """Read a metric of one episode from its whole entry and the episode's horizon entries."""
    status = entry["status"].one_of("available", "unsupported", "error")
    value = entry.optional_number("score")
    error_type = entry.optional_string("error_type")
    if status == "available" and value is None:
        entry.fail("the status is 'available' but there is no score")
    if status != "available" and value is not None:
        entry.fail(f"the status is {status!r} but there is a score")
    reason = None if status == "available" else entry.optional_string("reason")
    issues = entry.optional_strings("issues")
    if status != "available":
        reason = reason or "no reason given"
        issues = issues[1:] if issues[:1] == (reason,) else issues
    prefix, reasons, rows = _parse_prefixes(name, horizons, reason)
    has_prefix = any(score is not None for score in prefix)
    has_reasons = any(text is not None for text in reasons)
    return MetricOutcome(
        name=name,
        metric_id=worldbench_metric_info(name).metric_id,
        status="error" if error_type and status != "available" else status,  # type: ignore[arg-type]
        value=value,
        reason=reason,
        error_type=error_type,
        prefix=prefix if has_prefix or (status == "available" and has_reasons) else (),
        prefix_reasons=reasons if has_reasons else (),
        prefix_details=_columns(name, rows) if has_prefix else {},
        whole_details=_whole_details(name, entry, rows[-1] if rows else None)
        if status == "available"
        else None,
        issues=issues,
    )


def _whole_details(name: str, entry: Node, last: dict[str, Any] | None) -> dict[str, Any] | None:
    """Those of the whole entry, where the last prefix says something else."""
    node = entry.get("details")
    stated, known = (
        {key: column[0] for key, column in _columns(name, [row]).items()}
        for row in (None if node is None else node.object(), last)
    )
    return None if stated == known else stated


def frozen(value: Any) -> Any:
    """JSON lists as tuples, all the way down."""
    if isinstance(value, list):
        return tuple(frozen(item) for item in value)
    if isinstance(value, dict):
        return {key: frozen(item) for key, item in value.items()}
    return value


def plain(value: Any) -> Any:
    """Tuples as JSON lists, all the way down."""
    if isinstance(value, (list, tuple)):
        is_flat = set(map(type, value)) <= _PLAIN_TYPES
        return list(value) if is_flat else [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def _parse_prefixes(
    name: str, horizons: list[Node], whole_reason: str | None
) -> tuple[tuple[float | None, ...], tuple[str | None, ...], list[dict[str, Any] | None]]:
    prefix: list[float | None] = []
    reasons: list[str | None] = []
    rows: list[dict[str, Any] | None] = []
    for horizon in horizons:
        entry = horizon["metrics"].get(name)
        absent = horizon["unavailable_metrics"].get(name)
        prefix.append(None if entry is None else entry["score"].number())
        text = None if absent is None else absent.optional_string("reason")
        reasons.append(None if text == whole_reason else text)
        details = None if entry is None else entry.get("details")
        rows.append(None if details is None else details.object())
    return tuple(prefix), tuple(reasons), rows


def _columns(name: str, rows: list[dict[str, Any] | None]) -> dict[str, tuple[Any, ...]]:
    flat = [row if row is None else row | _components(row) for row in rows]
    keys = dict.fromkeys(key for row in flat if row is not None for key in row)
    dropped = _MADE_ON_WRITING.get(name, ())
    return {
        key: tuple(None if row is None else frozen(row.get(key)) for row in flat)
        for key in keys
        if key not in dropped and key != "components"
    }


def _components(row: dict[str, Any]) -> dict[str, Any]:
    components = row.get("components")
    return components if isinstance(components, dict) else {}


def _under_worldbench_names(name: str, details: dict[str, Any], horizon: int) -> dict[str, Any]:
    if name == "visual_similarity":
        details["frame_pairs"] = horizon
    if all(key in details for key in _COMPONENTS):
        details["components"] = {key: details.pop(key) for key in _COMPONENTS}
    if name == "temporal_stability" and {"jump_indices", "max_frame_delta"} <= details.keys():
        details["flicker_frames"] = list(details["jump_indices"])
        details["largest_jump_delta"] = details["max_frame_delta"]
    if name == "action_consistency" and {"failed_steps", "failure_rate"} <= details.keys():
        details["mismatch_count"] = details["failed_steps"]
        details["mismatch_percentage"] = 100.0 * details["failure_rate"]
    return details


def _unavailable_issues(outcome: MetricOutcome) -> list[str]:
    return [outcome.reason or "", *outcome.issues]
