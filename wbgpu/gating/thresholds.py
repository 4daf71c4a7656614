"""The limits of a gate: worldbench's names, meanings and defaults."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from wbgpu.errors import ConfigurationError
from wbgpu.gating.distribution_distance import check_limits
from wbgpu.records.comparison import GATE_DEFAULTS
from wbgpu.records.distribution_distance import MIN_EPISODES

_MAXIMA: Mapping[str, float] = {
    "min_metric_coverage": 1.0,
    "min_configured_weight_coverage": 1.0,
}
_COUNTS = ("min_metric_count", "max_episode_regressions", "bootstrap_samples", "bootstrap_seed")
_SIGNED = ("min_composite_improvement", "min_confidence_lower_bound")
_OF_DISTANCES = ("distance_margins", "min_distance_episodes")
_OPTIONAL = ("max_episode_regressions", *_SIGNED)


@dataclass(frozen=True)
class Thresholds:
    """What a candidate must hold to pass. Drops and improvements are in score points (0-100).

    Attributes:
        max_overall_drop: allowed drop of the mean composite.
        max_metric_drop: allowed drop of any composite metric's mean.
        max_horizon_drop: allowed drop of any composite metric's mean at any horizon (prefix view).
        required_metrics: must be available in the candidate, besides those that the two results
            require themselves.
        min_metric_count: least number of available metrics of the composite.
        min_metric_coverage: least share of the configured metrics that is available, 0-1.
        min_configured_weight_coverage: least share of the configured weight, 0-1.
        strict_config_match: differing configurations fail instead of warn.
        max_episode_regressions: most episodes that may get worse; ``None`` for any number.
        min_composite_improvement: least change of the mean composite; ``None`` for any.
        bootstrap_samples: draws of the paired bootstrap; 0 for no interval.
        bootstrap_seed: its seed.
        confidence_level: of the interval, between 0 and 1, both excluded.
        min_confidence_lower_bound: least lower end of the interval; needs ``bootstrap_samples``.
        distance_margins: by name, allowed increase of a distance of distributions, such as
            ``{"fvd": 10.0}``; others are shown and not gated.
        min_distance_episodes: with fewer episodes a distance that has a margin fails.

    Raises:
        ConfigurationError: a value is not finite, out of range or of the wrong type.
    """

    max_overall_drop: float = 0.0
    max_metric_drop: float = GATE_DEFAULTS["max_metric_drop"]
    max_horizon_drop: float = GATE_DEFAULTS["max_horizon_drop"]
    required_metrics: tuple[str, ...] = ()
    min_metric_count: int = GATE_DEFAULTS["min_metric_count"]
    min_metric_coverage: float = GATE_DEFAULTS["min_metric_coverage"]
    min_configured_weight_coverage: float = GATE_DEFAULTS["min_configured_weight_coverage"]
    strict_config_match: bool = GATE_DEFAULTS["strict_config_match"]
    max_episode_regressions: int | None = GATE_DEFAULTS["max_episode_regressions"]
    min_composite_improvement: float | None = GATE_DEFAULTS["min_composite_improvement"]
    bootstrap_samples: int = 0
    bootstrap_seed: int = 42
    confidence_level: float = 0.95
    min_confidence_lower_bound: float | None = None
    distance_margins: Mapping[str, float] = field(default_factory=dict)
    min_distance_episodes: int = MIN_EPISODES

    def __post_init__(self) -> None:
        margins = check_limits(self.distance_margins, self.min_distance_episodes)
        object.__setattr__(self, "distance_margins", margins)
        for name, value in asdict(self).items():
            if name in _OF_DISTANCES:
                continue
            if name == "strict_config_match":
                if not isinstance(value, bool):
                    raise ConfigurationError(f"{name}: expected true or false, got {value!r}")
            elif name == "required_metrics":
                self._check_names(value)
            elif not (value is None and name in _OPTIONAL):
                self._check_number(name, value)
        if not 0.0 < self.confidence_level < 1.0:
            raise ConfigurationError(
                f"confidence_level: expected a number between 0 and 1, got {self.confidence_level}"
            )
        if self.min_confidence_lower_bound is not None and not self.bootstrap_samples:
            raise ConfigurationError(
                "min_confidence_lower_bound needs an interval; set bootstrap_samples, such as 5000"
            )

    def payload(self) -> dict[str, Any]:
        """All limits by name, as they stand in gate results."""
        limits = asdict(self) | {"required_metrics": list(self.required_metrics)}
        if not self.distance_margins:
            # worldbench's file, to the key.
            limits = {name: limit for name, limit in limits.items() if name not in _OF_DISTANCES}
        return limits

    def _check_names(self, value: Any) -> None:
        is_list = isinstance(value, (list, tuple))
        if not is_list or not all(isinstance(name, str) for name in value):
            raise ConfigurationError(f"required_metrics: expected a list of names, got {value!r}")
        object.__setattr__(self, "required_metrics", tuple(dict.fromkeys(value)))

    def _check_number(self, name: str, value: Any) -> None:
        kind = int if name in _COUNTS else (int, float)
        if isinstance(value, bool) or not isinstance(value, kind):
            expected = "an integer" if name in _COUNTS else "a number"
            raise ConfigurationError(f"{name}: expected {expected}, got {value!r}")
        if not math.isfinite(value):
            raise ConfigurationError(f"{name}: expected a finite number, got {value!r}")
        if name not in _SIGNED and value < 0:
            raise ConfigurationError(f"{name}: expected a number >= 0, got {value!r}")
        if value > _MAXIMA.get(name, math.inf):
            raise ConfigurationError(f"{name}: expected a number from 0 to 1, got {value!r}")
        if name not in _COUNTS:
            object.__setattr__(self, name, float(value))
