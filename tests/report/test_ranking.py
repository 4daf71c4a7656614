"""What is said of a ranking."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from wbgpu.aggregate.ranking import rank_scores
from wbgpu.report.ranking import conclusion, ranking_report, ranking_summary

HIGH = np.random.default_rng(0).normal(60.0, 5.0, 10)


def _ranking(change):
    noise = np.random.default_rng(1).normal(0.0, 0.5, 10)
    scores = {"high": HIGH.tolist(), "low": (HIGH + change + noise).tolist()}
    return rank_scores(scores, measure="composite", unit="score", higher_is_better=True)


def _with_interval(ranking, lower, upper, p=None):
    (pair,) = ranking.pairs
    change = replace(pair.change, lower=lower, upper=upper)
    p_values = {} if p is None else {"p_value": p, "adjusted_p_value": p}
    return replace(ranking, pairs=(replace(pair, change=change, **p_values),))


def test_ahead_is_said_where_test_and_interval_agree():
    clear = _ranking(-3.0)
    assert conclusion(clear).startswith("high is ahead of low over 10 episodes, by more than")
    assert "disagree" not in ranking_summary(clear, "")
    level = _with_interval(clear, -0.5, 0.4, p=0.6)
    assert "can be chance (adjusted p 0.6)" in conclusion(level)
    assert "disagree" not in ranking_summary(level, "")


@pytest.mark.parametrize(("lower", "upper", "p"), [(-0.18, 0.07, 0.047), (-0.5, -0.1, 0.2)])
def test_where_they_disagree_neither_is_the_headline(lower, upper, p):
    """A headline of 0.047 above an interval that holds 0 lets a reader pick either."""
    ranking = _with_interval(_ranking(-3.0), lower, upper, p)
    said = conclusion(ranking)
    assert "test and interval disagree" in said
    assert "ahead of low by more than chance (adjusted p" in said
    for text in (ranking_summary(ranking, said), ranking_report(ranking, said)):
        assert "Test and interval disagree on high -> low" in text
