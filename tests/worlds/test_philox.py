from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import world_loops
from wbgpu.worlds.philox import philox4x32, to_uniform

WORDS = st.integers(0, 2**32 - 1)


def arrays(*words):
    return tuple(np.array([word], dtype=np.uint64) for word in words)


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0,) * 4, (0,) * 2, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        (
            (0xFFFFFFFF,) * 4,
            (0xFFFFFFFF,) * 2,
            (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
        ),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_known_answers_of_random123(counter, key, expected):
    """Another generator would still look random, but no other program could repeat our episodes."""
    words = philox4x32(arrays(*counter), arrays(*key))
    assert tuple(int(word[0]) for word in words) == expected


@given(st.tuples(WORDS, WORDS, WORDS, WORDS), st.tuples(WORDS, WORDS))
def test_equals_the_loop_on_integers(counter, key):
    """64-bit products that overflow, or carries that are kept, would differ for some words."""
    words = philox4x32(arrays(*counter), arrays(*key))
    assert tuple(int(word[0]) for word in words) == world_loops.philox(counter, key)


def test_broadcasts_counters_against_keys():
    """One call makes all blocks of a batch; each must be as if made alone."""
    steps = np.arange(3, dtype=np.uint64)[:, None]
    keys = np.arange(5, dtype=np.uint64)
    zero = np.zeros((1, 1), dtype=np.uint64)
    words = philox4x32((steps, zero, zero, zero), (keys, keys + np.uint64(9)))
    for step in range(3):
        for key in range(5):
            expected = world_loops.philox((step, 0, 0, 0), (key, key + 9))
            assert tuple(int(word[step, key]) for word in words) == expected


def test_uniforms_stay_below_one():
    """A uniform of 1 would lie beyond every outcome."""
    full, none = arrays(0xFFFFFFFF), arrays(0)
    assert to_uniform(*full, *full)[0] == 1 - 2.0**-53
    assert to_uniform(*none, *none)[0] == 0
    assert to_uniform(*none, *arrays(1 << 11))[0] == 2.0**-53
    assert to_uniform(*arrays(1 << 31), *none)[0] == 0.5
