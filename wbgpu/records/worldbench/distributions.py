"""Distributions and coverage as worldbench writes them."""

from __future__ import annotations

from typing import Any

from wbgpu.records.node import Node
from wbgpu.records.summary import Coverage, Distribution


def distribution_payload(distribution: Distribution | None) -> dict[str, Any]:
    """``{"count": 0}`` when there is none."""
    return {"count": 0} if distribution is None else dict(vars(distribution))


def one_value_payload(value: float) -> dict[str, Any]:
    """The distribution of one value."""
    same = dict.fromkeys(("min", "max", "p10", "p25", "p50", "p75", "p90"), value)
    return {"count": 1, "mean": value, "median": value, "std": 0.0, **same}


def parse_distribution(node: Node) -> Distribution | None:
    """Read ``{"count", "mean", ...}``."""
    count = node["count"].integer()
    if count == 0:
        return None
    keys = ("mean", "median", "std", "min", "max", "p10", "p25", "p50", "p75", "p90")
    return Distribution(count, *(node[key].number() for key in keys))


def coverage_payload(coverage: Coverage) -> dict[str, Any]:
    """The ``coverage`` object of a file."""
    return {
        "available_metrics": list(coverage.available_metrics),
        "unsupported_metrics": list(coverage.unsupported_metrics),
        "configured_metrics": list(coverage.configured_metrics),
        "available_metric_count": len(coverage.available_metrics),
        "configured_metric_count": len(coverage.configured_metrics),
        "metric_coverage": coverage.metric_coverage,
        "configured_weight_coverage": coverage.configured_weight_coverage,
        "effective_normalized_weights": dict(coverage.effective_normalized_weights),
    }


def parse_coverage(node: Node) -> Coverage:
    """Read the ``coverage`` object."""
    return Coverage(
        configured_metrics=node["configured_metrics"].strings(),
        available_metrics=node["available_metrics"].strings(),
        unsupported_metrics=node["unsupported_metrics"].strings(),
        metric_coverage=node["metric_coverage"].number(),
        configured_weight_coverage=node["configured_weight_coverage"].number(),
        effective_normalized_weights={
            name: weight.number() for name, weight in node["effective_normalized_weights"].items()
        },
    )
