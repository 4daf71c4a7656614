from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import pytest
from worldbench.config import GateConfig

from wbgpu.errors import ConfigurationError
from wbgpu.gating.thresholds import Thresholds

NUMBERS = [
    field.name
    for field in fields(Thresholds)
    if field.name not in ("required_metrics", "strict_config_match")
]
NOT_NEGATIVE = [
    name
    for name in NUMBERS
    if name not in ("min_composite_improvement", "min_confidence_lower_bound")
]


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, True, "0.5", [1]])
def test_a_limit_that_is_no_finite_number_is_refused(name: str, value: Any) -> None:
    """A comparison with NaN is false, so a gate with a NaN limit passes everything."""
    with pytest.raises(ConfigurationError, match=name):
        Thresholds(**{"bootstrap_samples": 1, name: value})


@pytest.mark.parametrize("name", NOT_NEGATIVE)
def test_a_negative_limit_is_refused(name: str) -> None:
    """An allowed drop of -1 would fail every candidate that is not a point better."""
    with pytest.raises(ConfigurationError, match=name):
        Thresholds(**{name: -1})


@pytest.mark.parametrize("name", ["min_metric_coverage", "min_configured_weight_coverage"])
def test_a_share_above_1_is_refused(name: str) -> None:
    """40 for 40 % would fail everything."""
    with pytest.raises(ConfigurationError, match="from 0 to 1"):
        Thresholds(**{name: 1.01})
    assert getattr(Thresholds(**{name: 1}), name) == 1.0


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_a_level_outside_0_1_is_refused(level: float) -> None:
    """95 for 95 % has no interval."""
    with pytest.raises(ConfigurationError, match="confidence_level"):
        Thresholds(confidence_level=level)


def test_p55_a_lower_bound_without_draws_is_refused() -> None:
    """It would never be checked."""
    with pytest.raises(ConfigurationError, match="set bootstrap_samples"):
        Thresholds(min_confidence_lower_bound=0.0)


@pytest.mark.parametrize(
    "changes",
    [
        {"strict_config_match": 1},
        {"required_metrics": "psnr"},
        {"required_metrics": [1]},
        {"required_metrics": None},
        {"required_metrics": {"psnr": 1}},
        {"min_metric_count": 1.5},
        {"max_metric_drop": None},
    ],
)
def test_other_wrong_types_are_refused(changes: dict[str, Any]) -> None:
    """Each of them would be taken for something else: 1 for true, a string for its letters."""
    with pytest.raises(ConfigurationError, match=next(iter(changes))):
        Thresholds(**changes)


def test_o14_defaults_are_those_of_worldbenchs_configuration() -> None:
    """The same command without flags must give the same verdict."""
    ours = Thresholds()
    for name, value in GateConfig().model_dump().items():
        assert getattr(ours, name) == value, name
    assert ours.max_overall_drop == 0.0


def test_names_are_kept_once_and_in_order() -> None:
    """The file, the flags and the results may all require the same metric."""
    assert Thresholds(required_metrics=["b", "a", "b"]).required_metrics == ("b", "a")  # type: ignore[arg-type]
