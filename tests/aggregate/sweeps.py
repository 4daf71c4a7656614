"""Jobs of a sweep with scores that are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.records.results import available, episode, simple_suite, suite, unsupported
from wbgpu.records.suite import SuiteResult
from wbgpu.records.sweep import SweepEntry


def entry(job: int, result: SuiteResult) -> SweepEntry:
    return SweepEntry(job=job, label=f"x={job}", folder=f"sweep/{job}", result=result)


def scored(job: int, scores: Mapping[str, Sequence[float]], **fields: Any) -> SweepEntry:
    """A job whose episodes have these prefix scores."""
    return entry(job, simple_suite(scores, **fields))


def flat(job: int, *scores: float, **fields: Any) -> SweepEntry:
    """A job whose episodes ``e0``, ``e1``, ... of two steps have these scores."""
    return scored(job, {f"e{i}": [score, score] for i, score in enumerate(scores)}, **fields)


def of_psnr(job: int, *values: float | None) -> SweepEntry:
    """A job with PSNR alone, which has no composite; ``None`` for an episode without it."""
    return entry(
        job,
        suite(
            [
                episode(
                    f"e{i}",
                    [unsupported("psnr") if value is None else available("psnr", [value, value])],
                )
                for i, value in enumerate(values)
            ]
        ),
    )
