from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from tests.records.golden import result
from tests.records.results import failed, simple_suite, suite
from wbgpu.aggregate.bootstrap import change_interval, paired_bootstrap
from wbgpu.aggregate.comparison import compare
from wbgpu.errors import ConfigurationError

MIXED = [-1.0, 0.5, 2.0, 3.5, -0.25]


def test_o30_intervals_are_worldbenchs(shared: Path) -> None:
    """The same seed must give the same interval in both tools, to the last bit."""
    vectors = json.loads((shared / "golden/expected/unit_vectors.json").read_text())
    assert len(vectors["bootstrap"]) == 5
    for case in vectors["bootstrap"]:
        interval = paired_bootstrap(
            case["deltas"], num_samples=case["samples"], seed=case["seed"], level=case["level"]
        )
        assert [interval.lower, interval.upper] == case["confidence_interval"]
        assert interval.mean == pytest.approx(case["paired_delta_mean"], abs=1e-12)
        assert interval.method == case["method"]


def test_the_published_checkpoints_interval(shared: Path) -> None:
    """worldbench's documented numbers on its real checkpoints."""
    folder = shared / "data/worldbench_artifacts/checkpoint_validation"
    comparison = compare(
        result(folder / "baseline_batch_result.json"),
        result(folder / "candidate_batch_result.json"),
    )
    interval = change_interval(comparison, num_samples=5000)
    assert interval is not None
    assert interval.lower == pytest.approx(0.7376864587, abs=1e-9)
    assert interval.upper == pytest.approx(2.8147977544, abs=1e-9)


def test_a_slow_loop_draws_the_same() -> None:
    """One draw after the other, as the definition reads."""
    changes = np.random.default_rng(0).normal(size=37)
    generator = np.random.default_rng(5)
    means = [changes[generator.integers(0, 37, 37)].mean() for _ in range(60_000 // 37)]
    interval = paired_bootstrap(changes.tolist(), num_samples=len(means), seed=5, level=0.8)
    assert [interval.lower, interval.upper] == np.percentile(means, [10, 90]).tolist()


def test_p60_the_seed_decides_and_is_recorded() -> None:
    """An interval that cannot be drawn again cannot be checked."""
    changes = np.random.default_rng(0).normal(size=12).tolist()
    one, again, other = (
        paired_bootstrap(changes, num_samples=500, seed=seed) for seed in (7, 7, 8)
    )
    assert one == again
    assert (one.lower, one.upper) != (other.lower, other.upper)
    assert (one.seed, other.seed) == (7, 8)


def test_p61_the_interval_brackets_the_mean_and_widens_with_the_level() -> None:
    """Tails taken at (1 - level) instead of half of it would be too narrow."""
    narrow, wide = (paired_bootstrap(MIXED, num_samples=2000, level=p) for p in (0.8, 0.99))
    assert wide.lower <= narrow.lower <= narrow.mean <= narrow.upper <= wide.upper


@pytest.mark.parametrize(
    ("changes", "num_samples", "level"),
    [
        ([], 10, 0.95),
        ([math.nan], 10, 0.95),
        ([1.0, math.inf], 10, 0.95),
        ([1.0], 0, 0.95),
        ([1.0], -5, 0.95),
        ([1.0], 10, 0.0),
        ([1.0], 10, 1.0),
        ([1.0], 10, math.nan),
    ],
)
def test_p62_what_gives_no_interval_is_refused(
    changes: list[float], num_samples: int, level: float
) -> None:
    """Else a gate would hold its limit against NaN, which passes."""
    with pytest.raises(ConfigurationError, match="bootstrap"):
        paired_bootstrap(changes, num_samples=num_samples, level=level)


def test_p53_p63_one_episode_or_equal_changes_give_a_point() -> None:
    """Rounding in the mean must not make an interval where there is no spread."""
    for changes in ([2.25], [1.5, 1.5, 1.5]):
        interval = paired_bootstrap(changes, num_samples=100)
        assert interval.lower == interval.upper == interval.mean == changes[0]


def test_no_draws_or_no_pairs_give_no_interval() -> None:
    """An interval of nothing would be an error at the end of a run, or NaN."""
    pair = simple_suite({"a": [50.0]})
    assert change_interval(compare(pair, pair), num_samples=0) is None
    nothing = suite([failed("a")])
    assert change_interval(compare(pair, nothing), num_samples=10) is None
    assert change_interval(compare(pair, pair), num_samples=10) is not None


def test_95_percent_intervals_cover_about_95_percent() -> None:
    """A gross error of the quantiles would show; 40 episodes still under-cover slightly."""
    generator = np.random.default_rng(1)
    hits = 0
    for _ in range(300):
        interval = paired_bootstrap(generator.normal(1.0, 2.0, 40).tolist(), num_samples=400)
        hits += interval.lower <= 1.0 <= interval.upper
    assert 0.89 <= hits / 300 <= 0.98
