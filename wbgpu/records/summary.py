"""Aggregates over the episodes of one result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wbgpu.records.metric import Status


@dataclass(frozen=True)
class Distribution:
    """Values of one number over episodes; population std, linear percentiles (NumPy's)."""

    count: int
    mean: float
    median: float
    std: float
    min: float
    max: float
    p10: float
    p25: float
    p50: float
    p75: float
    p90: float


@dataclass(frozen=True)
class Unavailable:
    """An episode without a value for some metric."""

    episode_id: str
    status: Status
    reason: str | None
    error_type: str | None = None


@dataclass(frozen=True)
class MetricSummary:
    """One metric over the suite: its distribution over the episodes that have it.

    Attributes:
        distribution: ``None`` when no episode has a value.
        total_count: episodes that were scored.
        reason: why there is no distribution.
    """

    status: Status
    distribution: Distribution | None
    available_count: int
    total_count: int
    error_count: int = 0
    reason: str | None = None
    unavailable: tuple[Unavailable, ...] = ()


@dataclass(frozen=True)
class HorizonSummary:
    """All metrics at one horizon.

    Attributes:
        horizon: 1-based.
        sample_count: episodes that reach this horizon.
        prefix: by metric name, over steps 1..horizon.
        step: by metric name, at this step alone.
        unavailable: by metric name, how many episodes lack a prefix value here, and why.
    """

    horizon: int
    sample_count: int
    prefix: Mapping[str, Distribution]
    step: Mapping[str, Distribution]
    unavailable: Mapping[str, tuple[int, tuple[str, ...]]]


@dataclass(frozen=True)
class Coverage:
    """How much of the configured composite was really measured.

    Attributes:
        configured_metrics, available_metrics, unsupported_metrics: names in configured order.
        metric_coverage: available / configured, by count, 0-1.
        configured_weight_coverage: available / configured, by weight, 0-1.
        effective_normalized_weights: weights of the available metrics, summing to one.
    """

    configured_metrics: tuple[str, ...]
    available_metrics: tuple[str, ...]
    unsupported_metrics: tuple[str, ...]
    metric_coverage: float
    configured_weight_coverage: float
    effective_normalized_weights: Mapping[str, float]


@dataclass(frozen=True)
class SuiteSummary:
    """Aggregates of a suite.

    Attributes:
        overall: of the episodes' composites; ``None`` when no episode has one.
        metrics: by metric name.
        horizons: 1..T in order.
        coverage: of the composite.
        worst_episodes: up to five ``(episode_id, score)``, lowest first, ties by id.
    """

    overall: Distribution | None
    metrics: Mapping[str, MetricSummary]
    horizons: tuple[HorizonSummary, ...]
    coverage: Coverage
    worst_episodes: tuple[tuple[str, float], ...]
