from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.records.results import available, episode, suite
from wbgpu.aggregate.comparison import compare
from wbgpu.aggregate.horizon_tests import horizon_tests
from wbgpu.aggregate.max_t import step_down_max_t
from wbgpu.records.metric import MetricInfo

NUM_EPISODES, NUM_STEPS = 8, 3


def _pair(drop=0.0, lengths=None):
    """Two suites whose visual similarity and PSNR differ by noise, and by ``drop`` at the end."""
    rng = np.random.default_rng(5)
    sides = []
    for side in range(2):
        episodes = []
        for index in range(NUM_EPISODES):
            steps = NUM_STEPS if lengths is None else lengths[index]
            values = 60.0 + rng.normal(size=(2, NUM_STEPS))
            values[:, -1] -= drop * side
            outcomes = [
                available("visual_similarity", values[0, :steps].tolist()),
                available("psnr", values[1, :steps].tolist(), step=tuple(values[1, :steps])),
            ]
            episodes.append(episode(f"e{index}", outcomes, steps))
        sides.append(suite(episodes))
    return sides


def test_they_are_max_t_over_all_metrics_and_horizons():
    before, after = _pair(drop=3.0)
    found = horizon_tests(compare(before, after))
    assert [(t.metric, t.horizon) for t in found] == [
        (name, horizon) for name in ("visual_similarity", "psnr") for horizon in (1, 2, 3)
    ]
    table = np.array(
        [
            [
                a.metrics[t.metric].prefix[t.horizon - 1]
                - b.metrics[t.metric].prefix[t.horizon - 1]
                for t in found
            ]
            for b, a in zip(before.episodes, after.episodes, strict=True)
        ]
    )
    wanted = step_down_max_t(table)
    assert [t.change for t in found] == pytest.approx(table.mean(axis=0))
    assert [t.adjusted_p_value for t in found] == pytest.approx(wanted.adjusted_p_values)


def test_a_drop_at_one_horizon_is_found_there():
    found = horizon_tests(compare(*_pair(drop=6.0)), metrics=["visual_similarity"])
    assert [t.adjusted_p_value <= 0.05 for t in found] == [False, False, True]


def test_with_margins_only_what_is_worse_by_more_counts():
    comparison = compare(*_pair(drop=6.0))
    for margin, is_found in ((1.0, True), (20.0, False)):
        found = horizon_tests(
            comparison, metrics=["visual_similarity"], margins={"visual_similarity": margin}
        )
        assert (found[2].adjusted_p_value <= 0.025) == is_found
    gained = horizon_tests(
        compare(*_pair(drop=-6.0)),
        metrics=["visual_similarity"],
        margins={"visual_similarity": 0.0},
    )
    assert gained[2].adjusted_p_value > 0.5


def test_where_lower_is_better_a_rise_is_worse():
    """Else a loss that grows would pass, and the sign of its change would be wrong."""
    before, after = _pair(drop=-6.0)
    info = MetricInfo("psnr", "psnr/1", "nats", higher_is_better=False)
    sides = [replace(s, metric_infos={**s.metric_infos, "psnr": info}) for s in (before, after)]
    found = horizon_tests(compare(*sides), metrics=["psnr"], margins={"psnr": 0.0})
    assert found[2].change > 4.0
    assert found[2].adjusted_p_value <= 0.025


def test_the_step_view_and_short_episodes():
    """Episodes that end early count where they reach, and the rest is not tested."""
    comparison = compare(*_pair(lengths=[3, 3, 3, 3, 3, 2, 2, 1]))
    found = horizon_tests(comparison, view="step")
    assert {t.metric for t in found} == {"psnr"}
    assert [t.num_episodes for t in found] == [8, 7, 5]
    assert [t.adjusted_p_value is None for t in found] == [False, False, True]


def test_nothing_measured_is_nothing_tested():
    comparison = compare(*_pair())
    assert horizon_tests(comparison, metrics=[]) == ()
