"""How far a suite's predictions as a whole are from its targets as a whole."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DistributionDistance:
    """One distance of two sets of features, such as FVD; 0 is the same distribution.

    Attributes:
        name: key in results, such as ``fvd``.
        metric_id: name, definition, extractor and how frames are handed to it. Distances under
            different ids are never compared.
        value: not negative; ``None`` where there is none.
        reason: why; ``None`` where there is a value.
        num_episodes: of each set.
        num_observations: of each set: episodes for FVD, frames for FID.
        num_features: numbers in an observation.
    """

    name: str
    metric_id: str
    value: float | None
    reason: str | None
    num_episodes: int
    num_observations: int
    num_features: int

    def __post_init__(self) -> None:
        if (self.value is None) == (not self.reason):
            raise ValueError(
                f"{self.name}: expected either a value, or the reason why there is none"
            )

    @property
    def rank_deficiency(self) -> int:
        """Dimensions in which the sets' covariances cannot but be 0: D - (N - 1), at least 0."""
        return max(0, self.num_features - max(0, self.num_observations - 1))
