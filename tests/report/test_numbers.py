from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wbgpu.report.numbers import (
    ABSENT,
    change,
    quantity,
    score,
    setting,
    signed_quantity,
    with_bits,
)


@given(st.floats(-1e6, 1e6))
def test_zero_is_never_written_with_a_minus(value: float) -> None:
    """worldbench prints -0.0 for real regressions."""
    for text in (score(value), change(value), quantity(value, "dB"), signed_quantity(value, "dB")):
        if text.startswith("-"):
            assert float(text) < 0


@given(st.floats(-100, 100).filter(lambda value: abs(value) > 1e-300))
def test_a_real_change_never_looks_like_none(value: float) -> None:
    """A FAIL over "+0.00" cannot be understood."""
    assert float(change(value)) != 0.0


@pytest.mark.parametrize(
    ("value", "text"),
    [(8.882748, "+8.88"), (-0.0031, "-0.0031"), (0.0, "+0.00"), (-0.0, "+0.00"), (-2e-7, "-2e-07")],
)
def test_changes(value: float, text: str) -> None:
    """Two decimals where they say something, two digits where they do not."""
    assert change(value) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (65025.0, "squared intensity", "65025"),
        (133.825118, "squared intensity", "133.8"),
        (0.97211, "SSIM", "0.972"),
        (-0.0006, "skill", "-0.001"),
        (-2.526e-05, "skill", "-2.5e-05"),
        (0.0, "skill", "0.000"),
        (27.05, "score", "27.05"),
        (None, "dB", "N/A"),
    ],
)
def test_quantities(value: float | None, unit: str, text: str) -> None:
    """Units differ by eight orders of magnitude."""
    assert quantity(value, unit) == text


def test_settings_read_as_they_were_given() -> None:
    """0.4501 rounded to 0.45 would make a correct FAIL look wrong."""
    assert [setting(v) for v in (0.0, 0.4501, 3, True)] == ["0", "0.4501", "3", "True"]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (2.0794415, "nats per token", "2.079 (3 bits)"),
        (2.0794415, "dB", "2.079"),
        (None, "nats per token", ABSENT),
    ],
)
def test_bits_stand_beside_nats(value: float | None, unit: str, text: str) -> None:
    """Language models are compared in bits, and files hold nats alone."""
    assert with_bits(value, unit) == text
