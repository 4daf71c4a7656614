from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.aggregate.sweeps import flat, of_psnr, scored
from tests.records.regret_results import regret_result
from wbgpu.aggregate.sweep import paired_change, rank_sweep
from wbgpu.errors import ConfigurationError, InputError
from wbgpu.records.sweep import LeftOut, SweepEntry

FAILED = LeftOut(9, "x=9", "sweep/9", "failed", "InputError: no such folder")


def numbers(jobs):
    return [job.job for job in jobs]


def test_the_best_is_first_and_others_are_compared_with_it():
    """With the sign turned, the worst checkpoint would be deployed."""
    ranking = rank_sweep([flat(0, 50, 60, 70), flat(1, 52, 61, 73), flat(2, 40, 50, 60)])
    assert numbers(ranking.jobs) == [1, 0, 2]
    assert [job.rank for job in ranking.jobs] == [1, 2, 3]
    assert ranking.jobs[0].against_best is None
    change = ranking.jobs[1].against_best
    assert (change.mean, change.num_better, change.num_worse) == (-2, 0, 3)
    assert ranking.jobs[2].against_best.standing == "worse"


def test_of_a_metric_of_errors_the_lowest_is_best():
    """KL divergence and MSE are better when smaller."""
    entries = [
        SweepEntry(job, name, name, regret_result(name, seeds=range(4)))
        for job, name in enumerate(("mixed", "oracle", "kt"))
    ]
    ranking = rank_sweep(entries)
    assert ranking.metric == "expected_regret"
    assert ranking.jobs[0].checkpoint_name == "oracle"
    assert {job.against_best.num_better for job in ranking.jobs[1:]} == {0}
    assert [len(job["regret"].changes) for job in ranking.horizons.values()] == [12, 12]


@given(
    st.lists(st.tuples(st.floats(0, 100), st.floats(0, 100)), min_size=2, max_size=12),
    st.floats(0.5, 0.999),
)
def test_the_interval_is_that_of_a_paired_t_test(pairs, level):
    """scipy's, on the differences."""
    before, after = map(list, zip(*pairs, strict=True))
    change = paired_change(before, after, higher_is_better=True, level=level)
    differences = np.subtract(after, before)
    error = stats.sem(differences)
    if error < 1e-6:
        assert change.upper - change.lower < 1e-3
        return
    lower, upper = stats.t.interval(level, len(pairs) - 1, differences.mean(), error)
    assert (change.lower, change.upper) == pytest.approx((lower, upper), rel=1e-6, abs=1e-9)
    if min(abs(lower), abs(upper)) > 1e-6:
        assert change.standing == ("better" if lower > 0 else "worse" if upper < 0 else "level")


def test_intervals_with_the_best_hold_for_all_pairs():
    """The best of many equal jobs looks better than it is: nominal intervals are too narrow."""
    entries = [flat(job, *range(job, 40 + job, 9)) for job in range(5)]
    entries.append(flat(5, 3, 14, 20, 29, 45))
    ranking = rank_sweep(entries, baseline=0)
    assert (ranking.num_best_intervals, ranking.num_baseline_intervals) == (15, 5)
    job = next(job for job in ranking.jobs if job.job == 5)
    differences = np.subtract([3, 14, 20, 29, 45], [0, 9, 18, 27, 36])
    alone = stats.t.interval(1 - 0.05 / 5, 4, differences.mean(), stats.sem(differences))
    against = job.against_baseline
    assert (against.lower, against.upper) == pytest.approx(alone, rel=1e-9)


def test_equal_jobs_are_seldom_told_apart():
    """Of sweeps over nothing but noise, at most one in twenty may name a loser."""
    generator = np.random.default_rng(0)
    wrong = 0
    for _ in range(200):
        truth = generator.normal(60, 5, 8)
        jobs = [flat(job, *(truth + generator.normal(0, 1, 8))) for job in range(4)]
        ranking = rank_sweep(jobs)
        wrong += any(job.against_best.standing == "worse" for job in ranking.jobs[1:])
    assert wrong <= 20


def test_a_true_difference_is_found():
    """The test above passes if nothing is ever told apart."""
    generator = np.random.default_rng(1)
    truth = generator.normal(60, 5, 12)
    jobs = [flat(job, *(truth - 3 * job + generator.normal(0, 1, 12))) for job in range(3)]
    standings = [job.against_best.standing for job in rank_sweep(jobs).jobs[1:]]
    assert standings == ["worse", "worse"]


def test_jobs_are_ranked_on_the_same_episodes():
    """A checkpoint that fails on the hard episodes would win."""
    ranking = rank_sweep([of_psnr(0, 20, 21, 10), of_psnr(1, 25, 26, None)], metric="psnr")
    assert numbers(ranking.jobs) == [0]
    (out,) = ranking.left_out
    assert out.job == 1
    assert "no finite value in 1 episode(s) that other jobs have: 'e2'" in out.reason


def test_an_episode_that_nobody_could_score_is_left_out_for_all():
    """One damaged ground-truth video must not empty the ranking."""
    ranking = rank_sweep([of_psnr(0, 20, 21, None), of_psnr(1, 25, 26, None)], metric="psnr")
    assert numbers(ranking.jobs) == [1, 0]
    assert ranking.episode_ids == ("e0", "e1")


def test_equal_means_share_a_rank_and_one_episode_has_no_interval():
    """Two files of the same weights are not first and second."""
    ranking = rank_sweep([flat(0, 50), flat(1, 50), flat(2, 40)])
    assert [job.rank for job in ranking.jobs] == [1, 1, 3]
    change = ranking.jobs[1].against_best
    assert (change.standing, change.lower, change.mean) == ("unknown", None, 0)


def test_identical_jobs_are_level():
    """No spread and no change is no evidence of a change."""
    ranking = rank_sweep([flat(0, 50, 60), flat(1, 50, 60)])
    assert ranking.jobs[1].against_best.standing == "level"


def test_jobs_without_a_result_are_listed_with_their_reason():
    ranking = rank_sweep([flat(0, 50, 60)], [FAILED])
    assert ranking.left_out == (FAILED,)
    with pytest.raises(InputError, match=r"job 9: failed: InputError: no such folder"):
        rank_sweep([], [FAILED])


def test_horizons_are_compared_with_the_baseline_where_there_is_one():
    entries = [scored(0, {"a": [9, 5], "b": [9, 5]}), scored(1, {"a": [8, 7], "b": [6, 7]})]
    assert rank_sweep(entries).horizons[0]["visual_similarity"].changes == (2.0, -2.0)
    ranking = rank_sweep(entries, baseline=0)
    assert ranking.horizon_reference_job == 0
    assert ranking.horizons[1]["composite"].changes == (-2.0, 2.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metric": "lpips"}, "no job has a value of 'lpips'; rank by one of: composite, visual"),
        ({"baseline": 9}, "the baseline, job 9, cannot be ranked: failed: InputError"),
        ({"level": 1.0}, "level: expected a number between 0 and 1"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(ConfigurationError, match=message):
        rank_sweep([flat(0, 50, 60)], [FAILED], **arguments)
