"""Which metrics make up the composite, with which weights: worldbench's configuration."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from wbgpu.errors import ConfigurationError
from wbgpu.records.metric import SCORE_UNIT, MetricInfo

COMPOSITE_METRICS = (
    "visual_similarity",
    "action_consistency",
    "temporal_stability",
    "object_permanence",
    "contact_realism",
)
"""worldbench's five metrics, in its canonical order."""

DEFAULT_WEIGHTS: Mapping[str, float] = {
    "visual_similarity": 0.25,
    "action_consistency": 0.30,
    "temporal_stability": 0.20,
    "object_permanence": 0.15,
    "contact_realism": 0.10,
}

REASONS_WITHOUT_SIGNALS: Mapping[str, str] = {
    "action_consistency": "No actions aligned to predicted frames.",
    "object_permanence": "Reliable object tracking is unavailable for this rollout.",
    "contact_realism": "Reliable robot and object tracking are unavailable for this rollout.",
}
"""Metrics of the composite that plain videos cannot support, with worldbench's reasons."""


def worldbench_metric_info(name: str) -> MetricInfo:
    """Identity of a metric as worldbench 0.4.1 defines it; its files do not say."""
    return MetricInfo(name, f"{name}/worldbench-1.0", SCORE_UNIT, higher_is_better=True)


@dataclass(frozen=True)
class MetricSetting:
    """How one metric takes part in the composite.

    Attributes:
        enabled: whether it is measured.
        required: whether a gate fails when it is unavailable.
        weight: finite and not negative; weights need not sum to one.

    Raises:
        ConfigurationError: a value is of the wrong kind or out of range; the message begins with
            its key.
    """

    enabled: bool = True
    required: bool = False
    weight: float = 0.0

    def __post_init__(self) -> None:
        for key in ("enabled", "required"):
            if not isinstance(value := getattr(self, key), bool):
                raise ConfigurationError(f"{key}: expected true or false, got {value!r}")
        weight = self.weight
        if isinstance(weight, bool) or not isinstance(weight, (int, float)):
            raise ConfigurationError(f"weight: expected a number, got {weight!r}")
        if not math.isfinite(weight) or weight < 0:
            raise ConfigurationError(f"weight: expected a finite number >= 0, got {weight!r}")
        object.__setattr__(self, "weight", float(weight))


def _default_settings() -> dict[str, MetricSetting]:
    return {name: MetricSetting(weight=weight) for name, weight in DEFAULT_WEIGHTS.items()}


@dataclass(frozen=True)
class Profile:
    """The composite's metrics. Names left out take worldbench's defaults.

    Raises:
        ConfigurationError: unknown name, a required metric that is disabled, nothing enabled,
            or enabled weights that sum to zero.
    """

    metrics: Mapping[str, MetricSetting] = field(default_factory=_default_settings)

    def __post_init__(self) -> None:
        if unknown := sorted(set(self.metrics) - set(COMPOSITE_METRICS)):
            raise ConfigurationError(
                f"unknown composite metrics {unknown}; known: {', '.join(COMPOSITE_METRICS)}"
            )
        settings = {**_default_settings(), **self.metrics}
        object.__setattr__(self, "metrics", {name: settings[name] for name in COMPOSITE_METRICS})
        if bad := [n for n, s in self.metrics.items() if s.required and not s.enabled]:
            raise ConfigurationError(f"required metrics must be enabled: {', '.join(bad)}")
        if not self.enabled_metrics:
            raise ConfigurationError("at least one composite metric must be enabled")
        if sum(self.configured_weights.values()) <= 0:
            raise ConfigurationError("the enabled metrics' weights sum to zero")

    @property
    def enabled_metrics(self) -> tuple[str, ...]:
        """Enabled names in canonical order."""
        return tuple(name for name, setting in self.metrics.items() if setting.enabled)

    @property
    def required_metrics(self) -> tuple[str, ...]:
        """Required names in canonical order."""
        return tuple(name for name, setting in self.metrics.items() if setting.required)

    @property
    def configured_weights(self) -> dict[str, float]:
        """Weight of each enabled metric, in canonical order."""
        return {name: self.metrics[name].weight for name in self.enabled_metrics}

    @property
    def configuration_hash(self) -> str:
        """SHA-256 hex digest of the canonical JSON, equal to worldbench's for equal settings."""
        document = {
            "metrics": {
                name: {"enabled": s.enabled, "required": s.required, "weight": s.weight}
                for name, s in self.metrics.items()
            }
        }
        text = json.dumps(document, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8")).hexdigest()
