"""Several results on the same episodes: every pair, and a ranking that says how sure it is."""

from __future__ import annotations

from dataclasses import dataclass

from wbgpu.records.evidence import Estimate


@dataclass(frozen=True)
class PairChange:
    """Two of the results; change is second - first.

    Attributes:
        first, second: labels.
        change: mean over the episodes, with its interval.
        p_value: sign-flip, two-sided, of this pair alone; ``None`` where there are too few units.
        adjusted_p_value: with familywise error control over all pairs.
    """

    first: str
    second: str
    change: Estimate
    p_value: float | None
    adjusted_p_value: float | None


@dataclass(frozen=True)
class RankedResult:
    """One of the results.

    Attributes:
        label: unique among the results.
        score: mean over the episodes, with its interval; intervals of two results may overlap and
            their paired difference still be clear, because both are high on the same episodes.
        best_rank, worst_rank: 1-based; what remains after counting only differences to others that
            are significant among all pairs. With probability ``level`` all true ranks lie within.
    """

    label: str
    score: Estimate
    best_rank: int
    worst_rank: int


@dataclass(frozen=True)
class Ranking:
    """All results, best mean first.

    Attributes:
        measure: such as ``composite`` or ``expected regret``.
        unit: of scores and changes.
        level: of intervals and of the ranks, 0-1.
        num_episodes: on which all results have a value.
        num_left_out: episodes on which some have none.
        pairs: in the order of ``ranked``: the better of two comes first.
    """

    measure: str
    unit: str
    higher_is_better: bool
    level: float
    num_episodes: int
    num_left_out: int
    ranked: tuple[RankedResult, ...]
    pairs: tuple[PairChange, ...]
    warnings: tuple[str, ...] = ()

    def is_significant(self, pair: PairChange) -> bool:
        """Whether the test over all pairs finds a difference; this is what ranks count."""
        return pair.adjusted_p_value is not None and pair.adjusted_p_value <= 1.0 - self.level

    def is_contradicted(self, pair: PairChange) -> bool:
        """Whether the test finds a difference and the pair's interval holds 0, or the interval
        leaves 0 out and the test of this pair alone finds none. Sign flips assume symmetric
        differences, and the interval does not.
        """
        lower, upper = pair.change.lower, pair.change.upper
        if lower is None or upper is None or pair.p_value is None:
            return False
        if lower <= 0.0 <= upper:
            return self.is_significant(pair)
        return pair.p_value > 1.0 - self.level
