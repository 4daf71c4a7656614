from __future__ import annotations

import itertools
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from wbgpu.episodes.pairing import Episode
from wbgpu.evaluation.sharding import episode_cost, shards
from wbgpu.records.clip import Clip

COSTS = st.dictionaries(st.integers(0, 99), st.integers(0, 1000), max_size=7)


@given(COSTS, st.integers(1, 4))
def test_every_episode_is_in_exactly_one_shard(costs: dict[int, int], num_shards: int) -> None:
    """A sampler that pads would count some episodes twice, and lose none of them noticeably."""
    dealt = shards(costs, num_shards)
    assert len(dealt) == num_shards
    assert sorted(itertools.chain(*dealt)) == sorted(costs)
    assert all(shard == sorted(shard) for shard in dealt)


@given(COSTS, st.integers(1, 3))
def test_no_rank_waits_long_for_another(costs: dict[int, int], num_shards: int) -> None:
    """Graham's bound, against every partition there is."""
    dearest = max(sum(costs[i] for i in shard) for shard in shards(costs, num_shards))
    best = min(
        max(
            sum(cost for cost, shard in zip(costs.values(), choice) if shard == number)
            for number in range(num_shards)
        )
        for choice in itertools.product(range(num_shards), repeat=len(costs))
    )
    # Episodes that cost nothing count as one byte.
    assert dearest <= 4 / 3 * best + len(costs)


@given(st.permutations(list(range(9))))
def test_the_order_in_which_costs_are_given_does_not_matter(order: list[int]) -> None:
    """Ranks that list a folder in other orders would evaluate some episodes twice."""
    costs = {index: [5, 5, 9, 1, 0, 0, 3, 9, 2][index] for index in order}
    assert shards(costs, 3) == shards(dict(sorted(costs.items())), 3)


def test_one_very_long_episode_is_alone() -> None:
    assert shards({0: 10, 1: 1000, 2: 10, 3: 10}, 2) == [[1], [0, 2, 3]]


def test_fewer_episodes_than_ranks_leave_ranks_without() -> None:
    assert shards({4: 7}, 3) == [[4], [], []]


def test_empty_files_do_not_all_go_to_one_rank() -> None:
    assert sorted(map(len, shards(dict.fromkeys(range(6), 0), 3))) == [2, 2, 2]


def test_the_cost_is_the_bytes_of_both_videos(tmp_path: Path) -> None:
    (tmp_path / "a.mp4").write_bytes(bytes(100))
    pair = Episode("a.mp4", Clip(tmp_path / "a.mp4")).with_prediction(
        Clip(tmp_path / "missing.mp4")
    )
    assert episode_cost(pair) == 100
