"""Intervals and tests of paired changes, against published numbers and exact counts."""

from __future__ import annotations

import math
from collections.abc import Iterator

from wbgpu.aggregate.bootstrap import paired_bootstrap
from wbgpu.aggregate.intervals import mean_interval
from wbgpu.aggregate.paired_sample import PairedSample
from wbgpu.aggregate.sign_flip import sign_flip_p_value
from wbgpu.records.conformance import KnownValue

# Composite changes of two NanoWM checkpoints on ten RT-1 episodes, as worldbench's repository
# publishes them (checkpoint_validation/strict_gate_result.json, Apache-2.0).
_NANOWM_CHANGES = (
    1.4120223268312486,
    2.018472759262977,
    -0.3319406897759336,
    0.7294325816668561,
    0.9115925170420667,
    0.6534119287314439,
    0.49647801053981766,
    2.087379721024689,
    6.220565302625474,
    1.9183338820281222,
)

# Hours of sleep gained: Student, The probable error of a mean, 1908.
_SLEEP = (1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4)
# Eighths of an inch by which crossed maize outgrew self-fertilised: Darwin 1876, in Fisher, The
# Design of Experiments, 1935, chapter 3.
_MAIZE = (49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48)


def change_values() -> Iterator[KnownValue]:
    """Worldbench's bootstrap interval of its own two checkpoints; intervals and tests of others."""
    interval = paired_bootstrap(_NANOWM_CHANGES, num_samples=5000, seed=42)
    for side, expected, got in (
        ("lower", 0.7376864587, interval.lower),
        ("upper", 2.8147977544, interval.upper),
    ):
        yield KnownValue(
            f"bootstrap interval of worldbench's NanoWM comparison, {side} end",
            "worldbench, 5,000 draws of seed 42",
            "score",
            expected,
            got,
            5e-10,
        )
    sleep = mean_interval(PairedSample.of(_SLEEP), method="student_t")
    for side, expected, end in (
        ("lower", 0.7001142, sleep.lower),
        ("upper", 2.4598858, sleep.upper),
    ):
        yield KnownValue(
            f"Student-t interval of Student's sleep data, {side} end",
            "R, t.test(extra ~ group, data = sleep, paired = TRUE)",
            "hours",
            expected,
            math.nan if end is None else end,
            5e-8,
        )
    yield KnownValue(
        "sign-flip test of Darwin's maize, two-sided p",
        "1,726 of 2^15 sign patterns: Fisher 1935, section 21",
        "1",
        1726 / 2**15,
        sign_flip_p_value(PairedSample.of(_MAIZE)),
        1e-12,
    )
