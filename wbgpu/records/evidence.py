"""What a comparison says about one number, and how sure it is. Change is candidate - baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

View = Literal["prefix", "step"]

EvidenceKind = Literal["composite", "metric", "regret"]

IntervalMethod = Literal["conservative", "student_t", "bootstrap_t"]
"""How an interval is made; :mod:`wbgpu.aggregate.intervals` says what each is worth."""

MIN_TESTED_UNITS = 6
"""With fewer units a column of many is not tested: no pattern of five signs is rare enough for
2.5 %, and their heavy-tailed statistics would hide the other columns."""

LARGEST_CHANGE = 1e100
"""Of changes and margins. Squares of much larger ones overflow, and would leave no spread."""


@dataclass(frozen=True)
class Estimate:
    """A mean paired change over episodes with its confidence interval, in the unit of the changes.

    Attributes:
        mean: over episodes.
        standard_error: ``None`` for one unit.
        lower, upper: ``None`` for one unit.
        level: 0-1, (1 - level) / 2 outside on each side.
        method: ``conservative``, ``student_t``, ``bootstrap_t``, or ``none`` for one unit.
        num_episodes: pairs.
        num_units: independent units: clusters, or episodes.
        degrees_of_freedom: of the standard error: ``num_units`` - 1, or less where clusters are of
            different sizes.
    """

    mean: float
    standard_error: float | None
    lower: float | None
    upper: float | None
    level: float
    method: str
    num_episodes: int
    num_units: int
    degrees_of_freedom: float


@dataclass(frozen=True)
class SequentialEvidence:
    """An e-process over the episodes in their order: evidence that may be looked at at any time.

    Attributes:
        e_worse: e-value, at the last episode, against "the candidate is worse by at most the
            margin"; 20 or more refutes that at 5 %. Capped at 1e100.
        e_better: against "the candidate is not better".
        decided_after: episodes after which one of them first reached ``threshold``; ``None`` if
            neither did.
        threshold: 1 / (error rate).
    """

    e_worse: float
    e_better: float
    decided_after: int | None
    threshold: float


@dataclass(frozen=True)
class Evidence:
    """One number that a policy holds against a margin.

    Attributes:
        name: ``composite``, a metric's name, or ``regret``.
        unit: of ``baseline``, ``candidate``, ``margin`` and the estimate.
        margin: worsening that is allowed, >= 0.
        estimate: of the change, not turned: where lower is better a worsening is positive.
        p_worse: sign-flip p-value against "the candidate is worse by at most the margin".
        minimum_detectable_effect: a true change that lies so far beyond the margin, or so far on
            its good side, is decided with 80 % probability; ``None`` for one unit.
        episodes_to_decide: episodes with which the verdict would come with 80 % probability if what
            was seen were the truth; ``None`` where no number of episodes would do.
        episodes_to_clear: episodes with which a candidate that did not change would be passed with
            80 % probability; ``None`` for a margin of 0.
        sequential: for log-losses and regret.
    """

    kind: EvidenceKind
    name: str
    unit: str
    higher_is_better: bool
    margin: float
    baseline: float
    candidate: float
    estimate: Estimate
    p_worse: float
    minimum_detectable_effect: float | None
    episodes_to_decide: int | None
    episodes_to_clear: int | None
    sequential: SequentialEvidence | None = None

    @property
    def is_beyond(self) -> bool:
        """Whether the whole interval is worse than the margin allows."""
        best = self.estimate.upper if self.higher_is_better else self.estimate.lower
        return best is not None and self._gain(best) < -self.margin

    @property
    def is_within(self) -> bool:
        """Whether the whole interval is no worse than the margin allows."""
        worst = self.estimate.lower if self.higher_is_better else self.estimate.upper
        return worst is not None and self._gain(worst) >= -self.margin

    def _gain(self, change: float) -> float:
        return change if self.higher_is_better else -change


@dataclass(frozen=True)
class HorizonTest:
    """One metric at one horizon, as one of a family of tests.

    Attributes:
        horizon: 1-based.
        num_episodes: that have both sides.
        num_units: independent ones among them: clusters, or episodes.
        change: mean of candidate - baseline over the episodes that have both.
        standard_error: of the change.
        p_value: of this test alone; ``None`` where it was not tested (too few units).
        adjusted_p_value: with familywise error control by step-down max-T over the family.
    """

    horizon: int
    view: View
    metric: str
    unit: str
    higher_is_better: bool
    num_episodes: int
    num_units: int
    change: float
    standard_error: float | None
    p_value: float | None
    adjusted_p_value: float | None
