"""The gate on regret: its limits, one rule per function, and the verdict."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from wbgpu.errors import ConfigurationError
from wbgpu.records.comparison import Failure
from wbgpu.records.regret import INTERVAL_LEVEL
from wbgpu.records.regret_comparison import HorizonNatsChange, RegretComparison, RegretVerdict

REGRET_POLICY = "regret_increase"
"""Name of this policy in verdicts."""

REGRET_TOLERANCE = 1e-6
"""Nats per step that count as no increase: a model's float32 arithmetic moves a loss by as much."""


@dataclass(frozen=True)
class RegretThresholds:
    """What a candidate must hold to pass, in nats per step.

    Attributes:
        max_regret_increase: allowed increase of the expected regret.
        max_horizon_regret_increase: allowed increase of the expected regret over steps 1..h, for
            any horizon h.
        confidence_level: of the printed interval, between 0 and 1, both excluded.

    Raises:
        ConfigurationError: a value is not a finite number or out of range.
    """

    max_regret_increase: float = 0.0
    max_horizon_regret_increase: float = 0.0
    confidence_level: float = INTERVAL_LEVEL

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise ConfigurationError(f"{name}: expected a number, got {value!r}")
            if not math.isfinite(value) or value < 0:
                raise ConfigurationError(f"{name}: expected a finite number >= 0, got {value!r}")
            object.__setattr__(self, name, float(value))
        if not 0.0 < self.confidence_level < 1.0:
            raise ConfigurationError(
                f"confidence_level: expected a number between 0 and 1, got {self.confidence_level}"
            )


def decide_regret(comparison: RegretComparison, thresholds: RegretThresholds) -> RegretVerdict:
    """Apply all rules."""
    failures = [
        failure
        for rule in (infinite_loss, regret_increase, horizon_regret_increase)
        for failure in rule(comparison, thresholds)
    ]
    return RegretVerdict(
        status="FAIL" if failures else "PASS",
        policy=REGRET_POLICY,
        comparison=comparison,
        thresholds=asdict(thresholds),
        tolerance=REGRET_TOLERANCE,
        failures=tuple(failures),
        warnings=_warnings(comparison),
    )


def infinite_loss(comparison: RegretComparison, _: RegretThresholds) -> list[Failure]:
    """The candidate ruled out something that happened, or that could have."""
    totals = comparison.candidate.totals
    if not totals.num_infinite and not totals.num_infinite_expected:
        return []
    evidence = {
        "num_infinite": totals.num_infinite,
        "num_infinite_expected": totals.num_infinite_expected,
    }
    return [Failure("infinite_loss", evidence)]


def regret_increase(comparison: RegretComparison, thresholds: RegretThresholds) -> list[Failure]:
    """The expected regret over all steps increased."""
    expected, allowed = comparison.expected, thresholds.max_regret_increase
    if expected.change is None or expected.change <= allowed + REGRET_TOLERANCE:
        return []
    evidence = {
        "baseline": expected.baseline,
        "candidate": expected.candidate,
        "change": expected.change,
        "allowed_increase": allowed,
    }
    return [Failure("regret", evidence)]


def horizon_regret_increase(
    comparison: RegretComparison, thresholds: RegretThresholds
) -> list[Failure]:
    """The expected regret up to some horizon increased; the failure names the worst horizon."""
    allowed = thresholds.max_horizon_regret_increase
    broken = [h for h in comparison.horizons if _change(h) > allowed + REGRET_TOLERANCE]
    if not broken:
        return []
    worst = max(broken, key=_change)
    evidence = {
        "horizon": worst.horizon,
        "baseline": worst.baseline,
        "candidate": worst.candidate,
        "change": worst.change,
        "allowed_increase": allowed,
        "num_horizons": len(broken),
        "first_horizon": broken[0].horizon,
        "last_horizon": broken[-1].horizon,
    }
    return [Failure("horizon_regret", evidence)]


def _change(horizon: HorizonNatsChange) -> float:
    # What is infinite in the candidate is another rule's matter.
    return -math.inf if horizon.change is None else horizon.change


def same_forecasts(comparison: RegretComparison) -> list[str]:
    """A warning where both sides lost the same at every step of every episode."""
    if comparison.baseline.episodes != comparison.candidate.episodes:
        return []
    return ["Baseline and candidate lost the same at every step: is one of the two the wrong file?"]


def _warnings(comparison: RegretComparison) -> tuple[str, ...]:
    warnings = same_forecasts(comparison)
    if math.isinf(comparison.baseline.expected_regret_nats):
        warnings.append(
            "The baseline's expected regret is infinite, so no increase can be measured: any "
            "finite candidate passes."
        )
    if len(comparison.baseline.episodes) == 1:
        warnings.append("One episode only: the change has no interval.")
    return tuple(warnings)
