"""Two regret results on the same episodes, and the verdict on them; in nats per step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wbgpu.records.comparison import Failure, Status
from wbgpu.records.evidence import Evidence
from wbgpu.records.regret import NatsInterval, RegretResult


@dataclass(frozen=True)
class NatsChange:
    """Means over episodes.

    Attributes:
        baseline, candidate: may be infinite.
        change: candidate - baseline; ``None`` when one of them is infinite.
        interval: of the paired differences; ``None`` where the change is.
    """

    baseline: float
    candidate: float
    change: float | None
    interval: NatsInterval | None = None


@dataclass(frozen=True)
class HorizonNatsChange:
    """Expected regret over steps 1..horizon (1-based), divided by their number."""

    horizon: int
    baseline: float
    candidate: float
    change: float | None


@dataclass(frozen=True)
class RegretComparison:
    """Two results of one world, the same seeds and the same number of steps.

    Attributes:
        expected: change of the expected regret, on which gates decide: it is the mean of the
            realised one over what could have happened, so it varies less.
        realised: change of the realised regret.
        per_variable: changes of the expected regret, by name.
        horizons: prefix view, by horizon.
        minimum_detectable_effect: smallest true change of the expected regret that as many paired
            episodes would find; ``None`` for fewer than two, and where the change is infinite.
    """

    baseline: RegretResult
    candidate: RegretResult
    expected: NatsChange
    realised: NatsChange
    per_variable: Mapping[str, NatsChange]
    horizons: tuple[HorizonNatsChange, ...]
    minimum_detectable_effect: float | None


@dataclass(frozen=True)
class RegretVerdict:
    """What a gate said.

    Attributes:
        status: ``INCONCLUSIVE`` only from policies that weigh evidence.
        policy: name of the policy.
        thresholds: the policy's settings.
        tolerance: increases up to this count as none, and are added to each threshold.
        failures: the broken rules; empty unless ``FAIL``.
        warnings: what a reader must know besides.
        undecided: what stands in the way of a decision; empty unless ``INCONCLUSIVE``.
        evidence: what was held against margins, by policies that do so.
    """

    status: Status
    policy: str
    comparison: RegretComparison
    thresholds: Mapping[str, Any]
    tolerance: float
    failures: tuple[Failure, ...]
    warnings: tuple[str, ...]
    undecided: tuple[Failure, ...] = ()
    evidence: tuple[Evidence, ...] = ()
