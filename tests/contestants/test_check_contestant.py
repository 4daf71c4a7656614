"""The conformance suite finds each way to break the contract."""

from __future__ import annotations

import numpy as np
import pytest

from wbgpu.contestants import KrichevskyTrofimov, Uniform, check_contestant
from wbgpu.worlds import load_world

SCHEMA = load_world("spectator").schema


class NoReset(KrichevskyTrofimov):
    def reset(self, batch_size):
        if not hasattr(self, "_rows") or len(self._rows) != batch_size:
            super().reset(batch_size)


class Shared(KrichevskyTrofimov):
    """Counts what all episodes of the batch saw."""

    def learn(self, state, action, outcome):
        super().learn(state, action, outcome)
        for counts in self._counts:
            counts[:] = counts.sum(axis=0, keepdims=True)


class Peeking(KrichevskyTrofimov):
    """Takes a question for an event."""

    def predict(self, state, action):
        forecast = super().predict(state, action)
        self.learn(state, action, state)
        return forecast


class Reused(Uniform):
    """Hands out the array that it works with."""

    def reset(self, batch_size):
        self._kept = [np.full((batch_size, size), 1.0 / size) for size in self._sizes]

    def predict(self, state, action):
        return tuple(self._kept)


class Unsure(Uniform):
    def predict(self, state, action):
        return tuple(rows * 0.9 for rows in super().predict(state, action))


class Single(Uniform):
    def predict(self, state, action):
        return tuple(rows.astype(np.float32) for rows in super().predict(state, action))


class Keeping(KrichevskyTrofimov):
    """Keeps what it was given without a copy, and learns it one step late."""

    last = None

    def reset(self, batch_size):
        super().reset(batch_size)
        self.last = None

    def learn(self, state, action, outcome):
        if self.last is not None:
            super().learn(*self.last)
        self.last = (state, action, outcome)


class Ordered(Uniform):
    """Knows the place of an episode in the batch."""

    def predict(self, state, action):
        rows = super().predict(state, action)
        for row in rows:
            row[0] = np.eye(row.shape[1])[0]
        return rows


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (NoReset, "the same forecasts after reset"),
        (Shared, "episode"),
        (Peeking, "a predict that changes nothing"),
        (Reused, "a predict that changes nothing"),
        (Unsure, "probabilities that sum to 1"),
        (Single, "float64 arrays"),
        (Ordered, "in another order"),
    ],
)
def test_a_broken_contract_is_found(kind, message):
    with pytest.raises(AssertionError, match=message):
        check_contestant(lambda: kind(SCHEMA), SCHEMA)


def test_what_it_was_given_is_not_to_be_kept():
    """The arrays of a step may be used again; kept without a copy they would hold other numbers."""
    honest = KrichevskyTrofimov(SCHEMA)
    state, action = np.array([[1, 0]]), np.array([0])
    keeping = Keeping(SCHEMA)
    keeping.reset(1)
    honest.reset(1)
    check_contestant(lambda: KrichevskyTrofimov(SCHEMA), SCHEMA)
    keeping.learn(state, action, np.array([[2, 1]]))
    state[:] = 0
    keeping.learn(state, action, np.array([[0, 0]]))
    honest.learn(np.array([[1, 0]]), np.array([0]), np.array([[2, 1]]))
    same = [
        np.array_equal(a, b)
        for a, b in zip(
            keeping.predict(np.array([[1, 0]]), action),
            honest.predict(np.array([[1, 0]]), action),
            strict=True,
        )
    ]
    assert not all(same)


def test_a_missing_method_is_found():
    class Dumb:
        def predict(self, state, action):
            return ()

    with pytest.raises(AssertionError, match="reset, predict and learn"):
        check_contestant(Dumb, SCHEMA)
