from __future__ import annotations

from dataclasses import replace

import pytest

from tests.records.regret_results import regret_result
from tests.records.results import available, episode, simple_suite, suite
from wbgpu.aggregate.comparison import compare
from wbgpu.aggregate.evidence import (
    Weighing,
    composite_evidence,
    metric_evidence,
    regret_evidence,
)
from wbgpu.aggregate.intervals import mean_interval
from wbgpu.aggregate.paired_sample import PairedSample
from wbgpu.aggregate.regret_comparison import compare_regret
from wbgpu.errors import ConfigurationError, IncompatibleResultsError
from wbgpu.records.metric import MetricInfo

CHANGES = [0.5, -1.25, 3.0, 0.25, 2.5, -0.75, 1.0]
BASELINE = simple_suite({f"s{i // 2}/e{i}": [50.0] for i in range(7)})
CANDIDATE = simple_suite({f"s{i // 2}/e{i}": [50.0 + c] for i, c in enumerate(CHANGES)})
COMPARISON = compare(BASELINE, CANDIDATE)


def test_the_composite_over_its_episodes():
    found = composite_evidence(COMPARISON, margin=1.0)
    assert found.estimate == mean_interval(PairedSample.of([c.change for c in COMPARISON.episodes]))
    assert (found.baseline, found.candidate) == (50.0, pytest.approx(50.0 + 5.25 / 7))
    assert found.sequential is None
    assert found.is_within == (found.estimate.lower >= -1.0)


@pytest.mark.parametrize(
    ("margin", "is_within", "is_beyond"), [(0.0, False, False), (5.0, True, False)]
)
def test_within_beyond_or_neither(margin, is_within, is_beyond):
    found = composite_evidence(COMPARISON, margin=margin)
    assert (found.is_within, found.is_beyond) == (is_within, is_beyond)
    worse = composite_evidence(compare(CANDIDATE, BASELINE), margin=margin)
    assert not worse.is_beyond


def test_the_sides_are_not_mixed_up():
    dropped = simple_suite({f"s{i // 2}/e{i}": [40.0 + 0.1 * i] for i in range(7)})
    found = composite_evidence(compare(BASELINE, dropped), margin=1.0)
    assert (found.is_beyond, found.is_within) == (True, False)
    assert found.p_worse == 1 / 2**7
    gained = composite_evidence(compare(dropped, BASELINE), margin=1.0)
    assert (gained.is_beyond, gained.is_within) == (False, True)


def test_clusters_count_as_units_and_must_be_complete():
    clusters = {c.episode_id: c.episode_id.partition("/")[0] for c in COMPARISON.episodes}
    found = composite_evidence(COMPARISON, margin=1.0, weighing=Weighing(clusters=clusters))
    assert (found.estimate.num_units, found.estimate.num_episodes) == (4, 7)
    del clusters["s0/e0"]
    with pytest.raises(IncompatibleResultsError, match="'s0/e0'"):
        composite_evidence(COMPARISON, margin=1.0, weighing=Weighing(clusters=clusters))


def test_more_episodes_are_asked_for_by_whole_clusters():
    """A cluster brings as many episodes as it has on average."""
    ids = [c.episode_id for c in COMPARISON.episodes]
    alone = composite_evidence(COMPARISON, margin=1.0)
    tied = composite_evidence(
        COMPARISON, margin=1.0, weighing=Weighing(clusters={i: i for i in ids})
    )
    assert tied.episodes_to_clear == alone.episodes_to_clear
    assert composite_evidence(COMPARISON, margin=0.0).episodes_to_clear is None


def _losses(values):
    info = MetricInfo("log_loss", "log_loss/1", "nats per token", higher_is_better=False)
    visual = [available("visual_similarity", [50.0])] * len(values)
    episodes = [
        episode(f"e{i}", [visual[i], available("log_loss", [v])], 1) for i, v in enumerate(values)
    ]
    made = suite(episodes)
    return replace(made, metric_infos={**made.metric_infos, "log_loss": info})


def test_a_loss_that_rises_is_worse_and_has_an_e_process():
    before = _losses([2.0 + 0.1 * i for i in range(12)])
    after = _losses([2.3 + 0.1 * i + 0.01 * (i % 3) for i in range(12)])
    found = metric_evidence(compare(before, after), "log_loss", margin=0.1)
    assert found.is_beyond
    assert found.estimate.mean > 0
    assert found.p_worse == 1 / 2**12
    assert found.sequential.e_worse > found.sequential.e_better
    better = metric_evidence(compare(after, before), "log_loss", margin=0.1)
    assert better.is_within


def test_a_metric_that_nobody_measured_is_named():
    with pytest.raises(ConfigurationError, match="'lpips'"):
        metric_evidence(COMPARISON, "lpips", margin=0.1)


def test_regret_is_per_step_and_paired_by_seed():
    seeds = tuple(range(8))
    sides = [regret_result(c, seeds=seeds) for c in ("oracle", "mixed")]
    found = regret_evidence(compare_regret(*sides), margin=0.0)
    assert found.is_beyond
    assert found.candidate == pytest.approx(sides[1].expected_regret_per_step.mean)
    assert found.unit == "nats per step"
    assert not regret_evidence(compare_regret(*sides[::-1]), margin=0.0).is_beyond


def test_infinite_regret_has_no_evidence():
    sides = [regret_result(c, seeds=tuple(range(8)), num_steps=60) for c in ("oracle", "reckless")]
    assert regret_evidence(compare_regret(*sides), margin=0.0) is None
