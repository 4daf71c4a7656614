"""Baseline against candidate, and the verdict on it. Change is candidate - baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from wbgpu.records.evidence import Evidence, HorizonTest
from wbgpu.records.evidence import View as View
from wbgpu.records.suite import SuiteResult

if TYPE_CHECKING:
    from wbgpu.records.regret_comparison import RegretComparison

Status = Literal["PASS", "FAIL", "INCONCLUSIVE"]
"""What a gate can say; a policy of worldbench's never says the last."""

UNCHANGED_TOLERANCE = 0.01
"""Composite points below which nothing counts as a change (worldbench's number)."""

SMALL_SAMPLE = 10
"""Fewer paired episodes than this make an interval doubtful (worldbench's number)."""

GATE_DEFAULTS: Mapping[str, Any] = {
    "min_composite_improvement": 0.0,
    "max_episode_regressions": None,
    "max_metric_drop": 0.0,
    "max_horizon_drop": 0.0,
    "min_metric_coverage": 0.0,
    "min_metric_count": 1,
    "min_configured_weight_coverage": 0.0,
    "strict_config_match": True,
}
"""The gate settings that a project file may hold, with worldbench's defaults."""


@dataclass(frozen=True)
class MetricChange:
    """Means of one metric over the suite; ``metric`` may be of the composite or not."""

    metric: str
    baseline: float
    candidate: float
    change: float
    baseline_count: int
    candidate_count: int


@dataclass(frozen=True)
class HorizonChange:
    """Means of one metric at one horizon (1-based) in one view."""

    horizon: int
    view: View
    metric: str
    baseline: float
    candidate: float
    change: float
    baseline_count: int
    candidate_count: int


@dataclass(frozen=True)
class EpisodeChange:
    """Composites of one episode."""

    episode_id: str
    baseline: float
    candidate: float
    change: float


@dataclass(frozen=True)
class Comparison:
    """Two results on the same episodes.

    Attributes:
        overall: change of the suite's composite, with ``metric`` ``composite``; ``None`` when
            either side has none.
        composite_metrics: changes of the composite's metrics, by name.
        other_metrics: changes of all other metrics (native units), by name.
        composite_horizons: prefix-view changes of the composite's metrics, by horizon and name.
        other_horizons: changes of all other metrics, and step views of all.
        episodes: by episode id, those with a composite on both sides.
        mismatches: ways in which the two were configured differently.
        warnings: what could not be checked.
        remarks: what is odd about the two and worldbench does not say.
        minimum_detectable_effect: smallest true change of the mean composite that as many paired
            episodes would find, in score points; ``None`` for fewer than two.
    """

    baseline: SuiteResult
    candidate: SuiteResult
    overall: MetricChange | None
    composite_metrics: tuple[MetricChange, ...]
    other_metrics: tuple[MetricChange, ...]
    composite_horizons: tuple[HorizonChange, ...]
    other_horizons: tuple[HorizonChange, ...]
    episodes: tuple[EpisodeChange, ...]
    mismatches: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    minimum_detectable_effect: float | None = None

    @property
    def improved(self) -> tuple[EpisodeChange, ...]:
        """Episodes whose composite rose by more than the tolerance."""
        return tuple(item for item in self.episodes if item.change > UNCHANGED_TOLERANCE)

    @property
    def regressed(self) -> tuple[EpisodeChange, ...]:
        """Episodes whose composite dropped by more than the tolerance."""
        return tuple(item for item in self.episodes if item.change < -UNCHANGED_TOLERANCE)

    @property
    def num_unchanged(self) -> int:
        """Episodes that neither improved nor regressed."""
        return len(self.episodes) - len(self.improved) - len(self.regressed)

    @property
    def worst_changes(self) -> tuple[EpisodeChange, ...]:
        """Up to five episodes with the lowest change, lowest first."""
        return tuple(sorted(self.episodes, key=lambda item: item.change)[:5])

    @property
    def best_changes(self) -> tuple[EpisodeChange, ...]:
        """Up to five episodes with the highest change, highest first."""
        return tuple(sorted(self.episodes, key=lambda item: item.change, reverse=True)[:5])


@dataclass(frozen=True)
class Interval:
    """A confidence interval for the mean paired change of the composite.

    Attributes:
        method: such as ``paired_bootstrap_episode_delta``.
        level: 0-1.
        num_samples: bootstrap draws.
        seed: of the private generator.
        num_episodes: pairs.
    """

    method: str
    mean: float
    level: float
    lower: float
    upper: float
    num_samples: int
    seed: int
    num_episodes: int


@dataclass(frozen=True)
class Failure:
    """One broken rule.

    Attributes:
        kind: worldbench's name of the rule, such as ``overall``, ``metric`` or ``horizon``.
        evidence: the numbers and names that broke it, keyed as worldbench keys them; horizons
            are 1-based integers.
    """

    kind: str
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """What a gate said.

    Attributes:
        status: ``INCONCLUSIVE`` only from policies that weigh evidence.
        thresholds: the policy's settings.
        failures: the broken rules in the order they were checked; empty unless ``FAIL``.
        interval: set when the policy asked for one.
        undecided: what stands between the candidate and a decision; empty unless ``INCONCLUSIVE``.
        evidence: what was held against margins, by policies that do so.
        horizon_tests: the family of metric x horizon, likewise.
        regret: regret results that entered the verdict.
    """

    status: Status
    policy: str
    comparison: Comparison
    thresholds: Mapping[str, Any]
    failures: tuple[Failure, ...]
    warnings: tuple[str, ...]
    interval: Interval | None = None
    undecided: tuple[Failure, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    horizon_tests: tuple[HorizonTest, ...] = ()
    regret: RegretComparison | None = None

    @property
    def all_warnings(self) -> tuple[str, ...]:
        """Warnings, those that worldbench does not know at first."""
        return (*self.comparison.remarks, *self.warnings)
