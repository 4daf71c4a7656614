from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from wbgpu.aggregate.intervals import mean_interval
from wbgpu.aggregate.paired_sample import PairedSample
from wbgpu.errors import ConfigurationError

SKEWED = np.random.default_rng(0).exponential(size=14).tolist()


def test_student_t_is_scipys():
    found = mean_interval(PairedSample.of(SKEWED), method="student_t", level=0.9)
    wanted = stats.t.interval(0.9, 13, loc=np.mean(SKEWED), scale=stats.sem(SKEWED))
    assert (found.lower, found.upper) == pytest.approx(wanted)
    assert (found.method, found.num_units) == ("student_t", 14)


def test_bootstrap_t_by_a_slow_loop():
    """One draw after the other; quantiles change sides on the way from t to the mean."""
    generator = np.random.default_rng(3)
    values = np.array(SKEWED)
    statistics = []
    for _ in range(999):
        drawn = values[generator.integers(0, 14, 14)]
        statistics.append((drawn.mean() - values.mean()) / stats.sem(drawn))
    low, high = np.quantile(statistics, [0.025, 0.975])
    found = mean_interval(PairedSample.of(SKEWED), method="bootstrap_t", num_draws=999, seed=3)
    wanted = (
        values.mean() - high * stats.sem(values),
        values.mean() - low * stats.sem(values),
    )
    assert (found.lower, found.upper) == pytest.approx(wanted)


def test_conservative_is_the_farther_end_of_both():
    sample = PairedSample.of(SKEWED)
    both = [mean_interval(sample, method=m, seed=1) for m in ("student_t", "bootstrap_t")]
    found = mean_interval(sample, seed=1)
    assert found.lower == min(one.lower for one in both)
    assert found.upper == max(one.upper for one in both)
    assert found.method == "conservative"


def test_the_seed_decides_and_the_callers_generator_is_left_alone():
    np.random.seed(5)
    before = np.random.get_state()[1].tolist()
    sample = PairedSample.of(SKEWED)
    one, again, other = (mean_interval(sample, seed=seed) for seed in (1, 1, 2))
    assert one == again
    assert one.upper != other.upper
    assert np.random.get_state()[1].tolist() == before


@pytest.mark.parametrize("changes", [[1.0, 2.0], [0.0, 0.0, 1.0], [0.0] * 9 + [1.0]])
def test_where_draws_have_no_spread_it_is_students(changes):
    """A quantile over infinities would be one, or nonsense."""
    sample = PairedSample.of(changes)
    found = mean_interval(sample)
    assert found == mean_interval(sample, method="student_t")


def test_equal_changes_give_a_point_and_one_change_gives_none():
    point = mean_interval(PairedSample.of([0.25] * 5))
    assert (point.lower, point.upper) == (0.25, 0.25)
    alone = mean_interval(PairedSample.of([0.25]))
    assert (alone.mean, alone.lower, alone.upper, alone.method) == (0.25, None, None, "none")


def test_clusters_make_it_wider():
    """Episodes that repeat their scene's change tell as much as the scene does."""
    values = np.repeat(SKEWED, 4)
    free = mean_interval(PairedSample.of(values.tolist()))
    tied = mean_interval(PairedSample.of(values.tolist(), np.repeat(range(14), 4).tolist()))
    assert tied.upper - tied.lower > 1.5 * (free.upper - free.lower)
    assert (tied.num_episodes, tied.num_units) == (56, 14)


@pytest.mark.parametrize(
    "arguments", [{"method": "magic"}, {"level": 1.0}, {"level": 0.0}, {"num_draws": 10}]
)
def test_wrong_arguments_are_refused(arguments):
    with pytest.raises(ConfigurationError, match="expected"):
        mean_interval(PairedSample.of([1.0]), **arguments)


DRAWS = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "exponential": lambda rng, shape: rng.exponential(size=shape) - 1.0,
    "t3": lambda rng, shape: rng.standard_t(3, size=shape),
}


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("size", [10, 20, 50])
def test_coverage_is_close_to_what_is_stated(name, size):
    """scripts/simulate_gate.py with fewer runs: 0.93 to 0.97, and 3 standard errors for chance."""
    num_runs = 500
    noise = DRAWS[name](np.random.default_rng([7, size]), (num_runs, size))
    hits = 0
    for run, changes in enumerate(noise):
        found = mean_interval(PairedSample.of(changes.tolist()), num_draws=299, seed=run)
        hits += found.lower <= 0.0 <= found.upper
    slack = 3 * np.sqrt(0.05 * 0.95 / num_runs)
    assert 0.93 - slack <= hits / num_runs <= 0.97 + slack


@pytest.mark.parametrize("sizes", [[5] * 6, [20, 1, 1, 1, 1, 1], [10, 5, 4, 3, 2, 1], [9, 1]])
def test_a_cluster_with_most_of_the_episodes_makes_nothing_sure(sizes):
    """Such a cluster pulls the mean to its own, which looked like precision: of [20, 1, 1, 1, 1, 1]
    15 % of unchanged candidates failed."""
    generator = np.random.default_rng(0)
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    missed = 0
    for _ in range(400):
        own = generator.normal(size=len(sizes))
        changes = own[clusters] + 0.3 * generator.normal(size=len(clusters))
        sample = PairedSample.of(changes.tolist(), clusters.tolist())
        found = mean_interval(sample, method="student_t")
        missed += not found.lower <= 0.0 <= found.upper
    assert missed / 400 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)
