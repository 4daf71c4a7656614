"""From a comparison to evidence: the numbers that a policy holds against margins."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from wbgpu.aggregate.detectable_effect import minimum_detectable_effect, units_to_detect
from wbgpu.aggregate.e_process import sequential_evidence
from wbgpu.aggregate.horizon_tests import episode_pairs
from wbgpu.aggregate.intervals import DEFAULT_SEED, mean_interval
from wbgpu.aggregate.paired_sample import PairedSample, clusters_of
from wbgpu.aggregate.sign_flip import sign_flip_p_value
from wbgpu.errors import ConfigurationError
from wbgpu.records.comparison import Comparison
from wbgpu.records.evidence import Evidence, EvidenceKind, IntervalMethod
from wbgpu.records.metric import SCORE_UNIT
from wbgpu.records.regret import REGRET_UNIT
from wbgpu.records.regret_comparison import RegretComparison

_LOSS_UNITS = "nats"
"""Units that begin so are of log-losses, for which there is an e-process."""


@dataclass(frozen=True)
class Weighing:
    """How changes become evidence.

    Attributes:
        interval, level, seed: as :func:`wbgpu.aggregate.intervals.mean_interval`.
        clusters: cluster by episode id, such as scenes; ``None`` makes each episode its own.
    """

    interval: IntervalMethod = "conservative"
    level: float = 0.95
    seed: int = DEFAULT_SEED
    clusters: Mapping[str, str] | None = None


@dataclass(frozen=True)
class _Measured:
    """A number of both sides; ``rows`` are episode id, baseline, candidate."""

    kind: EvidenceKind
    name: str
    unit: str
    higher_is_better: bool
    rows: Sequence[tuple[str, float, float]]


_USUAL = Weighing()


def composite_evidence(
    comparison: Comparison, margin: float, weighing: Weighing = _USUAL
) -> Evidence | None:
    """Of the composite, over the episodes that have one on both sides.

    Args:
        comparison: of two results.
        margin: drop that is allowed, in score points, >= 0.
        weighing: intervals and clusters.

    Returns:
        ``None`` when no episode has a composite on both sides.

    Raises:
        ConfigurationError: an argument is out of range.
        IncompatibleResultsError: an episode has no cluster.
    """
    rows = [(e.episode_id, e.baseline, e.candidate) for e in comparison.episodes]
    return _evidence(_Measured("composite", "composite", SCORE_UNIT, True, rows), margin, weighing)


def metric_evidence(
    comparison: Comparison, metric: str, margin: float, weighing: Weighing = _USUAL
) -> Evidence | None:
    """Of one metric, in its unit; arguments as :func:`composite_evidence`.

    Raises:
        ConfigurationError: neither result has such a metric.
    """
    info = comparison.candidate.metric_infos.get(metric) or comparison.baseline.metric_infos.get(
        metric
    )
    if info is None:
        known = ", ".join(sorted(comparison.candidate.metric_infos))
        raise ConfigurationError(f"margin of {metric!r}: no such metric in the results; {known}")
    rows = []
    for before, after in episode_pairs(comparison):
        ours, theirs = before.metrics.get(metric), after.metrics.get(metric)
        if ours is None or theirs is None or ours.value is None or theirs.value is None:
            continue
        rows.append((before.episode_id, ours.value, theirs.value))
    measured = _Measured("metric", metric, info.unit, info.higher_is_better, rows)
    return _evidence(measured, margin, weighing)


def regret_evidence(
    comparison: RegretComparison, margin: float, weighing: Weighing = _USUAL
) -> Evidence | None:
    """Of the expected regret, nats per step, paired by seed; it has no clusters.

    Returns:
        ``None`` where it is infinite on either side.
    """
    steps = comparison.baseline.num_steps
    after = {e.seed: e.totals.expected_regret_nats / steps for e in comparison.candidate.episodes}
    rows = [
        (str(e.seed), e.totals.expected_regret_nats / steps, after[e.seed])
        for e in comparison.baseline.episodes
    ]
    if not all(math.isfinite(value) for _, *values in rows for value in values):
        return None
    measured = _Measured("regret", "regret", REGRET_UNIT, False, rows)
    return _evidence(measured, margin, replace(weighing, clusters=None))


def _evidence(measured: _Measured, margin: float, weighing: Weighing) -> Evidence | None:
    rows, level = measured.rows, weighing.level
    if not rows:
        return None
    changes = [after - before for _, before, after in rows]
    clusters = clusters_of([episode_id for episode_id, *_ in rows], weighing.clusters)
    sample = PairedSample.of(changes, clusters)
    estimate = mean_interval(sample, method=weighing.interval, level=level, seed=weighing.seed)
    null = -margin if measured.higher_is_better else margin
    deviation = sample.unit_deviation
    per_unit = len(rows) / sample.num_units

    def episodes_for(effect: float) -> int | None:
        needed = None if deviation is None else units_to_detect(effect, deviation, level)
        return None if needed is None else math.ceil(needed * per_unit)

    is_loss = measured.unit.startswith(_LOSS_UNITS)
    return Evidence(
        kind=measured.kind,
        name=measured.name,
        unit=measured.unit,
        higher_is_better=measured.higher_is_better,
        margin=margin,
        baseline=math.fsum(before for _, before, _ in rows) / len(rows),
        candidate=math.fsum(after for _, _, after in rows) / len(rows),
        estimate=estimate,
        p_worse=sign_flip_p_value(
            sample,
            alternative="less" if measured.higher_is_better else "greater",
            null=null,
            seed=weighing.seed,
        ),
        minimum_detectable_effect=minimum_detectable_effect(sample, level, estimate),
        episodes_to_decide=episodes_for(sample.mean - null),
        episodes_to_clear=episodes_for(margin),
        # Not for clusters: their episodes do not come one after the other.
        sequential=sequential_evidence(changes, margin=margin)
        if is_loss and clusters is None
        else None,
    )
