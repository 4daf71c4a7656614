"""What a metric is, and what it said about one episode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Status = Literal["available", "unsupported", "error"]

SCORE_UNIT = "score"
"""Unit of metrics on worldbench's 0-100 scale; they alone enter the composite."""


@dataclass(frozen=True)
class MetricInfo:
    """The identity of a metric, the same on every episode of a run.

    Attributes:
        name: the key in results and configs, such as ``visual_similarity``.
        metric_id: name, definition and version, such as ``visual_similarity/worldbench-1.0``.
            Values under different ids are never compared.
        unit: ``score`` (0-100) or the native unit, such as ``dB`` or ``squared intensity``.
        higher_is_better: direction of improvement.
    """

    name: str
    metric_id: str
    unit: str
    higher_is_better: bool


@dataclass(frozen=True)
class MetricOutcome:
    """One metric on one episode. Missing is not zero: no value without ``available``.

    Attributes:
        status: ``available``, ``unsupported`` (the metric does not apply here) or ``error``.
        value: over all steps, in the metric's unit; ``None`` unless available.
        reason: why there is no value; ``None`` when available.
        error_type: exception class name when the status is ``error``.
        prefix: value over steps 1..t for t = 1..T; ``None`` where undefined; empty when no
            prefix of an unavailable metric has a value, or the metric has no such view.
        prefix_reasons: why there is no value over steps 1..t, for t = 1..T; ``None`` where there is
            one or ``reason`` says it; empty when all would be ``None``.
        step: value of step t alone, t = 1..T; empty when the metric has no such view.
        prefix_details: named columns of supporting numbers, one entry per prefix 1..t, ``None``
            where ``prefix`` is undefined; worldbench's names for its metrics.
        whole_details: supporting numbers of ``value``, by the same names, where it is of more
            frames than the last prefix; ``None``: they are those of the last prefix.
        issues: remarks for a person.
    """

    name: str
    metric_id: str
    status: Status
    value: float | None = None
    reason: str | None = None
    error_type: str | None = None
    prefix: tuple[float | None, ...] = ()
    prefix_reasons: tuple[str | None, ...] = ()
    step: tuple[float | None, ...] = ()
    prefix_details: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    whole_details: Mapping[str, Any] | None = None
    issues: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.status == "available") != (self.value is not None):
            raise ValueError(
                f"metric {self.name!r}: status {self.status!r} with value {self.value!r}; "
                "a value is present exactly when the status is 'available'"
            )
        if self.status != "available" and not self.reason:
            raise ValueError(f"metric {self.name!r}: status {self.status!r} needs a reason")

    @property
    def is_available(self) -> bool:
        """Whether there is a value."""
        return self.status == "available"

    def with_views_up_to(self, num_steps: int) -> MetricOutcome:
        """The same value, but horizons 1..num_steps only; what it rests on is kept."""
        prefix, reasons = self.prefix[:num_steps], self.prefix_reasons[:num_steps]
        step, details = self.step[:num_steps], self.prefix_details
        has_prefix = any(value is not None for value in prefix)
        has_reasons = any(reason is not None for reason in reasons)
        whole = {key: column[-1] for key, column in details.items()} if self.is_available else None
        details = {k: column[:num_steps] for k, column in details.items()} if has_prefix else {}
        if whole == {key: column[-1] for key, column in details.items()}:
            whole = None
        return replace(
            self,
            prefix=prefix if has_prefix or (self.is_available and has_reasons) else (),
            prefix_reasons=reasons if has_reasons else (),
            step=step if any(value is not None for value in step) else (),
            prefix_details=details,
            whole_details=whole,
        )

    def prefix_at(self, horizon: int) -> float | None:
        """Value over steps 1..horizon (1-based), or ``None``."""
        return self.prefix[horizon - 1] if horizon <= len(self.prefix) else None

    def step_at(self, horizon: int) -> float | None:
        """Value of step ``horizon`` (1-based) alone, or ``None``."""
        return self.step[horizon - 1] if horizon <= len(self.step) else None

    def lacking_prefixes(self, num_steps: int) -> dict[int, str | None]:
        """Horizons up to ``num_steps`` where a value belongs and is missing, each with its reason.

        None where the metric has no such view, or a value everywhere, as most have.
        """
        if self.is_available and not self.prefix:
            return {}
        if len(self.prefix) >= num_steps and None not in self.prefix:
            return {}
        horizons = range(1, num_steps + 1)
        if not self.prefix and not self.prefix_reasons:
            return dict.fromkeys(horizons, self.reason)
        return {
            horizon: self.prefix_reason_at(horizon)
            for horizon in horizons
            if self.prefix_at(horizon) is None
        }

    def prefix_reason_at(self, horizon: int) -> str | None:
        """Why there is no value over steps 1..horizon."""
        known = horizon <= len(self.prefix_reasons)
        return (self.prefix_reasons[horizon - 1] if known else None) or self.reason
