from __future__ import annotations

import pytest

from wbgpu.bench.limits import Limits, RateLimiter
from wbgpu.errors import ConfigurationError


def test_a_bucket_holds_a_second_and_fills_with_time():
    now = 0.0
    limiter = RateLimiter(4.0, clock=lambda: now)
    assert [limiter.admits("a") for _ in range(6)] == [True] * 4 + [False] * 2
    assert limiter.admits("b")
    now = 0.5
    assert [limiter.admits("a") for _ in range(3)] == [True, True, False]
    now = 100.0
    assert [limiter.admits("a") for _ in range(5)] == [True] * 4 + [False]


def test_a_slow_rate_admits_one():
    now = 0.0
    limiter = RateLimiter(0.5, clock=lambda: now)
    assert [limiter.admits("a"), limiter.admits("a")] == [True, False]
    now = 2.0
    assert limiter.admits("a")


def test_many_clients_do_not_fill_the_memory():
    limiter = RateLimiter(1.0, clock=lambda: 0.0)
    assert not limiter.admits("old") or not limiter.admits("old")
    for number in range(20_000):
        assert limiter.admits(str(number))
    assert len(limiter._buckets) <= 10_000


@pytest.mark.parametrize("name", vars(Limits()))
def test_a_limit_is_more_than_zero(name):
    with pytest.raises(ConfigurationError, match=name):
        Limits(**{name: 0})
