"""Philox4x32-10, a counter-based random generator, over whole arrays.

A block of four 32-bit words is a pure function of a counter and a key, so that any draw can be made
alone, in any order and in any batch: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
easy as 1, 2, 3", SC 2011. Integer arithmetic only, hence the same words on every platform; equal to
Random123's and to cuRAND's Philox4x32-10 blocks.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
"""32-bit words, one per 64-bit element, because products of two must fit."""

_NUM_ROUNDS = 10
_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_KEY_INCREMENTS = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)
_WORD = np.uint64(32)
_UNUSED = np.uint64(11)


def philox4x32(
    counter: tuple[Words, Words, Words, Words], key: tuple[Words, Words]
) -> tuple[Words, Words, Words, Words]:
    """Ten rounds of Philox4x32.

    Args:
        counter: four arrays of words below 2**32; they and the key broadcast against each other.
        key: two arrays of words below 2**32.

    Returns:
        Four arrays of words below 2**32.
    """
    word0, word1, word2, word3 = counter
    key0, key1 = key
    for index in range(_NUM_ROUNDS):
        if index:
            key0 = (key0 + _KEY_INCREMENTS[0]) & _LOW
            key1 = (key1 + _KEY_INCREMENTS[1]) & _LOW
        product0 = word0 * _MULTIPLIERS[0]
        product2 = word2 * _MULTIPLIERS[1]
        word0 = (product2 >> _WORD) ^ word1 ^ key0
        word2 = (product0 >> _WORD) ^ word3 ^ key1
        word1 = product2 & _LOW
        word3 = product0 & _LOW
    return word0, word1, word2, word3


def to_uniform(high: Words, low: Words) -> npt.NDArray[np.float64]:
    """Multiples of 2**-53 in [0, 1), from the upper 53 of 64 bits."""
    bits = ((high << _WORD) | low) >> _UNUSED
    uniform: npt.NDArray[np.float64] = bits.astype(np.float64) * 2.0**-53
    return uniform
