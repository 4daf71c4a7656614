"""Rank the jobs of a sweep by paired differences on the same episodes.

Every job is compared with the best one. Which is best is seen in the same data, so its intervals
must hold whichever it had been: they are Bonferroni's over all pairs of jobs, that is Student's t
of the paired differences at level 1 - (1 - level) / (k (k - 1) / 2). A baseline is named before, so
its k - 1 intervals share their level among themselves. References: Hsu, Multiple Comparisons, 1996,
chapters 4 and 5 (whose intervals with the best are narrower, and assume equal variances).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from wbgpu.aggregate.student_t import two_sided_t
from wbgpu.aggregate.sweep_horizons import horizon_changes
from wbgpu.aggregate.sweep_pairing import comparable, metrics_of, unit_of, values_of
from wbgpu.errors import ConfigurationError, InputError
from wbgpu.records.sweep import (
    LeftOut,
    PairedChange,
    RankedJob,
    Standing,
    SweepEntry,
    SweepRanking,
    checkpoint_name,
)

_NUM_NAMED = 3

Values = Mapping[str, float]


def rank_sweep(
    entries: Sequence[SweepEntry],
    left_out: Sequence[LeftOut] = (),
    *,
    metric: str | None = None,
    baseline: int | None = None,
    level: float = 0.95,
) -> SweepRanking:
    """Rank jobs by their mean over the episodes that all of them have.

    These are the largest set of episodes with a value that any job has; a job that lacks one of
    them is left out with the reason, as its mean would be of other episodes.

    Args:
        entries: jobs with a result, by number.
        left_out: jobs without.
        metric: a metric's name; ``None`` for the composite, or the expected regret.
        baseline: number of a job to compare with besides the best.
        level: confidence of all intervals together, between 0 and 1, both excluded.

    Raises:
        ConfigurationError: the baseline or the metric is not there, or ``level`` is out of range.
        InputError: no job can be ranked.
    """
    if not 0.0 < level < 1.0:
        raise ConfigurationError(f"level: expected a number between 0 and 1, got {level!r}")
    if not entries:
        reasons = "".join(f"\njob {job.job}: {job.state}: {job.reason}" for job in left_out)
        raise InputError(f"no job of the sweep has a result, so there is nothing to rank{reasons}")
    metric = metrics_of(entries[0].result)[0] if metric is None else metric
    kept, incomparable = comparable(entries, metric, first=baseline)
    values = {entry.job: values_of(entry.result, metric) for entry in kept}
    if not any(values.values()):
        raise ConfigurationError(_unknown_metric(metric, kept))
    episode_ids = max(values.values(), key=len).keys()
    short = [entry for entry in kept if not episode_ids <= values[entry.job].keys()]
    ranked = [entry for entry in kept if entry not in short]
    out = [
        *left_out,
        *incomparable,
        *(_short(e, episode_ids - values[e.job].keys()) for e in short),
    ]
    if baseline is not None and baseline not in {entry.job for entry in ranked}:
        reasons = "; ".join(f"{job.state}: {job.reason}" for job in out if job.job == baseline)
        raise ConfigurationError(f"the baseline, job {baseline}, cannot be ranked: {reasons}")
    unit, higher_is_better = unit_of(ranked[0].result, metric)
    order = sorted(episode_ids)
    columns = {e.job: [values[e.job][episode_id] for episode_id in order] for e in ranked}
    jobs = _ranked(ranked, columns, higher_is_better, baseline, level)
    reference = jobs[0].job if baseline is None else baseline
    results = {entry.job: entry.result for entry in ranked}
    return SweepRanking(
        metric=metric,
        unit=unit,
        higher_is_better=higher_is_better,
        level=level,
        num_best_intervals=_num_pairs(len(ranked)),
        num_baseline_intervals=0 if baseline is None else len(ranked) - 1,
        episode_ids=tuple(order),
        jobs=jobs,
        baseline_job=baseline,
        horizon_reference_job=reference,
        horizons={
            job.job: horizon_changes(results[reference], results[job.job], order)
            for job in jobs
            if job.job != reference
        },
        left_out=tuple(sorted(out, key=lambda item: item.job)),
    )


def paired_change(
    reference: Sequence[float],
    candidate: Sequence[float],
    *,
    higher_is_better: bool,
    level: float,
) -> PairedChange:
    """Mean of candidate - reference over paired episodes, and its Student t interval."""
    changes = [after - before for before, after in zip(reference, candidate, strict=True)]
    count = len(changes)
    mean = math.fsum(changes) / count
    lower = upper = None
    standing: Standing = "unknown"
    if count > 1:
        variance = math.fsum((change - mean) ** 2 for change in changes) / (count - 1)
        half = two_sided_t(level, count - 1) * math.sqrt(variance / count)
        lower, upper = mean - half, mean + half
        standing = "level"
        if lower > 0 or upper < 0:
            standing = "better" if (mean > 0) == higher_is_better else "worse"
    num_up, num_down = sum(c > 0 for c in changes), sum(c < 0 for c in changes)
    better, worse = (num_up, num_down) if higher_is_better else (num_down, num_up)
    return PairedChange(mean, lower, upper, better, worse, standing)


def _ranked(
    entries: Sequence[SweepEntry],
    columns: Mapping[int, Sequence[float]],
    higher_is_better: bool,
    baseline: int | None,
    level: float,
) -> tuple[RankedJob, ...]:
    means = {job: math.fsum(column) / len(column) for job, column in columns.items()}
    sign = -1.0 if higher_is_better else 1.0
    ordered = sorted(entries, key=lambda entry: (sign * means[entry.job], entry.job))
    best = ordered[0].job

    def against(reference: int | None, job: int, num_intervals: int) -> PairedChange | None:
        if reference is None or reference == job:
            return None
        return paired_change(
            columns[reference],
            columns[job],
            higher_is_better=higher_is_better,
            level=1.0 - (1.0 - level) / num_intervals,
        )

    jobs: list[RankedJob] = []
    for position, entry in enumerate(ordered, start=1):
        mean = means[entry.job]
        ranked = RankedJob(
            rank=position,
            job=entry.job,
            label=entry.label,
            folder=entry.folder,
            checkpoint_name=checkpoint_name(entry.result),
            mean=mean,
            against_best=against(best, entry.job, _num_pairs(len(entries))),
            against_baseline=against(baseline, entry.job, len(entries) - 1),
        )
        is_tie = bool(jobs) and jobs[-1].mean == mean
        jobs.append(replace(ranked, rank=jobs[-1].rank) if is_tie else ranked)
    return tuple(jobs)


def _num_pairs(num_jobs: int) -> int:
    return num_jobs * (num_jobs - 1) // 2


def _short(entry: SweepEntry, lacking: set[str]) -> LeftOut:
    named = ", ".join(map(repr, sorted(lacking)[:_NUM_NAMED]))
    more = f" and {len(lacking) - _NUM_NAMED} more" if len(lacking) > _NUM_NAMED else ""
    return LeftOut(
        entry.job,
        entry.label,
        entry.folder,
        "incomplete",
        f"no finite value in {len(lacking)} episode(s) that other jobs have: {named}{more}",
    )


def _unknown_metric(metric: str, entries: Sequence[SweepEntry]) -> str:
    known = dict.fromkeys(
        name for e in entries for name in metrics_of(e.result) if values_of(e.result, name)
    )
    return f"no job has a value of {metric!r}; rank by one of: {', '.join(known) or 'none'}"
