"""Metric x horizon: mean paired changes, and which of them stand among all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from wbgpu.aggregate.max_t import step_down_max_t
from wbgpu.aggregate.paired_sample import Floats, clusters_of
from wbgpu.records.comparison import Comparison
from wbgpu.records.evidence import HorizonTest, View
from wbgpu.records.metric import MetricOutcome
from wbgpu.records.suite import EpisodeResult


def horizon_tests(
    comparison: Comparison,
    *,
    metrics: Sequence[str] | None = None,
    view: View = "prefix",
    clusters: Mapping[str, str] | None = None,
    margins: Mapping[str, float] | None = None,
    seed: int = 42,
) -> tuple[HorizonTest, ...]:
    """Test every metric at every horizon as one family.

    Args:
        comparison: of two results.
        metrics: names; ``None`` for all that both sides measured.
        view: ``prefix`` or ``step``.
        clusters: cluster by episode id; ``None`` makes each episode its own.
        margins: by metric, the worsening that is allowed, >= 0, in its unit. With margins the tests
            ask whether the candidate is worse by more; without, whether it changed.
        seed: of the random sign patterns, where there are more than 13 units.

    Returns:
        By metric in the given order and by horizon. Horizons at which no episode has a value on
        both sides are left out.

    Raises:
        IncompatibleResultsError: an episode has no cluster.
    """
    infos = comparison.candidate.metric_infos
    if metrics is None:
        both = set(comparison.baseline.summary.metrics) & set(comparison.candidate.summary.metrics)
        metrics = [name for name in comparison.candidate.measured_metrics if name in both]
    pairs = episode_pairs(comparison)
    places: list[tuple[str, int]] = []
    blocks: list[Floats] = []
    nulls: list[float] = []
    for name in metrics:
        sign = 1.0 if infos[name].higher_is_better else -1.0
        block = sign * _differences(pairs, name, view)
        blocks.append(block)
        places += [(name, horizon) for horizon in range(1, block.shape[1] + 1)]
        allowed = 0.0 if margins is None else margins[name]
        nulls += [-allowed] * block.shape[1]
    if not places:
        return ()
    found = step_down_max_t(
        np.hstack(blocks),
        clusters=clusters_of([episode.episode_id for episode, _ in pairs], clusters),
        alternative="two_sided" if margins is None else "less",
        null=np.array(nulls),
        seed=seed,
    )
    tests = []
    for column, (name, horizon) in enumerate(places):
        if not found.num_rows[column]:
            continue
        info = infos[name]
        gain = float(found.means[column])
        tests.append(
            HorizonTest(
                horizon=horizon,
                view=view,
                metric=name,
                unit=info.unit,
                higher_is_better=info.higher_is_better,
                num_episodes=int(found.num_rows[column]),
                num_units=int(found.num_units[column]),
                change=gain if info.higher_is_better else -gain,
                standard_error=_number(found.standard_errors[column]),
                p_value=_number(found.p_values[column]),
                adjusted_p_value=_number(found.adjusted_p_values[column]),
            )
        )
    return tuple(tests)


def episode_pairs(comparison: Comparison) -> list[tuple[EpisodeResult, EpisodeResult]]:
    """Baseline's and candidate's result of each episode, by episode id."""
    after = {episode.episode_id: episode for episode in comparison.candidate.episodes}
    before = sorted(comparison.baseline.episodes, key=lambda episode: episode.episode_id)
    return [(episode, after[episode.episode_id]) for episode in before]


def _differences(
    pairs: Sequence[tuple[EpisodeResult, EpisodeResult]], name: str, view: View
) -> Floats:
    """``[episodes, T]``; NaN where a side has no value."""
    before, after = (
        [_values(episode.metrics.get(name), view) for episode in side]
        for side in zip(*pairs, strict=True)
    )
    longest = min(_longest(before), _longest(after))
    return _table(after, longest) - _table(before, longest)


def _values(outcome: MetricOutcome | None, view: View) -> tuple[float | None, ...]:
    if outcome is None:
        return ()
    return outcome.prefix if view == "prefix" else outcome.step


def _longest(rows: Iterable[Sequence[float | None]]) -> int:
    return max(map(len, rows), default=0)


def _table(rows: Sequence[Sequence[float | None]], num_columns: int) -> Floats:
    table = np.full((len(rows), num_columns), np.nan)
    for index, row in enumerate(rows):
        # None becomes NaN.
        values = np.array(row[:num_columns], dtype=np.float64)
        table[index, : len(values)] = values
    return table


def _number(value: np.float64) -> float | None:
    return float(value) if np.isfinite(value) else None
