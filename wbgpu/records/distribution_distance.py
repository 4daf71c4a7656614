"""How far a suite's predictions as a whole are from its targets as a whole."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

MIN_EPISODES = 256
"""Under which a gate judges none, unless told otherwise: an eighth of the 2,048 videos that papers
compare. Ten say nothing whatever their distance."""


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
        extractor_sha256: of the network's file; ``None`` where there was none.
    """

    name: str
    metric_id: str
    value: float | None
    reason: str | None
    num_episodes: int
    num_observations: int
    num_features: int
    extractor_sha256: str | None = None

    def __post_init__(self) -> None:
        if (self.value is None) == (not self.reason):
            raise ValueError(
                f"{self.name}: expected either a value, or the reason why there is none"
            )
        if self.value is not None and not (math.isfinite(self.value) and self.value >= 0):
            raise ValueError(f"{self.name}: expected a finite distance >= 0, got {self.value!r}")

    @property
    def rank_deficiency(self) -> int:
        """Dimensions in which the sets' covariances cannot but be 0: D - (N - 1), at least 0."""
        return max(0, self.num_features - max(0, self.num_observations - 1))

    def is_of_as_many_as(self, other: DistributionDistance) -> bool:
        """Whether both are of equally many episodes and observations; else biases differ."""
        return (self.num_episodes, self.num_observations) == (
            other.num_episodes,
            other.num_observations,
        )


@dataclass(frozen=True, eq=False)
class EpisodeFeatures:
    """What an extractor makes of one episode.

    Attributes:
        target, prediction: ``[n, D]``: a row an episode for FVD, one a frame for FID.
        error: what it raised instead; both are then ``[0, D]``.
    """

    target: npt.NDArray[np.floating]
    prediction: npt.NDArray[np.floating]
    error: str | None = None


Features = Mapping[str, EpisodeFeatures]
"""Of one episode, by the name of the distance that wants them."""
