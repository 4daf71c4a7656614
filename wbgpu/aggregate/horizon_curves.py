"""Curves of metrics over horizons with 95 % intervals over episodes, and the curve of a copy.

Means have Student-t intervals. Skills are judged by the median, because their mean is ruled by
episodes in which almost nothing moves; the median's interval lies between two order statistics
whose ranks follow from Binomial(n, 1/2) (Conover, Practical Nonparametric Statistics, 1999, 3.2),
so it covers at least as often as it says.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from wbgpu.aggregate.student_t import two_sided_t
from wbgpu.records.comparison import View
from wbgpu.records.curves import Curve, CurvePoint, Source
from wbgpu.records.suite import SuiteResult

LEVEL = 0.95
SKILLS = ("skill_persistence", "skill_persistence_dynamic")
"""Metrics that compare with a copy: a copy's own value is 0."""

_PERFECT_MSE, _MAX_PSNR_DB = 1e-9, 60.0
"""As of the metric psnr."""

_COPY_OF = {
    "mse": ("mse", SKILLS[0]),
    "psnr": ("mse", SKILLS[0]),
    "dynamic_mse": ("dynamic_mse", SKILLS[1]),
    "dynamic_psnr": ("dynamic_mse", SKILLS[1]),
}
"""Of which error and which skill a copy's value in a metric follows."""

_Values = npt.NDArray[np.float64]
"""float64 ``[episodes, horizons]``, NaN where there is no value."""


def horizon_curves(result: SuiteResult, source: Source) -> tuple[Curve, ...]:
    """Every measured metric of a result in every view that it has."""
    return tuple(
        curve
        for metric in result.measured_metrics
        for view in ("prefix", "step")
        if (curve := _curve(metric, view, source, episode_values(result, metric, view))) is not None
    )


def persistence_curves(result: SuiteResult) -> tuple[Curve, ...]:
    """What copying the last context frame would have got, as far as the result tells.

    A skill is 1 - error / error of copying, so squared error and skill give the copy's squared
    error, and that its PSNR; a copy's skill is 0. Other metrics of a copy are not known.
    """
    return tuple(_known_copies(result))


def episode_values(result: SuiteResult, metric: str, view: View) -> _Values:
    """A metric of each scored episode at each horizon.

    Returns:
        float64 ``[episodes, horizons]`` in the result's order of episodes, NaN where there is no
        value.
    """
    episodes = [episode for episode in result.episodes if episode.failure is None]
    values = np.full((len(episodes), len(result.summary.horizons)), np.nan)
    for row, episode in zip(values, episodes, strict=True):
        outcome = episode.metrics.get(metric)
        column = () if outcome is None else outcome.prefix if view == "prefix" else outcome.step
        row[: len(column)] = np.array(column, np.float64)
    return values


def _known_copies(result: SuiteResult) -> Iterator[Curve]:
    for metric in result.measured_metrics:
        for view in ("prefix", "step"):
            if metric in SKILLS:
                own = _curve(metric, view, "persistence", episode_values(result, metric, view))
                if own is not None:
                    yield _zero(own)
            elif metric in _COPY_OF:
                copy = _curve(metric, view, "persistence", _copy_values(result, metric, view))
                if copy is not None:
                    yield copy


def _copy_values(result: SuiteResult, metric: str, view: View) -> _Values:
    error_metric, skill_metric = _COPY_OF[metric]
    # The mean of PSNRs over a prefix is not the PSNR of its mean, so that PSNR starts from steps.
    base: View = "step" if metric == "psnr" else view
    skill = episode_values(result, skill_metric, base)
    error = episode_values(result, error_metric, base)
    # A skill is undefined at steps at which the copy is perfect; a skill of 1 does not tell.
    copy = np.divide(error, 1 - skill, out=np.full_like(error, np.nan), where=skill < 1)
    has_skill = ~np.isnan(skill).all(axis=1, keepdims=True)
    copy = np.where(np.isnan(skill) & has_skill & ~np.isnan(error), 0.0, copy)
    if not metric.endswith("psnr"):
        return copy
    decibels = 10 * np.log10(255.0**2 / np.maximum(copy, _PERFECT_MSE))
    decibels = np.where(copy <= _PERFECT_MSE, _MAX_PSNR_DB, decibels)
    if base == view:
        return decibels
    means: _Values = np.cumsum(decibels, axis=1) / np.arange(1, decibels.shape[1] + 1)
    return means


def _curve(metric: str, view: View, source: Source, values: _Values) -> Curve | None:
    is_skill = metric in SKILLS
    columns = (column[~np.isnan(column)] for column in values.T)
    point = _median_point if is_skill else _mean_point
    points = tuple(point(h, column) for h, column in enumerate(columns, 1) if len(column))
    if not points:
        return None
    return Curve(metric, view, source, "median" if is_skill else "mean", points)


def _zero(curve: Curve) -> Curve:
    points = tuple(CurvePoint(p.horizon, 0.0, None, None, p.count) for p in curve.points)
    return Curve(curve.metric, curve.view, "persistence", "same", points)


def _mean_point(horizon: int, values: _Values) -> CurvePoint:
    count, mean = len(values), float(values.mean())
    if count < 2:
        return CurvePoint(horizon, mean, None, None, count)
    half = two_sided_t(LEVEL, count - 1) * float(values.std(ddof=1)) / math.sqrt(count)
    return CurvePoint(horizon, mean, mean - half, mean + half, count)


def _median_point(horizon: int, values: _Values) -> CurvePoint:
    count, median = len(values), float(np.median(values))
    rank = _lower_rank(count)
    if rank == 0:
        return CurvePoint(horizon, median, None, None, count)
    ordered = np.sort(values)
    return CurvePoint(horizon, median, float(ordered[rank - 1]), float(ordered[-rank]), count)


@functools.cache
def _lower_rank(count: int) -> int:
    """Largest r with P(Binomial(count, 1/2) < r) <= (1 - LEVEL) / 2; 0 when there is none."""
    below = 0.0
    for rank in range(count + 1):
        log_ways = math.lgamma(count + 1) - math.lgamma(rank + 1) - math.lgamma(count - rank + 1)
        below += math.exp(log_ways - count * math.log(2))
        if below > (1 - LEVEL) / 2:
            return rank
    return 0
