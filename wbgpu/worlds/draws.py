"""Draws of episodes: uniforms keyed by (seed, step, stream), optionally by a secret as well.

Four words, a block, serve two streams. They are Philox4x32-10 with the seed as key and the counter
(step, block, 0, 0), or, with a secret, the keyed BLAKE2b digest of (seed, step, block): Philox is
fast and the same everywhere, but nobody vouches that its key cannot be found from its outcomes.
Stream v is variable v of the state; the action has a block of its own. Step 0 draws the initial
state, step t >= 1 the t-th action and its outcomes.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from wbgpu.errors import ConfigurationError
from wbgpu.worlds.philox import philox4x32, to_uniform

MAX_STEPS = 2**32 - 1
"""A step is one word of the counter."""

KEY_SIZES = range(16, 65)
"""Bytes of a secret key: fewer could be guessed, and BLAKE2b takes no more."""

_ACTION_BLOCK = 2**32 - 1
_PERSON = b"wbgpu.worlds"
_HIGH = 32

Words = npt.NDArray[np.uint64]


class EpisodeDraws:
    """Uniforms of a batch of episodes; immutable, so that copies of a world can share it.

    Args:
        seeds: B integers of 0 ... 2**64 - 1.
        key: a secret of 16 to 64 bytes: who knows seeds and world but not the secret can replay
            nothing.

    Raises:
        ConfigurationError: a seed or the key is none of these.
    """

    def __init__(self, seeds: Iterable[int], key: bytes | None = None) -> None:
        self.seeds = tuple(_checked_seed(seed) for seed in seeds)
        if not self.seeds:
            raise ConfigurationError("seeds: expected at least one seed, got none")
        self._secret = None if key is None else _checked_key(key)
        words = np.array(self.seeds, dtype=np.uint64)
        self._key = words & np.uint64(2**32 - 1), words >> np.uint64(_HIGH)

    def outcomes(self, step: int, num_variables: int) -> npt.NDArray[np.float64]:
        """Uniforms in [0, 1) for the variables at one step: float64 ``[num_variables, B]``."""
        num_blocks = (num_variables + 1) // 2
        words = self._words(step, range(num_blocks))
        uniforms = np.empty((2 * num_blocks, len(self.seeds)))
        uniforms[0::2] = to_uniform(words[0], words[1])
        uniforms[1::2] = to_uniform(words[2], words[3])
        return uniforms[:num_variables]

    def action(self, step: int) -> npt.NDArray[np.float64]:
        """Uniforms in [0, 1) for the action at one step: float64 ``[B]``."""
        words = self._words(step, [_ACTION_BLOCK])
        return to_uniform(words[0], words[1]).reshape(-1)

    def _words(self, step: int, blocks: Sequence[int]) -> Sequence[Words]:
        """The four words of each block, each ``[len(blocks), B]``."""
        if self._secret is None:
            block = np.array(blocks, dtype=np.uint64)[:, None]
            zero = np.zeros((1, 1), dtype=np.uint64)
            return philox4x32((zero + np.uint64(step), block, zero, zero), self._key)
        digests = b"".join(
            hashlib.blake2b(
                struct.pack("<QII", seed, step, block),
                key=self._secret,
                digest_size=16,
                person=_PERSON,
            ).digest()
            for block in blocks
            for seed in self.seeds
        )
        words = np.frombuffer(digests, dtype="<u4").reshape(len(blocks), len(self.seeds), 4)
        return [words[..., index].astype(np.uint64) for index in range(4)]


def _checked_seed(seed: object) -> int:
    if isinstance(seed, (bool, np.bool_)) or not isinstance(seed, (int, np.integer)):
        raise ConfigurationError(f"seeds: expected integers, got {seed!r}")
    if not 0 <= seed < 2**64:
        raise ConfigurationError(f"seeds: expected 0 <= seed < 2**64, got {seed}")
    return int(seed)


def _checked_key(key: object) -> bytes:
    if not isinstance(key, bytes):
        raise ConfigurationError(f"key: expected bytes, got {type(key).__name__}")
    if len(key) not in KEY_SIZES:
        # Its length only: a message may end in a log.
        raise ConfigurationError(
            f"key: expected {KEY_SIZES.start} to {KEY_SIZES.stop - 1} bytes, got {len(key)}"
        )
    return key
