"""Numbers as text: never ``-0``, and never rounded so far that a difference disappears."""

from __future__ import annotations

import math

from wbgpu.records.metric import SCORE_UNIT

ABSENT = "N/A"


def score(value: float | None) -> str:
    """A score or another number of ordinary size, with two decimals or two digits that count."""
    if value is None:
        return ABSENT
    return f"{value:.2g}" if 0 < abs(value) < 0.005 else f"{_without_minus_zero(value, 2):.2f}"


def change(value: float) -> str:
    """A signed change, such as ``+0.39``, ``-0.0031`` or ``+0.00``."""
    return f"{value:+.2g}" if 0 < abs(value) < 0.005 else f"{_without_minus_zero(value, 2):+.2f}"


def quantity(value: float | None, unit: str) -> str:
    """A value in its unit, without the unit: four digits, three decimals below 1."""
    if value is None:
        return ABSENT
    if unit == SCORE_UNIT:
        return score(value)
    size = abs(value)
    if size >= 1e4:
        return f"{value:.0f}"
    if size >= 1:
        return f"{value:.4g}"
    return f"{value:.2g}" if 0 < size < 0.0005 else f"{_without_minus_zero(value, 3):.3f}"


def signed_quantity(value: float, unit: str) -> str:
    """A signed change in a metric's unit."""
    text = quantity(value, unit)
    return text if text.startswith("-") else f"+{text}"


def with_bits(value: float | None, unit: str) -> str:
    """`quantity`, and of nats also the bits."""
    return quantity(value, unit) + bits_note(value, unit)


def bits_note(value: float | None, unit: str) -> str:
    """Nats as bits, in brackets after a space; nothing for other units."""
    if value is None or not unit.startswith("nats"):
        return ""
    return f" ({quantity(value / math.log(2), unit)} bits)"


def percent(share: float) -> str:
    """0.45 as ``45%``."""
    return f"{share:.0%}"


def setting(value: object) -> str:
    """A threshold as it was given, such as ``0`` or ``0.4501``."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _without_minus_zero(value: float, decimals: int) -> float:
    return round(value, decimals) + 0.0
