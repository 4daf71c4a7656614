"""Jobs of a sweep, ranked on the same episodes. Change is candidate - reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from wbgpu.records.regret import RegretResult
from wbgpu.records.suite import SuiteResult

AnyResult = SuiteResult | RegretResult

SWEEP_RESULT_TYPE = "sweep"
SWEEP_SCHEMA_VERSION = "1"

Standing = Literal["better", "worse", "level", "unknown"]
"""``level``: not significant among all pairs of jobs, so these episodes do not tell the two apart;
``unknown``: too few episodes for a test."""


def checkpoint_name(result: AnyResult) -> str:
    """Of the checkpoint, or of the contestant."""
    return result.contestant if isinstance(result, RegretResult) else result.checkpoint_name


@dataclass(frozen=True)
class SweepEntry:
    """A job that has a result.

    Attributes:
        job: its number.
        label: what tells it from the other jobs.
        folder: of the job.
    """

    job: int
    label: str
    folder: str
    result: AnyResult


@dataclass(frozen=True)
class LeftOut:
    """A job that is not ranked, and why.

    Attributes:
        state: of the job, such as ``failed``; ``done`` where its result cannot be ranked.
    """

    job: int
    label: str
    folder: str
    state: str
    reason: str


@dataclass(frozen=True)
class PairedChange:
    """Mean paired change against a reference, in the metric's unit, and its interval.

    Attributes:
        lower, upper: of this change alone; ``None`` for fewer than two episodes.
        adjusted_p_value: with familywise error control over all pairs of jobs; ``None`` where there
            are too few episodes.
        num_better, num_worse: episodes that are better, worse than the reference's.
        standing: of the job against the reference.
    """

    mean: float
    lower: float | None
    upper: float | None
    adjusted_p_value: float | None
    num_better: int
    num_worse: int
    standing: Standing


@dataclass(frozen=True)
class RankedJob:
    """One job of the ranking.

    Attributes:
        best_rank, worst_rank: as of :class:`wbgpu.records.ranking.RankedResult`.
        mean: over the ranking's episodes.
        against_best, against_baseline: ``None`` for the reference itself, and where no baseline was
            named.
    """

    best_rank: int
    worst_rank: int
    job: int
    label: str
    folder: str
    checkpoint_name: str
    mean: float
    against_best: PairedChange | None
    against_baseline: PairedChange | None


@dataclass(frozen=True)
class HorizonChanges:
    """One metric of one job against the reference, horizon by horizon (prefix view).

    Attributes:
        changes: mean paired change at horizon t = 1..T; ``None`` where fewer than two episodes have
            both values.
        standard_errors: of them, likewise.
        num_episodes: with both values.
    """

    unit: str
    higher_is_better: bool
    changes: tuple[float | None, ...]
    standard_errors: tuple[float | None, ...]
    num_episodes: tuple[int, ...]


@dataclass(frozen=True)
class SweepRanking:
    """A sweep, ranked.

    Attributes:
        metric: by which: ``composite``, a metric's name, or a kind of regret.
        level: of each interval, and of ranks and standings together; 0-1.
        episode_ids: on which all ranked jobs are compared; seeds where it is regret.
        jobs: best mean first.
        baseline_job: the named baseline's number, or ``None``.
        horizon_reference_job: which job ``horizons`` compares with: the baseline, else the best.
        horizons: by job, and by metric.
        left_out: by number.
    """

    metric: str
    unit: str
    higher_is_better: bool
    level: float
    episode_ids: tuple[str, ...]
    jobs: tuple[RankedJob, ...]
    baseline_job: int | None
    horizon_reference_job: int
    horizons: Mapping[int, Mapping[str, HorizonChanges]]
    left_out: tuple[LeftOut, ...]


def sweep_payload(ranking: SweepRanking) -> dict[str, Any]:
    """The document of a ranking."""
    return {
        "result_type": SWEEP_RESULT_TYPE,
        "schema_version": SWEEP_SCHEMA_VERSION,
        "metric": ranking.metric,
        "unit": ranking.unit,
        "higher_is_better": ranking.higher_is_better,
        "interval_level": ranking.level,
        "interval_method": "conservative, of each change alone",
        "standing_method": "paired sign flips, step-down max-T over all pairs of jobs",
        "num_episodes": len(ranking.episode_ids),
        "baseline_job": ranking.baseline_job,
        "ranking": [
            {
                "best_rank": job.best_rank,
                "worst_rank": job.worst_rank,
                "job": job.job,
                "label": job.label,
                "folder": job.folder,
                "checkpoint_name": job.checkpoint_name,
                "mean": job.mean,
                "against_best": _change(job.against_best),
                "against_baseline": _change(job.against_baseline),
            }
            for job in ranking.jobs
        ],
        "left_out": [
            {
                "job": job.job,
                "label": job.label,
                "folder": job.folder,
                "state": job.state,
                "reason": job.reason,
            }
            for job in ranking.left_out
        ],
        "horizons": {
            "view": "prefix",
            "reference_job": ranking.horizon_reference_job,
            "jobs": {
                str(job): {
                    name: {
                        "unit": row.unit,
                        "higher_is_better": row.higher_is_better,
                        "changes": list(row.changes),
                        "standard_errors": list(row.standard_errors),
                        "num_episodes": list(row.num_episodes),
                    }
                    for name, row in rows.items()
                }
                for job, rows in ranking.horizons.items()
            },
        },
        "episode_ids": list(ranking.episode_ids),
    }


def _change(change: PairedChange | None) -> dict[str, Any] | None:
    if change is None:
        return None
    return {
        "mean": change.mean,
        "lower": change.lower,
        "upper": change.upper,
        "adjusted_p_value": change.adjusted_p_value,
        "num_better": change.num_better,
        "num_worse": change.num_worse,
        "standing": change.standing,
    }
