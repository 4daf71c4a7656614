"""What a perfect model that does not see the action would forecast.

For each variable sum over a of policy(a | state) * truth(variable | state, a): the best forecast
there is, of one distribution per variable, without the action. Its regret is what the action tells.
"""

from __future__ import annotations

import numpy as np

from wbgpu.contestants.contestant import AnswerKey, Forecast, Indices


class ActionBlind:
    """Marginal of the truth over the actions of the behaviour policy that plays.

    Args:
        answer_key: the truth.
    """

    def __init__(self, answer_key: AnswerKey) -> None:
        self._answer_key = answer_key

    def reset(self, batch_size: int) -> None:
        """There is nothing to forget."""
        del batch_size

    def predict(self, state: Indices, action: Indices) -> Forecast:
        """See :class:`~wbgpu.contestants.Contestant`; ``action`` is not looked at."""
        weights = self._answer_key.action_probabilities(state)
        every = [
            self._answer_key.transition(state, np.full_like(action, a))
            for a in range(weights.shape[1])
        ]
        marginals = []
        for rows in zip(*every, strict=True):
            # In the order of the actions, whatever the batch: a matrix product may choose another.
            marginal = np.zeros_like(rows[0])
            for a, row in enumerate(rows):
                marginal += weights[:, a, None] * row
            marginals.append(marginal)
        return tuple(marginals)

    def learn(self, state: Indices, action: Indices, outcome: Indices) -> None:
        """There is nothing to learn."""
        del state, action, outcome
