"""What is said of a regret result, as rows of cells that the console and Markdown lay out."""

from __future__ import annotations

import math
from collections.abc import Sequence

from wbgpu.records.regret import HorizonRegret, NatsInterval, RegretResult
from wbgpu.records.regret_comparison import NatsChange, RegretComparison
from wbgpu.report.numbers import ABSENT, quantity, setting, signed_quantity

OVERALL_HEADER = ("", "nats per step", "95 % interval", "nats per episode")
VARIABLE_HEADER = ("variable", "expected", "realised", "log-loss", "reference", "infinite steps")
HORIZON_HEADER = (
    "horizon",
    "at this step",
    "per step up to it",
    "summed up to it",
    "standard error",
)
CHANGE_HEADER = ("variable", "baseline", "candidate", "change")

_BLOCKS = " ▁▂▃▄▅▆▇█"
_CURVE_WIDTH = 60


def nats(value: float | None) -> str:
    """A number of nats, such as ``0.935``, or ``infinite``."""
    if value is None:
        return ABSENT
    return "infinite" if math.isinf(value) else quantity(value, "nats")


def overall_rows(result: RegretResult) -> list[tuple[str, ...]]:
    """Regret and losses per step and per episode."""
    totals, num_steps = result.totals, result.num_steps
    realised, expected = result.regret_per_step, result.expected_regret_per_step
    rows = [
        (
            "expected regret",
            nats(expected.mean),
            between(expected),
            nats(totals.expected_regret_nats),
        ),
        (
            "realised regret",
            nats(realised.mean),
            between(realised),
            nats(totals.cumulative_regret_nats),
        ),
        _loss("log-loss", totals.log_loss_nats, num_steps),
        _loss("reference loss", totals.reference_loss_nats, num_steps),
    ]
    for name, count, value in (
        ("expected regret", totals.num_infinite_expected, totals.finite_expected_regret_nats),
        ("realised regret", totals.num_infinite, totals.finite_regret_nats),
    ):
        if count:
            rows.append(_loss(f"{name}, finite part", value, num_steps))
    return rows


def infinite_line(result: RegretResult) -> str:
    """How many forecasts ruled out what happened, or what could have."""
    totals = result.totals
    num_steps = len(result.episodes) * result.num_steps
    if not totals.num_infinite and not totals.num_infinite_expected:
        return f"Infinite losses: none in {num_steps} steps"
    return (
        f"Infinite losses: at {totals.num_infinite} of {num_steps} steps something happened that "
        f"the forecast had ruled out, at {totals.num_infinite_expected} it could have"
    )


def variable_rows(result: RegretResult) -> list[tuple[str, ...]]:
    """Nats per step of each variable."""
    steps = result.num_steps
    return [
        (
            name,
            nats(totals.expected_regret_nats / steps),
            nats(totals.cumulative_regret_nats / steps),
            nats(totals.log_loss_nats / steps),
            nats(totals.reference_loss_nats / steps),
            str(totals.num_infinite),
        )
        for name, totals in result.per_variable.items()
    ]


def horizon_rows(result: RegretResult) -> list[tuple[str, ...]]:
    """Expected regret at powers of two and at the end; the standard error is of the sum."""
    return [
        (
            str(horizon.horizon),
            nats(horizon.step_expected_regret.mean),
            nats(horizon.prefix_expected_regret.mean / horizon.horizon),
            nats(horizon.prefix_expected_regret.mean),
            nats(horizon.prefix_expected_regret.standard_error),
        )
        for horizon in _shown(result.horizons)
    ]


def curve(result: RegretResult) -> str:
    """Expected regret of single steps as a line of blocks from 0 to the highest; ``!`` is infinite.

    Returns:
        Such as ``█▅▃▂▂▁▁▁  0 to 0.61 nats, a mark is 7 steps``.
    """
    values = [horizon.step_expected_regret.mean for horizon in result.horizons]
    width = -(-len(values) // _CURVE_WIDTH)
    marks = [
        math.fsum(part) / len(part)
        for start in range(0, len(values), width)
        if (part := values[start : start + width])
    ]
    highest = max((mark for mark in marks if math.isfinite(mark)), default=0.0)
    steps = "1 step" if width == 1 else f"{width} steps"
    line = "".join(_block(mark, highest) for mark in marks)
    return f"{line}  0 to {nats(max(highest, 0.0))} nats, a mark is {steps}"


def between(interval: NatsInterval) -> str:
    """Such as ``0.924 to 0.945``."""
    if interval.lower is None:
        return ABSENT
    return f"{nats(interval.lower)} to {nats(interval.upper)}"


def change_text(change: NatsChange) -> str:
    """Such as ``0.935 -> 0.912 (-0.023)``."""
    moved = "" if change.change is None else f" ({signed_quantity(change.change, 'nats')})"
    return f"{nats(change.baseline)} -> {nats(change.candidate)}{moved}"


def interval_text(change: NatsChange) -> str | None:
    """The interval of a paired change in words, where there is one."""
    interval = change.interval
    if interval is None or interval.lower is None or interval.upper is None:
        return None
    low, high = (signed_quantity(end, "nats") for end in (interval.lower, interval.upper))
    return (
        f"{setting(100 * interval.level)} % interval of the change: {low} to {high} "
        f"(paired Student-t, {interval.count} episodes)"
    )


def change_rows(comparison: RegretComparison) -> list[tuple[str, ...]]:
    """Expected regret per step of each variable on both sides."""
    return [
        (
            name,
            nats(change.baseline),
            nats(change.candidate),
            ABSENT if change.change is None else signed_quantity(change.change, "nats"),
        )
        for name, change in comparison.per_variable.items()
    ]


def _loss(name: str, value: float, num_steps: int) -> tuple[str, ...]:
    return (name, nats(value / num_steps), "", nats(value))


def _shown(horizons: Sequence[HorizonRegret]) -> list[HorizonRegret]:
    last = len(horizons)
    return [h for h in horizons if h.horizon & (h.horizon - 1) == 0 or h.horizon == last]


def _block(value: float, highest: float) -> str:
    if math.isinf(value):
        return "!"
    if highest <= 0:
        return _BLOCKS[0]
    # What is above 0 shows at least the lowest block.
    eighths = math.ceil(8 * max(value, 0.0) / highest)
    return _BLOCKS[min(eighths, 8)]
