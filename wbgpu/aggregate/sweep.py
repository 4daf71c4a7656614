"""Rank the jobs of a sweep by paired differences on the same episodes.

Jobs that can be compared are ranked as any results are (:mod:`wbgpu.aggregate.ranking`); here it
is decided which can, and each is set beside the best job and beside a named baseline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wbgpu.aggregate.ranking import rank_scores
from wbgpu.aggregate.sweep_horizons import horizon_changes
from wbgpu.aggregate.sweep_pairing import comparable, metrics_of, unit_of, values_of
from wbgpu.errors import ConfigurationError, InputError
from wbgpu.records.ranking import Ranking
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
        level: of each interval, and of standings and ranks together; between 0 and 1, both
            excluded.

    Raises:
        ConfigurationError: the baseline or the metric is not there, or ``level`` is out of range.
        InputError: no job can be ranked.
    """
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
    columns = {str(e.job): [values[e.job][i] for i in order] for e in ranked}
    named = None if baseline is None else str(baseline)
    ranking = rank_scores(
        columns,
        measure=metric,
        unit=unit,
        higher_is_better=higher_is_better,
        level=level,
        references=() if named is None else (named,),
    )
    best = ranking.ranked[0].label
    by_number = {str(entry.job): entry for entry in ranked}
    jobs = tuple(
        RankedJob(
            best_rank=item.best_rank,
            worst_rank=item.worst_rank,
            job=by_number[item.label].job,
            label=by_number[item.label].label,
            folder=by_number[item.label].folder,
            checkpoint_name=checkpoint_name(by_number[item.label].result),
            mean=item.score.mean,
            against_best=_against(ranking, columns, best, item.label),
            against_baseline=_against(ranking, columns, named, item.label),
        )
        for item in ranking.ranked
    )
    reference = jobs[0].job if baseline is None else baseline
    results = {entry.job: entry.result for entry in ranked}
    return SweepRanking(
        metric=metric,
        unit=unit,
        higher_is_better=higher_is_better,
        level=level,
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


def _against(
    ranking: Ranking, columns: Mapping[str, Sequence[float]], reference: str | None, job: str
) -> PairedChange | None:
    """The pair of a reference and a job, turned so that the reference comes first."""
    if reference is None or reference == job:
        return None
    pair = next(p for p in ranking.pairs if {p.first, p.second} == {reference, job})
    mean, lower, upper = pair.change.mean, pair.change.lower, pair.change.upper
    if pair.first == job:
        mean = -mean
        lower, upper = (None if b is None else -b for b in (upper, lower))
    changes = [
        after - before for before, after in zip(columns[reference], columns[job], strict=True)
    ]
    up, down = sum(change > 0 for change in changes), sum(change < 0 for change in changes)
    standing: Standing = "unknown"
    if pair.adjusted_p_value is not None:
        is_clear = pair.adjusted_p_value <= 1.0 - ranking.level
        # Pairs name the better one first.
        standing = ("worse" if pair.second == job else "better") if is_clear else "level"
    return PairedChange(
        mean=mean,
        lower=lower,
        upper=upper,
        adjusted_p_value=pair.adjusted_p_value,
        num_better=up if ranking.higher_is_better else down,
        num_worse=down if ranking.higher_is_better else up,
        standing=standing,
    )


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
