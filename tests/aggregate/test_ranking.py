from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.records.regret_results import regret_result
from tests.records.results import failed, simple_suite, suite
from wbgpu.aggregate.ranking import rank_regret, rank_results, rank_scores
from wbgpu.errors import ConfigurationError, IncompatibleResultsError

LEVEL = np.random.default_rng(0).normal(50.0, 10.0, 12)


def _rank(**shifts):
    noise = np.random.default_rng(1)
    scores = {k: (LEVEL + s + noise.normal(0, 0.5, 12)).tolist() for k, s in shifts.items()}
    return rank_scores(scores, measure="composite", unit="score", higher_is_better=True)


def test_clear_differences_are_ranked_though_intervals_overlap():
    """Episodes differ by 10 points and results by 2: only pairing shows it."""
    ranking = _rank(low=0.0, high=4.0, middle=2.0)
    assert [item.label for item in ranking.ranked] == ["high", "middle", "low"]
    assert [(item.best_rank, item.worst_rank) for item in ranking.ranked] == [
        (1, 1),
        (2, 2),
        (3, 3),
    ]
    assert ranking.ranked[0].score.lower < ranking.ranked[2].score.upper


def test_equal_results_share_their_ranks():
    ranking = _rank(a=0.0, b=0.0, c=0.0)
    assert {(item.best_rank, item.worst_rank) for item in ranking.ranked} == {(1, 3)}


def test_pairs_name_the_better_one_first():
    ranking = _rank(low=0.0, high=4.0, middle=2.0)
    assert [(p.first, p.second) for p in ranking.pairs] == [
        ("high", "middle"),
        ("high", "low"),
        ("middle", "low"),
    ]
    assert all(pair.change.mean < 0 for pair in ranking.pairs)


def test_true_ranks_lie_within_at_the_stated_rate():
    """Three equal results and one better: a wrong claim about any pair is an error."""
    rng = np.random.default_rng(9)
    wrong = 0
    for run in range(200):
        values = rng.normal(size=(4, 10))
        values[0] += 1.0
        ranking = rank_scores(
            dict(zip("abcd", values.tolist(), strict=True)),
            measure="m",
            unit="score",
            higher_is_better=True,
            seed=run,
        )
        equal = [item for item in ranking.ranked if item.label != "a"]
        wrong += any(item.worst_rank < 4 or item.best_rank > 2 for item in equal)
    assert wrong / 200 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)


def test_lower_is_better_for_regret():
    results = [regret_result(c, seeds=tuple(range(8))) for c in ("kt", "oracle", "mixed")]
    ranking = rank_regret(results)
    assert ranking.ranked[0].label == "oracle"
    assert not ranking.higher_is_better
    assert ranking.num_episodes == 8


def test_infinite_regret_is_not_ranked():
    results = [regret_result(c, seeds=(0, 1), num_steps=60) for c in ("oracle", "reckless")]
    with pytest.raises(IncompatibleResultsError, match="reckless"):
        rank_regret(results)


def test_results_are_compared_on_the_episodes_that_all_have():
    """A result that fails on the hard episodes must not win by that."""
    full = simple_suite({"a": [50.0], "b": [10.0]}, checkpoint_name="full")
    easy = suite([*simple_suite({"a": [49.0]}).episodes, failed("b")], checkpoint_name="easy")
    ranking = rank_results([full, easy])
    assert ranking.ranked[0].label == "full"
    assert (ranking.num_episodes, ranking.num_left_out) == (1, 1)


def test_equal_names_are_told_apart_and_other_episodes_refused():
    one, other = simple_suite({"a": [50.0]}), simple_suite({"b": [50.0]})
    assert {item.label for item in rank_results([one, one]).ranked} == {
        "step00900",
        "step00900 (2)",
    }
    with pytest.raises(IncompatibleResultsError, match="different episode sets"):
        rank_results([one, other])
    with pytest.raises(ConfigurationError, match="at least two"):
        rank_results([one])


def test_composites_of_other_metrics_or_weights_are_ranked_with_a_warning():
    """Their means are of other things, and the one with the easier metrics would win unseen."""
    one = simple_suite({"a": [50.0], "b": [60.0]}, checkpoint_name="one")
    weights = {**one.configured_weights, "visual_similarity": 0.9}
    other = replace(one, checkpoint_name="other", configured_weights=weights)
    found = rank_results([one, other]).warnings
    assert "one and other were not measured alike: configured metric weights differ." in found
    same = replace(one, checkpoint_name="other")
    assert rank_results([one, same]).warnings == ("one and other are the same predictions.",)


def test_only_pairs_with_references_are_estimated_and_ranks_stay():
    """A sweep of 64 jobs has 2,016 pairs, each with its own bootstrap."""
    scores = {k: (LEVEL + s).tolist() for k, s in {"a": 0.0, "b": 4.0, "c": 2.0, "d": 1.0}.items()}
    how = {"measure": "composite", "unit": "score", "higher_is_better": True}
    few, every = rank_scores(scores, references=("a",), **how), rank_scores(scores, **how)
    assert few.ranked == every.ranked
    assert few.pairs == tuple(p for p in every.pairs if {"b", "a"} & {p.first, p.second})
