"""Which rank evaluates which episodes. Imports no torch."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from contextlib import suppress

from wbgpu.episodes.pairing import EpisodePair


def shards(costs: Mapping[int, int], num_shards: int) -> list[list[int]]:
    """Deal episodes out by cost: the dearest first, each to the shard that has least so far.

    No shard costs more than 4/3 of what the best possible partition's dearest one does (Graham,
    "Bounds on multiprocessing timing anomalies", 1969). Every episode is in exactly one shard;
    some shards are empty where there are fewer episodes than shards.

    Args:
        costs: of each episode, by its index.
        num_shards: at least 1.

    Returns:
        Rising indices of each shard; the same for the same arguments.
    """
    loads = [(0, shard) for shard in range(num_shards)]
    dealt: list[list[int]] = [[] for _ in range(num_shards)]
    for index in sorted(costs, key=lambda index: (-costs[index], index)):
        load, shard = loads[0]
        dealt[shard].append(index)
        # Something for each: episodes that cost nothing shall not all go to one.
        heapq.heapreplace(loads, (load + max(1, costs[index]), shard))
    return [sorted(indices) for indices in dealt]


def episode_cost(pair: EpisodePair) -> int:
    """Bytes of the episode's files, to which the time of decoding is roughly proportional.

    Frames would say more, but counting them opens every file. One that cannot be read costs nothing
    here, and fails where it is evaluated.
    """
    num_bytes = 0
    for path in (*pair.ground_truth.files, *pair.prediction.files):
        with suppress(OSError):
            num_bytes += path.stat().st_size
    return num_bytes
