"""A suite's aggregates, read from and written to worldbench's keys and the extension."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from wbgpu.records.node import Node
from wbgpu.records.strict_json import Line
from wbgpu.records.suite import EpisodeResult, SuiteResult, unavailable_episodes
from wbgpu.records.summary import Distribution, HorizonSummary, MetricSummary, missing_status
from wbgpu.records.worldbench.distributions import (
    distribution_payload,
    one_value_payload,
    parse_distribution,
)
from wbgpu.records.worldbench.extension import EXTENSION
from wbgpu.records.worldbench.horizons import horizon_entries, horizon_label


def metric_summary_payload(summary: MetricSummary) -> dict[str, Any]:
    """One metric of a batch's ``aggregate``."""
    counts = {
        "status": "available" if summary.distribution is not None else "unsupported",
        "available_count": summary.available_count,
        "total_count": summary.total_count,
        "unavailable_count": len(summary.unavailable),
        "error_count": summary.error_count,
        "unavailable_episodes": [asdict(episode) for episode in summary.unavailable],
    }
    if summary.distribution is None:
        return counts | {"reason": summary.reason}
    return distribution_payload(summary.distribution) | counts


def parse_metric_summary(node: Node, name: str, scored: Sequence[EpisodeResult]) -> MetricSummary:
    """Read one metric of a batch's ``aggregate``; ``scored`` tells which episodes lack it."""
    available = node["status"].one_of("available", "unsupported", "error") == "available"
    missing = unavailable_episodes(scored, name)
    num_available = node["available_count"].integer()
    distribution = parse_distribution(node) if available else None
    if available and distribution is None:
        node.fail("the status is 'available' but the count is 0")
    return MetricSummary(
        status="available" if available else missing_status(missing, num_available),
        distribution=distribution,
        available_count=num_available,
        total_count=node["total_count"].integer(),
        error_count=sum(episode.status == "error" for episode in missing),
        reason=None if available else node.optional_string("reason"),
        unavailable=missing,
    )


def horizons_payload(
    horizons: Iterable[HorizonSummary], composite: frozenset[str]
) -> dict[str, Any]:
    """The ``horizon`` of a suite: prefix views of the composite's metrics."""
    return {
        horizon_label(summary.horizon): Line(
            {
                "horizon_index": summary.horizon,
                "sample_count": summary.sample_count,
                "metrics": {
                    name: distribution_payload(distribution)
                    for name, distribution in summary.prefix.items()
                    if name in composite
                },
                "unavailable_metrics": {
                    name: {"count": count, "reasons": list(reasons)}
                    for name, (count, reasons) in summary.unavailable.items()
                    if name in composite
                },
            }
        )
        for summary in horizons
    }


def one_episode_horizons_payload(
    episode: EpisodeResult, composite: frozenset[str]
) -> dict[str, Any]:
    """`horizons_payload` of an episode alone, whose distributions are of one value each."""
    outcomes = [(n, outcome) for n, outcome in sorted(episode.metrics.items()) if n in composite]
    lacking = [(name, outcome.lacking_prefixes(episode.num_steps)) for name, outcome in outcomes]
    return {
        horizon_label(index + 1): Line(
            {
                "horizon_index": index + 1,
                "sample_count": 1,
                "metrics": {
                    name: one_value_payload(value)
                    for name, outcome in outcomes
                    if index < len(outcome.prefix) and (value := outcome.prefix[index]) is not None
                },
                "unavailable_metrics": {
                    name: {
                        "count": 1,
                        "reasons": [reason] if (reason := reasons[index + 1]) else [],
                    }
                    for name, reasons in lacking
                    if index + 1 in reasons
                },
            }
        )
        for index in range(episode.num_steps)
    }


def _own_horizons(horizons: Iterable[HorizonSummary], composite: frozenset[str]) -> dict[str, Any]:
    return {
        horizon_label(summary.horizon): Line(
            {
                "prefix": {
                    name: distribution_payload(distribution)
                    for name, distribution in summary.prefix.items()
                    if name not in composite
                },
                "step": {
                    name: distribution_payload(distribution)
                    for name, distribution in summary.step.items()
                },
                "unavailable_metrics": {
                    name: {"count": count, "reasons": list(reasons)}
                    for name, (count, reasons) in summary.unavailable.items()
                    if name not in composite
                },
            }
        )
        for summary in horizons
    }


def own_aggregates_payload(result: SuiteResult) -> dict[str, Any]:
    """The extension's aggregates: of the metrics outside the composite, and step views of all."""
    composite = frozenset(result.enabled_metrics)
    return {
        "aggregate": {
            "metrics": {
                name: metric_summary_payload(metric)
                for name, metric in result.summary.metrics.items()
                if name not in composite
            }
        },
        "horizon": _own_horizons(result.summary.horizons, composite),
    }


def parse_horizons(document: Node) -> tuple[HorizonSummary, ...]:
    """Read ``horizon`` at the top of a file, and the extension's beside it."""
    extension = document.get(EXTENSION)
    own = [] if extension is None else horizon_entries(extension["horizon"])
    shared = horizon_entries(document.get("horizon"))
    if extension is not None and len(own) != len(shared):
        extension["horizon"].fail(f"expected {len(shared)} horizons, found {len(own)}")
    return tuple(
        _parse_horizon(index + 1, entry, own[index] if own else None)
        for index, entry in enumerate(shared)
    )


def _parse_horizon(horizon: int, entry: Node, own: Node | None) -> HorizonSummary:
    prefix = _distributions(entry["metrics"])
    unavailable = _unavailable(entry["unavailable_metrics"])
    step: dict[str, Distribution] = {}
    if own is not None:
        prefix |= _distributions(own["prefix"])
        step = _distributions(own["step"])
        unavailable |= _unavailable(own["unavailable_metrics"])
    return HorizonSummary(horizon, entry["sample_count"].integer(), prefix, step, unavailable)


def _distributions(node: Node) -> dict[str, Distribution]:
    parsed = {name: parse_distribution(entry) for name, entry in node.items()}
    return {name: found for name, found in parsed.items() if found is not None}


def _unavailable(node: Node) -> dict[str, tuple[int, tuple[str, ...]]]:
    return {
        name: (entry["count"].integer(), entry["reasons"].strings()) for name, entry in node.items()
    }
