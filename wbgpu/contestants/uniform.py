"""Every outcome equally likely: what knowing nothing costs."""

from __future__ import annotations

import numpy as np

from wbgpu.contestants.contestant import Forecast, Indices
from wbgpu.records.world import Schema


class Uniform:
    """Forecasts 1 / K for each of a variable's K outcomes.

    Args:
        schema: of the world.
    """

    def __init__(self, schema: Schema) -> None:
        self._sizes = [variable.num_outcomes for variable in schema.variables]

    def reset(self, batch_size: int) -> None:
        """There is nothing to forget."""
        del batch_size

    def predict(self, state: Indices, action: Indices) -> Forecast:
        """See :class:`~wbgpu.contestants.Contestant`."""
        del action
        return tuple(np.full((len(state), size), 1.0 / size) for size in self._sizes)

    def learn(self, state: Indices, action: Indices, outcome: Indices) -> None:
        """There is nothing to learn."""
        del state, action, outcome
