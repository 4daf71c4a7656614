"""The composite: weighted mean of the available scores.

sum(score_i * w_i) / sum(w_i) over the metrics that have a score, clamped to 0-100; equal to
worldbench's ``weighted_score``, except that no available metric gives ``None`` and not 0.
"""

from __future__ import annotations

from collections.abc import Mapping

from wbgpu.records.metric import MetricOutcome


def composite(scores: Mapping[str, float | None], weights: Mapping[str, float]) -> float | None:
    """Weighted mean of ``scores`` (0-100) under ``weights``.

    Args:
        scores: by metric name; ``None`` where unavailable. Names without a weight are left out.
        weights: by metric name; they need not sum to one.

    Returns:
        0-100, or ``None`` when nothing available carries weight.
    """
    present = {name: score for name, score in scores.items() if score is not None}
    # Sums run in the orders that worldbench sums in, so that the last bit agrees too.
    total_weight = sum(weight for name, weight in weights.items() if name in present)
    if total_weight <= 0:
        return None
    total = sum(score * weights[name] for name, score in present.items() if name in weights)
    return float(max(0.0, min(100.0, total / total_weight)))


def episode_composite(
    metrics: Mapping[str, MetricOutcome], weights: Mapping[str, float]
) -> float | None:
    """Composite over all steps of one episode."""
    return composite({name: outcome.value for name, outcome in metrics.items()}, weights)


def prefix_composites(
    metrics: Mapping[str, MetricOutcome], weights: Mapping[str, float], num_steps: int
) -> tuple[float | None, ...]:
    """Composite over steps 1..t of one episode, for t = 1..num_steps."""
    weighted = {name: outcome for name, outcome in metrics.items() if name in weights}
    return tuple(
        composite({name: m.prefix_at(horizon) for name, m in weighted.items()}, weights)
        for horizon in range(1, num_steps + 1)
    )
