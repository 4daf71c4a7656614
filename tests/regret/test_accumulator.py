"""Prequential sums over episodes: against a loop, in any batch, with what is infinite set apart."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wbgpu.errors import ConfigurationError
from wbgpu.records.world import Variable
from wbgpu.regret import RegretAccumulator, log_softmax

VARIABLES = (Variable("place", ("a", "b", "c")), Variable("lamp", ("off", "on")))


def play(seed, num_steps, batch_size, *, zero=0.0):
    """Random steps: forecasts, outcomes that the truth allows, truths. ``zero`` of them are 0."""
    generator = np.random.default_rng(seed)
    steps = []
    for _ in range(num_steps):
        forecast, outcome, truth = [], [], []
        for variable in VARIABLES:
            shape = (batch_size, variable.num_outcomes)
            rows = [generator.dirichlet(np.ones(shape[1]), batch_size) for _ in range(2)]
            is_out = generator.random(shape) < zero
            is_out[:, 0] = False
            forecast.append(np.where(is_out, 0.0, rows[0]))
            forecast[-1] /= forecast[-1].sum(axis=1, keepdims=True)
            truth.append(rows[1])
            outcome.append(generator.integers(0, shape[1], batch_size))
        steps.append((forecast, np.stack(outcome, 1), truth))
    return steps


def accumulated(steps, rows, num_steps=None):
    accumulator = RegretAccumulator(VARIABLES, len(rows))
    for forecast, outcome, truth in steps[:num_steps]:
        accumulator.update([f[rows] for f in forecast], outcome[rows], [t[rows] for t in truth])
    return accumulator.episodes(list(rows))


def losses_of_one(steps, row):
    """Log-loss, reference loss and KL of each step and variable, one number at a time."""
    table = []
    for forecast, outcome, truth in steps:
        for v in range(len(VARIABLES)):
            y, q, p = outcome[row, v], forecast[v][row], truth[v][row]
            loss = -math.log(q[y]) if q[y] > 0 else math.inf
            kl = math.fsum(
                a * (math.log(a) - math.log(b)) if b > 0 else math.inf
                for a, b in zip(p, q, strict=True)
                if a > 0
            )
            table.append((loss, -math.log(p[y]), kl))
    return np.array(table).reshape(len(steps), len(VARIABLES), 3)


def test_is_what_a_loop_says():
    steps = play(0, 20, 4)
    for row, episode in enumerate(accumulated(steps, range(4))):
        table = losses_of_one(steps, row)
        loss, reference, kl = table.sum(axis=(0, 1))
        totals = episode.totals
        assert totals.log_loss_nats == pytest.approx(loss, rel=1e-12)
        assert totals.reference_loss_nats == pytest.approx(reference, rel=1e-12)
        assert totals.cumulative_regret_nats == pytest.approx(loss - reference, rel=1e-10)
        assert totals.expected_regret_nats == pytest.approx(kl, rel=1e-12)
        regret = (table[..., 0] - table[..., 1]).sum(axis=1)
        np.testing.assert_allclose(episode.step_regret_nats, regret, rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(
            episode.step_expected_regret_nats, table[..., 2].sum(axis=1), rtol=1e-10
        )
        for v, variable in enumerate(VARIABLES):
            part = episode.per_variable[variable.name]
            assert part.log_loss_nats == pytest.approx(table[:, v, 0].sum(), rel=1e-12)
            assert part.expected_regret_nats == pytest.approx(table[:, v, 2].sum(), rel=1e-12)


@given(st.integers(0, 2**32), st.permutations(range(6)), st.integers(1, 6), st.floats(0, 0.5))
def test_episodes_do_not_depend_on_their_batch(seed, order, size, zero):
    """Bit for bit, in any order and in batches of any size, with infinite losses among them."""
    steps = play(seed, 5, 6, zero=zero)
    whole = {episode.seed: episode for episode in accumulated(steps, range(6))}
    for start in range(0, 6, size):
        for episode in accumulated(steps, list(order)[start : start + size]):
            assert episode == whole[episode.seed]


@given(st.integers(0, 2**32), st.integers(1, 9))
def test_episodes_concatenate_and_factors_add(seed, cut):
    """The chain rule: an episode costs what its two parts cost, and what its variables cost."""
    steps = play(seed, 10, 1)
    (whole,) = accumulated(steps, [0])
    (first,), (second,) = accumulated(steps[:cut], [0]), accumulated(steps[cut:], [0])
    assert whole.step_regret_nats == first.step_regret_nats + second.step_regret_nats
    for key in (
        "cumulative_regret_nats",
        "expected_regret_nats",
        "reference_loss_nats",
        "log_loss_nats",
    ):
        total = getattr(whole.totals, key)
        parts = getattr(first.totals, key) + getattr(second.totals, key)
        assert total == pytest.approx(parts, rel=1e-9, abs=1e-12)
        factors = math.fsum(getattr(part, key) for part in whole.per_variable.values())
        assert total == pytest.approx(factors, rel=1e-9, abs=1e-12)


def test_a_factorised_vocabulary_in_closed_form():
    """Losses of the factors add: uniform over 2 x 512 costs 12.4766493 nats."""
    tokens = tuple(Variable(name, tuple(map(str, range(512)))) for name in ("coarse", "fine"))
    accumulator = RegretAccumulator(tokens, 1)
    uniform, certain = np.full((1, 512), 1 / 512), np.eye(512)[[7]]
    accumulator.update([uniform] * 2, np.array([[7, 7]]), [certain] * 2)
    (episode,) = accumulator.episodes([0])
    for value in (episode.totals.log_loss_nats, episode.totals.expected_regret_nats):
        assert value == pytest.approx(12.4766493, abs=1e-7)


@pytest.mark.parametrize(("added", "expected"), [(1.0, 7.1853870), (0.5, 7.5138046)])
def test_codelengths_of_counting_in_closed_form(added, expected):
    """Laplace and KT over 10 flips with 7 heads, whatever their order."""
    coin = (Variable("coin", ("tails", "heads")),)
    for order in range(20):
        flips = np.random.default_rng(order).permutation([1] * 7 + [0] * 3)
        accumulator, counts = RegretAccumulator(coin, 1), np.zeros(2)
        for flip in flips:
            forecast = (counts + added) / (counts.sum() + 2 * added)
            accumulator.update([forecast[None]], np.array([[flip]]), [[[0.3, 0.7]]])
            counts[flip] += 1
        (episode,) = accumulator.episodes([0])
        assert episode.totals.log_loss_nats == pytest.approx(expected, abs=1e-7)


def test_what_is_infinite_is_counted_and_the_finite_part_kept():
    """Not clamped, not dropped, and not spread over the other steps."""
    accumulator = RegretAccumulator(VARIABLES, 2)
    sure, half = [[1.0, 0.0]] * 2, [[0.5, 0.5]] * 2
    place = [[0.5, 0.25, 0.25]] * 2
    # Row 0: the lamp goes on, which the forecast rules out. Row 1: it could have.
    accumulator.update([place, sure], np.array([[0, 1], [0, 0]]), [place, half])
    accumulator.update([place, half], np.array([[0, 1], [0, 0]]), [place, half])
    # Nothing is lost where the truth rules it out as well.
    accumulator.update([place, sure], np.array([[1, 0], [1, 0]]), [place, sure])
    lost, spared = accumulator.episodes([3, 4])
    assert lost.totals.num_infinite == lost.totals.num_infinite_expected == 1
    assert lost.totals.cumulative_regret_nats == lost.totals.log_loss_nats == math.inf
    assert lost.totals.finite_regret_nats == 0.0
    assert lost.step_regret_nats == (math.inf, 0.0, 0.0)
    assert lost.step_expected_regret_nats == (math.inf, 0.0, 0.0)
    assert lost.per_variable["lamp"].num_infinite == 1
    assert lost.per_variable["place"].num_infinite == 0
    assert spared.totals.num_infinite == 0
    assert spared.totals.num_infinite_expected == 1
    assert spared.totals.cumulative_regret_nats == pytest.approx(-math.log(2))
    assert spared.totals.expected_regret_nats == math.inf


def test_log_probabilities_reach_further_than_probabilities():
    """A gap of 1e4 between logits is a loss of 1e4 nats, not an infinite one."""
    coin = (Variable("coin", ("tails", "heads")),)
    accumulator = RegretAccumulator(coin, 1)
    logs = log_softmax([[0.0, -1e4]])
    accumulator.update([logs], np.array([[1]]), [[[0.5, 0.5]]], forecast_is_log=True)
    (episode,) = accumulator.episodes([0])
    assert episode.totals.log_loss_nats == 1e4
    assert episode.totals.num_infinite == 0
    assert episode.totals.expected_regret_nats == pytest.approx(5e3 - math.log(2))


GOOD = ([[0.5, 0.25, 0.25]], [[0.5, 0.5]])


@pytest.mark.parametrize(
    ("forecast", "outcome", "truth", "message"),
    [
        (([[0.5, 0.5, 0.5]], GOOD[1]), [[0, 0]], GOOD, "forecast of 'place', row 0: the prob"),
        ((GOOD[0], [[-0.5, 1.5]]), [[0, 0]], GOOD, "forecast of 'lamp', row 0: outcome 0"),
        ((GOOD[0], [[math.nan, 1.0]]), [[0, 0]], GOOD, "forecast of 'lamp', row 0: outcome 0"),
        ((GOOD[0], [[0.5, 0.25, 0.25]]), [[0, 0]], GOOD, "forecast of 'lamp': expected 2 outcomes"),
        ((GOOD[0], [[0.5, 0.5]] * 2), [[0, 0]], GOOD, r"forecast of 'lamp': expected the shape"),
        (GOOD[:1], [[0, 0]], GOOD, "forecast: expected 2 variables, got 1"),
        (GOOD, [[0, 0]], (GOOD[0], [[0.5, 0.4]]), "truth of 'lamp', row 0: the probabilities"),
        (GOOD, [[0, 0]], GOOD[:1], "truth: expected 2 variables, got 1"),
        (GOOD, [[3, 0]], GOOD, "outcome of 'place', row 0: expected 0 to 2, got 3"),
        (GOOD, [[0, 0, 0]], GOOD, r"outcome: expected the shape \[1, 2\]"),
        (GOOD, [[0.0, 0.0]], GOOD, "outcome of 'place': expected integers"),
        (GOOD, [[0, 1]], (GOOD[0], [[1.0, 0.0]]), "truth of 'lamp', row 0: .* 'on', which happ"),
    ],
)
def test_what_is_wrong_is_refused_by_name_and_counts_nothing(forecast, outcome, truth, message):
    accumulator = RegretAccumulator(VARIABLES, 1)
    with pytest.raises(ConfigurationError, match=message):
        accumulator.update(forecast, np.array(outcome), truth)
    assert accumulator.num_steps == 0
    accumulator.update(GOOD, np.array([[0, 0]]), GOOD)
    (episode,) = accumulator.episodes([0])
    assert episode.totals.log_loss_nats == pytest.approx(2 * math.log(2))


@pytest.mark.parametrize("logs", [[[0.0, 0.0]], [[math.nan, 0.0]], [[math.inf, 0.0]], [[0, -1e91]]])
def test_what_is_no_log_probabilities_is_refused(logs):
    accumulator = RegretAccumulator((Variable("coin", ("a", "b")),), 1)
    with pytest.raises(ConfigurationError, match="forecast of 'coin', row 0"):
        accumulator.update([logs], np.array([[0]]), [[[0.5, 0.5]]], forecast_is_log=True)


def test_wrong_use_is_refused():
    with pytest.raises(ConfigurationError, match="batch_size"):
        RegretAccumulator(VARIABLES, 0)
    accumulator = RegretAccumulator(VARIABLES, 1)
    with pytest.raises(ConfigurationError, match="no step"):
        accumulator.episodes([0])
    with pytest.raises(ConfigurationError, match="expected 1, got 2"):
        accumulator.episodes([0, 1])
