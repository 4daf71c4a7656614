"""Rank several results on the same episodes by paired differences.

All pairs are tested together by step-down max-T, so it does not matter that the same episodes also
chose the best. A result's rank may be as good as 1 + the number of results that are significantly
better, and as bad as the number that are not significantly worse (simultaneous confidence sets for
ranks; Mogstad, Romano, Shaikh & Wilhelm, Review of Economic Studies 2024).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from itertools import combinations

import numpy as np

from wbgpu.aggregate.comparison import comparability_warnings, mismatches, sameness_remarks
from wbgpu.aggregate.intervals import mean_interval
from wbgpu.aggregate.max_t import step_down_max_t
from wbgpu.aggregate.paired_sample import PairedSample, clusters_of
from wbgpu.aggregate.regret_comparison import compare_regret
from wbgpu.errors import ConfigurationError, IncompatibleResultsError
from wbgpu.records.metric import SCORE_UNIT
from wbgpu.records.ranking import PairChange, RankedResult, Ranking
from wbgpu.records.regret import REGRET_UNIT, RegretResult
from wbgpu.records.suite import SuiteResult


def rank_scores(
    scores: Mapping[str, Sequence[float]],
    *,
    measure: str,
    unit: str,
    higher_is_better: bool,
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
    seed: int = 42,
    references: Collection[str] | None = None,
    num_left_out: int = 0,
    warnings: tuple[str, ...] = (),
) -> Ranking:
    """Rank results by the mean of their scores.

    Args:
        scores: by label, one finite value for each episode, in the same order everywhere; at least
            one label.
        measure, unit, higher_is_better: what the scores are.
        clusters: unit of each episode; ``None`` makes each its own.
        level: of intervals and ranks, between 0 and 1.
        seed: of the bootstrap and of random sign patterns.
        references: labels whose pairs are estimated, besides those of the best; ``None`` for all
            pairs, which are many where there are many results. All are tested.
        num_left_out, warnings: kept with the ranking.

    Raises:
        ConfigurationError: results with other numbers of episodes, or an argument out of range.
    """
    if not 0.0 < level < 1.0:
        raise ConfigurationError(f"level: expected a number between 0 and 1, got {level!r}")
    if len(counts := {len(values) for values in scores.values()}) != 1:
        raise ConfigurationError(f"results have different numbers of episodes: {sorted(counts)}")
    samples = {label: PairedSample.of(values, clusters) for label, values in scores.items()}
    sign = -1.0 if higher_is_better else 1.0
    order = sorted(scores, key=lambda label: sign * samples[label].mean)
    values = {label: np.asarray(scores[label], dtype=np.float64) for label in order}
    couples = list(combinations(order, 2))
    differences = np.array([values[second] - values[first] for first, second in couples])
    tests = step_down_max_t(
        differences.reshape(len(couples), counts.pop()).T, clusters=clusters, seed=seed
    )
    pairs = []
    better, worse = Counter[str](), Counter[str]()
    shown = set(scores) if references is None else {order[0], *references}
    for column, (first, second) in enumerate(couples):
        adjusted = _number(tests.adjusted_p_values[column])
        if adjusted is not None and adjusted <= 1.0 - level:
            better[second] += 1
            worse[first] += 1
        if not shown & {first, second}:
            continue
        sample = PairedSample.of(differences[column].tolist(), clusters)
        pairs.append(
            PairChange(
                first=first,
                second=second,
                change=mean_interval(sample, level=level, seed=seed),
                p_value=_number(tests.p_values[column]),
                adjusted_p_value=adjusted,
            )
        )
    return Ranking(
        measure=measure,
        unit=unit,
        higher_is_better=higher_is_better,
        level=level,
        num_episodes=samples[order[0]].num_episodes,
        num_left_out=num_left_out,
        ranked=tuple(
            RankedResult(
                label=label,
                score=mean_interval(samples[label], level=level, seed=seed),
                best_rank=1 + better[label],
                worst_rank=len(order) - worse[label],
            )
            for label in order
        ),
        pairs=tuple(pairs),
        warnings=warnings,
    )


def rank_results(
    results: Sequence[SuiteResult],
    *,
    labels: Sequence[str] | None = None,
    clusters: Mapping[str, str] | None = None,
    level: float = 0.95,
    seed: int = 42,
) -> Ranking:
    """Rank results of videos by the composite, over the episodes that all of them scored.

    Args:
        results: at least two, of the same episodes.
        labels: unique names; ``None`` takes the checkpoints' names.
        clusters: cluster by episode id; ``None`` makes each episode its own.
        level, seed: as :func:`rank_scores`.

    Raises:
        ConfigurationError: fewer than two results.
        IncompatibleResultsError: results that must not be compared, or that share no scored
            episode.
    """
    _check_several(results)
    names = unique_labels([result.checkpoint_name for result in results], labels)
    warnings: dict[str, None] = {}
    for name, result in zip(names[1:], results[1:], strict=True):
        warnings |= dict.fromkeys(comparability_warnings(results[0], result))
        if sameness_remarks(results[0], result):
            warnings[f"{names[0]} and {name} are the same predictions."] = None
        differing = "; ".join(mismatches(results[0], result))
        if differing:
            warnings[f"{names[0]} and {name} were not measured alike: {differing}."] = None
    tables = [{e.episode_id: e.score for e in result.episodes} for result in results]
    episode_ids = sorted(tables[0])
    scored = [i for i in episode_ids if all(table[i] is not None for table in tables)]
    if not scored:
        raise IncompatibleResultsError("no episode has a composite in all results")
    return rank_scores(
        {
            name: [score for i in scored if (score := table[i]) is not None]
            for name, table in zip(names, tables, strict=True)
        },
        measure="composite",
        unit=SCORE_UNIT,
        higher_is_better=True,
        clusters=clusters_of(scored, clusters),
        level=level,
        seed=seed,
        num_left_out=len(episode_ids) - len(scored),
        warnings=tuple(warnings),
    )


def rank_regret(
    results: Sequence[RegretResult],
    *,
    labels: Sequence[str] | None = None,
    level: float = 0.95,
    seed: int = 42,
) -> Ranking:
    """Rank regret results by their expected regret per step, paired by seed; lower is better.

    Raises:
        ConfigurationError: fewer than two results.
        IncompatibleResultsError: other worlds or seeds, or a result whose regret is infinite.
    """
    _check_several(results)
    names = unique_labels([result.contestant for result in results], labels)
    for result in results[1:]:
        compare_regret(results[0], result, level=level)
    if endless := [
        name
        for name, result in zip(names, results, strict=True)
        if math.isinf(result.expected_regret_nats)
    ]:
        raise IncompatibleResultsError(
            f"the expected regret is infinite in {', '.join(endless)}, so no mean can be ranked"
        )
    return rank_scores(
        {
            name: [
                episode.totals.expected_regret_nats / result.num_steps
                for episode in sorted(result.episodes, key=lambda episode: episode.seed)
            ]
            for name, result in zip(names, results, strict=True)
        },
        measure="expected regret",
        unit=REGRET_UNIT,
        higher_is_better=False,
        level=level,
        seed=seed,
    )


def unique_labels(names: Sequence[str], labels: Sequence[str] | None = None) -> list[str]:
    """``labels`` if given, else ``names`` with a number where one stands twice."""
    if labels is not None:
        if len(set(labels)) != len(names):
            raise ConfigurationError(f"labels: expected {len(names)} different ones, got {labels}")
        return list(labels)
    seen = Counter[str]()
    unique = []
    for name in names:
        seen[name] += 1
        unique.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return unique


def _check_several(results: Sequence[object]) -> None:
    if len(results) < 2:
        raise ConfigurationError(f"expected at least two results to rank, got {len(results)}")


def _number(value: np.float64) -> float | None:
    return float(value) if np.isfinite(value) else None
