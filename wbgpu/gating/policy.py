"""The verdict: every rule is asked, and one broken rule is a FAIL."""

from __future__ import annotations

from wbgpu.errors import ConfigurationError
from wbgpu.gating.distribution_distance import distance_beyond_margin
from wbgpu.gating.rules import OWN_RULES, WORLDBENCH_RULES, confidence_lower_bound
from wbgpu.gating.thresholds import Thresholds
from wbgpu.records.comparison import SMALL_SAMPLE, Comparison, Interval, Verdict
from wbgpu.records.worldbench.gate_wording import configuration_warning

POLICY = "worldbench"
"""Name of this policy in verdicts."""


def decide(
    comparison: Comparison, thresholds: Thresholds, interval: Interval | None = None
) -> Verdict:
    """Apply all rules.

    Args:
        comparison: made with ``strict=thresholds.strict_config_match``.
        thresholds: the limits.
        interval: of the mean paired change; needed when ``thresholds`` ask for one
            (:func:`wbgpu.aggregate.bootstrap.change_interval`).

    Raises:
        ConfigurationError: an interval is asked for and was not given.
    """
    if thresholds.bootstrap_samples and interval is None and comparison.episodes:
        raise ConfigurationError(
            "bootstrap_samples asks for an interval, but none was computed; pass interval="
        )
    failures = [
        *(failure for rule in WORLDBENCH_RULES for failure in rule(comparison, thresholds)),
        *confidence_lower_bound(interval, thresholds),
        *(failure for rule in OWN_RULES for failure in rule(comparison, thresholds)),
        *distance_beyond_margin(
            comparison, thresholds.distance_margins, thresholds.min_distance_episodes
        ),
    ]
    warnings = list(comparison.warnings)
    if not thresholds.strict_config_match:
        warnings.extend(map(configuration_warning, comparison.mismatches))
    if interval is not None and interval.num_episodes < SMALL_SAMPLE:
        warnings.append(
            f"Bootstrap interval uses a small episode count ({interval.num_episodes}); "
            "read it with care."
        )
    return Verdict(
        status="FAIL" if failures else "PASS",
        policy=POLICY,
        comparison=comparison,
        thresholds=thresholds.payload(),
        failures=tuple(failures),
        warnings=tuple(warnings),
        interval=interval,
    )
