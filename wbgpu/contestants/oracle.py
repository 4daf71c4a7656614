"""The answer key itself: regret 0, the floor of every world."""

from __future__ import annotations

from wbgpu.contestants.contestant import AnswerKey, Forecast, Indices


class Oracle:
    """Forecasts the truth.

    Args:
        answer_key: the truth.
    """

    def __init__(self, answer_key: AnswerKey) -> None:
        self._answer_key = answer_key

    def reset(self, batch_size: int) -> None:
        """There is nothing to forget."""
        del batch_size

    def predict(self, state: Indices, action: Indices) -> Forecast:
        """See :class:`~wbgpu.contestants.Contestant`."""
        return self._answer_key.transition(state, action)

    def learn(self, state: Indices, action: Indices, outcome: Indices) -> None:
        """There is nothing to learn."""
        del state, action, outcome
