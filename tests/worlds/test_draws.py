from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import world_loops
from wbgpu.errors import ConfigurationError
from wbgpu.worlds.draws import MAX_STEPS, EpisodeDraws

SEEDS = [0, 1, 2**32, 2**64 - 1]
KEY = bytes(range(32))


@given(
    st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=4),
    st.integers(0, MAX_STEPS),
    st.integers(1, 7),
)
def test_equals_the_loop_on_integers(seeds, step, num_variables):
    """The draw of a stream must depend on seed, step and stream, and on nothing else."""
    draws = EpisodeDraws(seeds)
    uniforms, actions = draws.outcomes(step, num_variables), draws.action(step)
    for row, seed in enumerate(seeds):
        assert actions[row] == world_loops.uniform(seed, step, "action")
        for stream in range(num_variables):
            assert uniforms[stream, row] == world_loops.uniform(seed, step, stream)


@pytest.mark.parametrize("key", [None, KEY])
def test_are_uniform_and_uncorrelated(key):
    """Streams, steps or seeds that share draws would make outcomes depend on each other."""
    draws = EpisodeDraws(range(2000), key)
    columns = np.stack(
        [*draws.outcomes(1, 5), draws.action(1), *draws.outcomes(2, 5), draws.action(2)]
    )
    assert np.abs(columns.mean(axis=1) - 0.5).max() < 0.03
    assert np.abs(columns.var(axis=1) - 1 / 12).max() < 0.01
    assert np.abs(np.corrcoef(columns) - np.eye(12)).max() < 0.11
    shifted = np.corrcoef(columns[0, 1:], columns[0, :-1])[0, 1]
    assert abs(shifted) < 0.11


def test_a_key_changes_every_draw_and_a_seed_does_too():
    """Who knows world and seeds, or another key, must not be able to replay episodes."""
    public = EpisodeDraws(SEEDS).outcomes(3, 4)
    secret = EpisodeDraws(SEEDS, KEY).outcomes(3, 4)
    other = EpisodeDraws(SEEDS, KEY[:-1] + b"x").outcomes(3, 4)
    assert len({*public.ravel(), *secret.ravel(), *other.ravel()}) == 3 * public.size
    np.testing.assert_array_equal(secret, EpisodeDraws(SEEDS, KEY).outcomes(3, 4))


def test_keyed_draws_are_digests_of_seed_step_and_block():
    """A restarted server must go on with the same outcomes, and so must its successor."""
    uniforms = EpisodeDraws(SEEDS, KEY).outcomes(3, 3)
    for row, seed in enumerate(SEEDS):
        for stream in range(3):
            message = seed.to_bytes(8, "little") + bytes([3, 0, 0, 0, stream // 2, 0, 0, 0])
            digest = hashlib.blake2b(message, key=KEY, digest_size=16, person=b"wbgpu.worlds")
            half = digest.digest()[8 * (stream % 2) :][:8]
            high, low = (int.from_bytes(word, "little") for word in (half[:4], half[4:]))
            assert uniforms[stream, row] == (high << 32 | low) // 2**11 / 2**53


@pytest.mark.parametrize("key", [None, KEY])
def test_a_draw_does_not_depend_on_the_others(key):
    """More variables or more episodes must not change a stream."""
    whole = EpisodeDraws(SEEDS, key)
    for row, seed in enumerate(SEEDS):
        alone = EpisodeDraws([seed], key)
        assert alone.action(9)[0] == whole.action(9)[row]
        np.testing.assert_array_equal(alone.outcomes(9, 2)[:, 0], whole.outcomes(9, 5)[:2, row])


@pytest.mark.parametrize("seed", [-1, 2**64, 1.0, True, "1", np.float64(2), np.int64(-5)])
def test_refuses_other_seeds(seed):
    """A seed that is cut to 64 bits silently would give two seeds one episode."""
    with pytest.raises(ConfigurationError, match="seeds: expected"):
        EpisodeDraws([0, seed])


def test_takes_numpy_integers():
    """Seeds often come from np.arange."""
    assert EpisodeDraws(np.arange(3)).seeds == (0, 1, 2)
    assert EpisodeDraws(np.array([2**64 - 1], dtype=np.uint64)).seeds == (2**64 - 1,)


def test_refuses_no_seeds():
    with pytest.raises(ConfigurationError, match="at least one seed"):
        EpisodeDraws([])


@pytest.mark.parametrize("key", [b"", b"0123456789abcde", bytes(65), "0123456789abcdef", 5])
def test_refuses_weak_or_wrong_keys_and_does_not_show_them(key):
    """An error may end in a log; the key must not."""
    with pytest.raises(ConfigurationError, match="key: expected") as raised:
        EpisodeDraws([0], key)
    assert "abcde" not in str(raised.value)
