"""Aggregates over the episodes of one result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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

    @staticmethod
    def of(values: Sequence[float]) -> Distribution | None:
        """Summarise finite values in float64, as worldbench does; ``None`` when there are none."""
        return Distribution.of_each([values])[0]

    @staticmethod
    def of_each(samples: Sequence[Sequence[float]]) -> list[Distribution | None]:
        """`of` for each sample. One call for many is ten times as fast, and gives the same bits."""
        found: list[Distribution | None] = [None] * len(samples)
        by_count: dict[int, list[int]] = {}
        for index, values in enumerate(samples):
            by_count.setdefault(len(values), []).append(index)
        by_count.pop(0, None)
        for count, indices in by_count.items():
            rows: npt.NDArray[np.float64] = np.array([samples[i] for i in indices], np.float64)
            columns = [
                function(rows, axis=1) for function in (np.mean, np.median, np.std, np.min, np.max)
            ] + list(np.percentile(rows, (10, 25, 50, 75, 90), axis=1))
            for index, numbers in zip(indices, np.stack(columns, axis=1).tolist(), strict=True):
                found[index] = Distribution(count, *numbers)
        return found


@dataclass(frozen=True)
class Unavailable:
    """An episode without a value for some metric."""

    episode_id: str
    status: Status
    reason: str | None
    error_type: str | None = None


def missing_status(missing: Sequence[Unavailable], num_available: int) -> Status:
    """Status of a metric without a distribution: ``error`` when errors are all there is."""
    only_errors = missing and all(episode.status == "error" for episode in missing)
    return "error" if only_errors and not num_available else "unsupported"


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

    @staticmethod
    def of(
        configured_metrics: Sequence[str],
        configured_weights: Mapping[str, float],
        available_metrics: Iterable[str],
    ) -> Coverage:
        """Coverage when ``available_metrics`` were measured; others than configured are ignored."""
        measured = set(available_metrics)
        available = tuple(name for name in configured_metrics if name in measured)
        total = sum(configured_weights.get(name, 0.0) for name in configured_metrics)
        weight = sum(configured_weights.get(name, 0.0) for name in available)
        return Coverage(
            configured_metrics=tuple(configured_metrics),
            available_metrics=available,
            unsupported_metrics=tuple(n for n in configured_metrics if n not in measured),
            metric_coverage=len(available) / len(configured_metrics) if configured_metrics else 0.0,
            configured_weight_coverage=weight / total if total else 0.0,
            effective_normalized_weights={
                name: configured_weights.get(name, 0.0) / weight for name in available if weight > 0
            },
        )


@dataclass(frozen=True)
class SuiteSummary:
    """Aggregates of a suite.

    Attributes:
        overall: of the episodes' composites; ``None`` when no episode has one.
        metrics: by metric name.
        horizons: 1..T in order.
        coverage: of the composite.
        worst_episodes: up to five ``(episode_id, score)``, lowest first, ties by id.
        score: the suite's composite. Of a batch it is ``overall.mean``; of an evaluation the
            composite of the metrics' means (worldbench's two rules). ``None`` without any.
    """

    overall: Distribution | None
    metrics: Mapping[str, MetricSummary]
    horizons: tuple[HorizonSummary, ...]
    coverage: Coverage
    worst_episodes: tuple[tuple[str, float], ...]
    score: float | None
