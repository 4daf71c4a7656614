from __future__ import annotations

import numpy as np
import pytest

from tests.aggregate.sweeps import flat, of_psnr, scored
from tests.records.regret_results import regret_result
from wbgpu.aggregate.ranking import rank_scores
from wbgpu.aggregate.sweep import rank_sweep
from wbgpu.errors import ConfigurationError, InputError
from wbgpu.records.sweep import LeftOut, SweepEntry

FAILED = LeftOut(9, "x=9", "sweep/9", "failed", "InputError: no such folder")


def numbers(jobs):
    return [job.job for job in jobs]


def test_the_best_is_first_and_others_are_compared_with_it():
    """With the sign turned, the worst checkpoint would be deployed."""
    low = [50, 60, 70, 40, 45, 55, 65, 35]
    jobs = [flat(0, *low), flat(1, *(s + 2 + s / 50 for s in low)), flat(2, *(s - 9 for s in low))]
    ranking = rank_sweep(jobs)
    assert numbers(ranking.jobs) == [1, 0, 2]
    assert [(job.best_rank, job.worst_rank) for job in ranking.jobs] == [(1, 1), (2, 2), (3, 3)]
    assert ranking.jobs[0].against_best is None
    change = ranking.jobs[1].against_best
    assert change.mean == pytest.approx(-2 - np.mean(low) / 50)
    assert (change.num_better, change.num_worse) == (0, 8)
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


def test_changes_are_those_of_the_ranking_of_any_results():
    """One way to rank: a sweep must not say other things of the same files than ``compare``."""
    generator = np.random.default_rng(3)
    truth = generator.normal(60, 5, 10)
    columns = {str(job): (truth - job + generator.normal(0, 2, 10)).tolist() for job in range(4)}
    whole = rank_scores(columns, measure="composite", unit="score", higher_is_better=True)
    found = rank_sweep([flat(int(job), *scores) for job, scores in columns.items()], baseline=2)
    assert [str(job.job) for job in found.jobs] == [item.label for item in whole.ranked]
    assert [(j.best_rank, j.worst_rank) for j in found.jobs] == [
        (item.best_rank, item.worst_rank) for item in whole.ranked
    ]
    pairs = {(pair.first, pair.second): pair for pair in whole.pairs}
    for job in found.jobs:
        if job.job == 2:
            continue
        change, label = job.against_baseline, str(job.job)
        is_better = (label, "2") in pairs
        pair = pairs[(label, "2") if is_better else ("2", label)]
        bounds = (pair.change.lower, pair.change.mean, pair.change.upper)
        if is_better:
            bounds = tuple(-bound for bound in reversed(bounds))
        assert (change.lower, change.mean, change.upper) == bounds
        assert change.adjusted_p_value == pair.adjusted_p_value
        word = "better" if is_better else "worse"
        assert change.standing == (word if pair.adjusted_p_value <= 0.05 else "level")


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


def test_one_episode_has_no_interval_and_ranks_nobody():
    """Two files of the same weights are not first and second."""
    ranking = rank_sweep([flat(0, 50), flat(1, 50), flat(2, 40)])
    assert {(job.best_rank, job.worst_rank) for job in ranking.jobs} == {(1, 3)}
    change = ranking.jobs[1].against_best
    assert (change.standing, change.lower, change.mean) == ("unknown", None, 0)


def test_identical_jobs_are_level():
    """No spread and no change is no evidence of a change."""
    scores = range(50, 58)
    ranking = rank_sweep([flat(0, *scores), flat(1, *scores)])
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
