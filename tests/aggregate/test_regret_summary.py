"""Means, standard errors and intervals over episodes, against NumPy and SciPy."""

from __future__ import annotations

import dataclasses
import math
import random

import numpy as np
import pytest
from scipy import stats

from tests.records.regret_results import regret_result
from wbgpu.aggregate.regret_summary import summarize_regret, t_interval
from wbgpu.errors import ConfigurationError

FACTS = {
    "producer": "p",
    "created_at": "c",
    "world": "w",
    "world_sha256": "s",
    "contestant": "c",
}


def test_both_views_of_every_horizon():
    """prefix: the sum over steps 1..h; step: step h alone; each as a mean over episodes."""
    result = regret_result()
    for kind, steps in (
        ("regret", np.array([e.step_regret_nats for e in result.episodes])),
        ("expected_regret", np.array([e.step_expected_regret_nats for e in result.episodes])),
    ):
        for horizon in result.horizons:
            h = horizon.horizon
            for view, values in (("prefix", steps[:, :h].sum(axis=1)), ("step", steps[:, h - 1])):
                estimate = getattr(horizon, f"{view}_{kind}")
                assert estimate.mean == pytest.approx(values.mean(), rel=1e-12, abs=1e-15)
                error = stats.sem(values)
                assert estimate.standard_error == pytest.approx(error, rel=1e-9, abs=1e-15)
                assert (estimate.count, estimate.num_infinite) == (3, 0)
                assert estimate.finite_mean == estimate.mean


def test_interval_is_students():
    values = [0.3, 0.9, -0.2, 0.4]
    interval = t_interval(values, 0.9)
    low, high = stats.t.interval(0.9, 3, loc=np.mean(values), scale=stats.sem(values))
    assert (interval.lower, interval.upper) == (pytest.approx(low), pytest.approx(high))
    assert interval.mean == pytest.approx(0.35)


def test_intervals_are_per_step():
    result = regret_result()
    assert result.regret_per_step.mean == pytest.approx(result.cumulative_regret_nats / 12)
    assert result.expected_regret_per_step.mean == pytest.approx(result.expected_regret_nats / 12)


def test_one_episode_has_no_interval():
    result = regret_result(seeds=(7,))
    assert result.regret_per_step.lower is result.regret_per_step.upper is None
    assert result.horizons[0].step_regret.standard_error is None


def test_an_infinite_step_makes_that_step_and_all_prefixes_from_it_infinite():
    """And leaves the steps after it finite, where nothing was lost."""
    steps = np.arange(36.0).reshape(3, 12)
    steps[0, [4, 7]] = steps[2, 5] = math.inf
    episodes = [
        dataclasses.replace(episode, step_expected_regret_nats=tuple(row))
        for episode, row in zip(regret_result().episodes, steps.tolist(), strict=True)
    ]
    result = summarize_regret(episodes, **FACTS)
    for horizon in result.horizons:
        h = horizon.horizon
        lost = np.isinf(steps[:, :h]).any(axis=1)
        assert horizon.prefix_expected_regret.num_infinite == lost.sum()
        assert math.isinf(horizon.prefix_expected_regret.mean) == lost.any()
        assert horizon.step_expected_regret.num_infinite == np.isinf(steps[:, h - 1]).sum()
        finite = np.where(np.isinf(steps), 0, steps)[:, :h].sum(axis=1).mean()
        assert horizon.prefix_expected_regret.finite_mean == pytest.approx(finite)
    infinite = [h.horizon for h in result.horizons if math.isinf(h.step_expected_regret.mean)]
    assert infinite == [5, 6, 8]


def test_order_changes_no_bit():
    episodes = list(regret_result(seeds=tuple(range(20))).episodes)
    first = summarize_regret(episodes, **FACTS)
    random.Random(0).shuffle(episodes)
    second = summarize_regret(episodes, **FACTS)
    assert dataclasses.replace(second, episodes=first.episodes) == first


def test_what_does_not_belong_together_is_refused():
    (one, two, _), (longer, *_) = regret_result().episodes, regret_result(num_steps=13).episodes
    (other, *_) = regret_result(world="markov_chain").episodes
    for episodes, message in (
        ([], "at least one episode"),
        ([one, one], "the seed 0 stands twice"),
        ([two, longer], "seed 0: expected 12 steps as seed 1 has, got"),
        ([two, other], "seed 0: expected the variables belt, lamp, got lamp"),
        (
            [dataclasses.replace(one, step_regret_nats=(), step_expected_regret_nats=())],
            "at least one step",
        ),
    ):
        with pytest.raises(ConfigurationError, match=message):
            summarize_regret(episodes, **FACTS)
