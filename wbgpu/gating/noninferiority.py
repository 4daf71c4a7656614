"""The policy ``noninferiority``: is the candidate worse by more than a margin, and are we sure?

Evidence (:class:`wbgpu.records.evidence.Evidence`) is held against margins: the composite, metrics
that have a margin of their own, and regret. One of them wholly beyond its margin is a FAIL; all of
them wholly within is a PASS; else the episodes do not decide. Metrics at single horizons are tested
together: they can fail a candidate and cannot pass it. Where too few episodes or clusters are there
to test any, that is a warning, and undecided where a margin for horizons was asked for. Rules that
need no statistics (a metric that disappeared, an episode that could not be scored) are those of
every policy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wbgpu.errors import ConfigurationError
from wbgpu.gating.distribution_distance import (
    check_limits,
    distance_beyond_margin,
)
from wbgpu.gating.regret_policy import (
    REGRET_TOLERANCE,
    RegretThresholds,
    infinite_loss,
    same_forecasts,
)
from wbgpu.gating.rules import (
    configuration_mismatch,
    configured_weight_coverage,
    episode_error,
    metric_count,
    metric_coverage,
    metric_disappeared,
    metric_error,
    no_score,
    required_metric,
)
from wbgpu.gating.thresholds import Thresholds
from wbgpu.records.comparison import Comparison, Failure, Status, Verdict
from wbgpu.records.distribution_distance import MIN_EPISODES
from wbgpu.records.evidence import (
    LARGEST_CHANGE,
    MIN_TESTED_UNITS,
    Evidence,
    HorizonTest,
    IntervalMethod,
)
from wbgpu.records.regret_comparison import RegretComparison, RegretVerdict
from wbgpu.records.worldbench.gate_wording import configuration_warning

POLICY = "noninferiority"
FEW_UNITS = 6
"""With fewer independent units an interval rests on its assumptions more than on its data."""

INTEGRITY_RULES = (
    metric_disappeared,
    required_metric,
    metric_count,
    metric_coverage,
    configured_weight_coverage,
    configuration_mismatch,
    episode_error,
    metric_error,
    no_score,
)
"""Rules about what was measured. No number of episodes makes up for them."""


@dataclass(frozen=True)
class Noninferiority:
    """Settings of the policy.

    Attributes:
        margin: drop of the mean composite that is allowed, in score points; >= 0.
        horizon_margin: likewise of each of the composite's metrics up to each horizon; ``None``
            for ``margin``, and for a warning instead of INCONCLUSIVE where too few episodes or
            clusters are there to test any horizon.
        metric_margins: by metric name, worsening of its mean that is allowed, in its unit. Each
            named metric has to be within its margin as the composite has.
        regret_margin: increase of the expected regret that is allowed, nats per step.
        confidence_level: of each interval. A rule wrongly fails a candidate that lies exactly at
            the margin with a probability of (1 - confidence_level) / 2, and wrongly passes it with
            as much.
        interval: ``conservative``, ``student_t`` or ``bootstrap_t``
            (:mod:`wbgpu.aggregate.intervals`).
        seed: of the bootstrap and of random sign patterns.
        fail_inconclusive: treat what is not decided as a FAIL.
        required_metrics, min_metric_count, min_metric_coverage: as of
            :class:`wbgpu.gating.thresholds.Thresholds`.
        min_configured_weight_coverage, strict_config_match: likewise.
        distance_margins, min_distance_episodes: likewise.

    Raises:
        ConfigurationError: a value is not finite, out of range or of the wrong type.
    """

    margin: float = 1.0
    horizon_margin: float | None = None
    metric_margins: Mapping[str, float] = field(default_factory=dict)
    regret_margin: float = 0.0
    confidence_level: float = 0.95
    interval: IntervalMethod = "conservative"
    seed: int = 42
    fail_inconclusive: bool = False
    required_metrics: tuple[str, ...] = ()
    min_metric_count: int = 1
    min_metric_coverage: float = 0.0
    min_configured_weight_coverage: float = 0.0
    strict_config_match: bool = True
    distance_margins: Mapping[str, float] = field(default_factory=dict)
    min_distance_episodes: int = MIN_EPISODES

    def __post_init__(self) -> None:
        for name in ("margin", "regret_margin"):
            object.__setattr__(self, name, _margin(name, getattr(self, name)))
        if self.horizon_margin is not None:
            object.__setattr__(
                self, "horizon_margin", _margin("horizon_margin", self.horizon_margin)
            )
        if not isinstance(self.metric_margins, Mapping):
            raise ConfigurationError(
                f"metric_margins: expected margins by metric, got {self.metric_margins!r}"
            )
        margins = {
            str(name): _margin(f"metric_margins.{name}", value)
            for name, value in self.metric_margins.items()
        }
        object.__setattr__(self, "metric_margins", margins)
        distances = check_limits(self.distance_margins, self.min_distance_episodes)
        object.__setattr__(self, "distance_margins", distances)
        level = self.confidence_level
        if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 < level < 1:
            raise ConfigurationError(
                f"confidence_level: expected a number between 0 and 1, got {level!r}"
            )
        if self.interval not in ("conservative", "student_t", "bootstrap_t"):
            raise ConfigurationError(
                f"interval: expected conservative, student_t or bootstrap_t, got {self.interval!r}"
            )
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise ConfigurationError(f"seed: expected an integer >= 0, got {self.seed!r}")
        if not isinstance(self.fail_inconclusive, bool):
            raise ConfigurationError(
                f"fail_inconclusive: expected true or false, got {self.fail_inconclusive!r}"
            )
        object.__setattr__(self, "required_metrics", self.requirements.required_metrics)

    @property
    def requirements(self) -> Thresholds:
        """The limits of the rules that need no statistics."""
        return Thresholds(
            required_metrics=self.required_metrics,
            min_metric_count=self.min_metric_count,
            min_metric_coverage=self.min_metric_coverage,
            min_configured_weight_coverage=self.min_configured_weight_coverage,
            strict_config_match=self.strict_config_match,
        )

    @property
    def margin_at_horizons(self) -> float:
        """In score points."""
        return self.margin if self.horizon_margin is None else self.horizon_margin

    @property
    def error_rate(self) -> float:
        """Of one rule in one direction."""
        return (1.0 - self.confidence_level) / 2.0

    def payload(self) -> dict[str, Any]:
        """All settings by name, as they stand in gate results."""
        settings = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return settings | {
            "horizon_margin": self.margin_at_horizons,
            "metric_margins": dict(self.metric_margins),
            "distance_margins": dict(self.distance_margins),
            "required_metrics": list(self.required_metrics),
        }


def beyond_margin(evidence: Sequence[Evidence]) -> list[Failure]:
    """A number is worse than its margin allows, with its whole interval."""
    return [Failure("beyond_margin", _numbers(item)) for item in evidence if item.is_beyond]


def undecided(evidence: Sequence[Evidence]) -> list[Failure]:
    """The margin of a number lies inside its interval, or there is no interval."""
    return [
        Failure(
            "undecided",
            _numbers(item)
            | {
                "num_episodes": item.estimate.num_episodes,
                "episodes_to_decide": item.episodes_to_decide,
            },
        )
        for item in evidence
        if not item.is_beyond and not item.is_within
    ]


def horizon_beyond_margin(tests: Sequence[HorizonTest], settings: Noninferiority) -> list[Failure]:
    """A metric at some horizon is worse than the margin allows, among all of them together."""
    failures = []
    for metric in dict.fromkeys(test.metric for test in tests):
        broken = [
            test
            for test in tests
            if test.metric == metric
            and test.adjusted_p_value is not None
            and test.adjusted_p_value <= settings.error_rate
        ]
        if not broken:
            continue
        worst = min(broken, key=lambda test: test.change if test.higher_is_better else -test.change)
        evidence = {
            "metric": metric,
            "horizon": worst.horizon,
            "change": worst.change,
            "margin": settings.margin_at_horizons,
            "adjusted_p_value": worst.adjusted_p_value,
            "num_horizons": len(broken),
            "horizons": [test.horizon for test in broken],
        }
        failures.append(Failure("horizon_beyond_margin", evidence))
    return failures


def horizons_not_tested(tests: Sequence[HorizonTest], settings: Noninferiority) -> list[Failure]:
    """Metrics at horizons with so few units that no drop at all could be significant."""
    # The rarest pattern of n signs has a probability of 2 to the power of -n.
    needed = max(MIN_TESTED_UNITS, math.ceil(-math.log2(settings.error_rate)))
    untested = [test for test in tests if test.num_units < needed]
    if tests and not untested:
        return []
    num_units = max((test.num_units for test in untested), default=0)
    is_clustered = any(test.num_units < test.num_episodes for test in untested)
    units = "clusters" if is_clustered else "episodes"
    if not tests:
        reason = (
            "the horizon rule was NOT checked: no metric of the composite has values by horizon"
        )
    elif len(untested) == len(tests):
        reason = f"the horizon rule was NOT checked: {num_units} {units}, {needed} needed"
    else:
        reason = (
            f"the horizon rule was checked in part: {len(untested)} of {len(tests)} metric x "
            f"horizon tests have fewer than {needed} {units}"
        )
    evidence = {
        "num_untested": len(untested),
        "num_tests": len(tests),
        "num_units": num_units,
        "needed_units": needed,
        "margin": settings.margin_at_horizons,
        "reason": reason,
    }
    return [Failure("horizons_not_tested", evidence)]


def decide_noninferiority(
    comparison: Comparison,
    settings: Noninferiority,
    evidence: Sequence[Evidence],
    horizon_tests: Sequence[HorizonTest],
    regret: RegretComparison | None = None,
) -> Verdict:
    """Apply all rules.

    Args:
        comparison: made with ``strict=settings.strict_config_match``.
        settings: margins and limits.
        evidence: of the composite, of each metric with a margin, and of ``regret`` where it is
            finite.
        horizon_tests: against ``settings.margin_at_horizons``, one-sided.
        regret: regret results that belong to the same two checkpoints.
    """
    failures = [
        *(f for rule in INTEGRITY_RULES for f in rule(comparison, settings.requirements)),
        *_missing(evidence, settings),
        *beyond_margin(evidence),
        *horizon_beyond_margin(horizon_tests, settings),
        *distance_beyond_margin(
            comparison, settings.distance_margins, settings.min_distance_episodes
        ),
        *([] if regret is None else infinite_loss(regret, RegretThresholds())),
    ]
    open_questions = undecided(evidence)
    warnings = [*comparison.warnings, *_warnings(evidence)]
    for gap in horizons_not_tested(horizon_tests, settings):
        is_whole = gap.evidence["num_untested"] == gap.evidence["num_tests"]
        if is_whole and settings.horizon_margin is not None:
            open_questions.append(gap)
        else:
            warnings.append(f"T{gap.evidence['reason'][1:]}.")
    if not settings.strict_config_match:
        warnings += map(configuration_warning, comparison.mismatches)
    if regret is not None:
        warnings += _regret_warnings(regret)
    status, failures, open_questions = _status(settings, failures, open_questions)
    return Verdict(
        status=status,
        policy=POLICY,
        comparison=comparison,
        thresholds=settings.payload(),
        failures=tuple(failures),
        warnings=tuple(warnings),
        undecided=tuple(open_questions),
        evidence=tuple(evidence),
        horizon_tests=tuple(horizon_tests),
        regret=regret,
    )


def decide_regret_noninferiority(
    comparison: RegretComparison, settings: Noninferiority, evidence: Sequence[Evidence]
) -> RegretVerdict:
    """Apply the rules that regret alone has; arguments as :func:`decide_noninferiority`."""
    failures = [
        *infinite_loss(comparison, RegretThresholds()),
        *beyond_margin(evidence),
    ]
    status, failures, open_questions = _status(settings, failures, undecided(evidence))
    return RegretVerdict(
        status=status,
        policy=POLICY,
        comparison=comparison,
        thresholds=settings.payload(),
        tolerance=REGRET_TOLERANCE,
        failures=tuple(failures),
        warnings=(
            *same_forecasts(comparison),
            *_warnings(evidence),
            *_regret_warnings(comparison),
        ),
        undecided=tuple(open_questions),
        evidence=tuple(evidence),
    )


def _status(
    settings: Noninferiority, failures: list[Failure], open_questions: list[Failure]
) -> tuple[Status, list[Failure], list[Failure]]:
    if failures:
        return "FAIL", failures, []
    if open_questions and settings.fail_inconclusive:
        return "FAIL", open_questions, []
    return ("INCONCLUSIVE" if open_questions else "PASS"), [], open_questions


def _missing(evidence: Sequence[Evidence], settings: Noninferiority) -> list[Failure]:
    """Metrics with a margin that no episode has on both sides."""
    names = sorted(set(settings.metric_margins) - {item.name for item in evidence})
    return [Failure("required_metric", {"metrics": names})] if names else []


def _numbers(item: Evidence) -> dict[str, Any]:
    return {
        "name": item.name,
        "change": item.estimate.mean,
        "lower": item.estimate.lower,
        "upper": item.estimate.upper,
        "margin": item.margin,
        "unit": item.unit,
    }


def _warnings(evidence: Sequence[Evidence]) -> list[str]:
    warnings = []
    for item in evidence:
        units, equal = item.estimate.num_units, item.estimate.degrees_of_freedom + 1.0
        if equal >= FEW_UNITS:
            continue
        what = f"{units} independent episodes or clusters only"
        if equal < 0.9 * units and units > 1:
            what = f"{units} clusters of such different sizes that they count as {equal:.1f}"
        warnings.append(
            f"{item.name}: {what}; its interval rests on assumptions that so few cannot check."
        )
    return warnings


def _regret_warnings(regret: RegretComparison) -> list[str]:
    if math.isinf(regret.baseline.expected_regret_nats):
        return ["The baseline's expected regret is infinite, so no increase can be measured."]
    return []


def _margin(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ConfigurationError(f"{name}: expected a number, got {value!r}")
    if not 0 <= value <= LARGEST_CHANGE:
        raise ConfigurationError(
            f"{name}: expected a finite number >= 0, at most {LARGEST_CHANGE:g}, got {value!r}"
        )
    return float(value)
