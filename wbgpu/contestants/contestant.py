"""What a contestant is, and what of the truth some of them are given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.int64]
Forecast = tuple[npt.NDArray[np.float64], ...]
"""For each variable ``[B, K]``, rows of probabilities."""


@runtime_checkable
class Contestant(Protocol):
    """B independent forecasters of B episodes, which play side by side.

    Episode b's forecasts depend on what row b was told since the last `reset`, and on nothing else.
    Arrays that it is given may be read only, and are not to be kept without a copy.
    :func:`~wbgpu.contestants.check_contestant` checks all of this.
    """

    def reset(self, batch_size: int) -> None:
        """Forget everything and get ready for B = ``batch_size`` new episodes."""

    def predict(self, state: Indices, action: Indices) -> Forecast:
        """Forecast the next state; changes nothing.

        Args:
            state: present outcomes of the variables, int64 ``[B, V]``.
            action: int64 ``[B]``.

        Returns:
            For each variable probabilities, float64 ``[B, K]``.
        """

    def learn(self, state: Indices, action: Indices, outcome: Indices) -> None:
        """Be told what happened: ``outcome`` is the next state, int64 ``[B, V]``."""


@runtime_checkable
class LogContestant(Contestant, Protocol):
    """A contestant whose losses may pass 745 nats, where probabilities in float64 end."""

    def predict_log(self, state: Indices, action: Indices) -> Forecast:
        """As :meth:`Contestant.predict`, but natural logarithms of the probabilities."""


@dataclass(frozen=True)
class AnswerKey:
    """The truth, for contestants that are no models but yardsticks.

    Attributes:
        transition: exact distribution of the next state given state ``[B, V]`` and action
            ``[B]``: for each variable float64 ``[B, K]``.
        action_probabilities: distribution of the behaviour policy's action in states ``[B, V]``:
            float64 ``[B, A]``.
    """

    transition: Callable[[Indices, Indices], Forecast]
    action_probabilities: Callable[[Indices], npt.NDArray[np.float64]]
