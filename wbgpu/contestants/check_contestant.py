"""The contract of contestants as a test that anybody can run on their own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from wbgpu.contestants.contestant import Contestant, Forecast, Indices, LogContestant
from wbgpu.records.world import Schema

_NUM_EPISODES, _NUM_STEPS = 7, 12
_SUM_TOLERANCE = 1e-6


def check_contestant(
    make: Callable[[], Contestant],
    schema: Schema,
    *,
    seed: int = 0,
    tolerance: float = 0.0,
) -> None:
    """Check that a contestant keeps the contract of :class:`~wbgpu.contestants.Contestant`.

    Forecasts are distributions; `predict` changes nothing; what is handed out may be written to,
    and what is handed in is neither written to nor kept; each episode's forecasts are those it
    would have alone and in any order; `reset` forgets.

    Args:
        make: makes a new contestant.
        schema: of the world it is made for.
        seed: of the random states, actions and outcomes that it is told.
        tolerance: by how much probabilities of one episode may differ between batches: 0 for
            arithmetic of our own, 1e-6 for a torch module.

    Raises:
        AssertionError: a part of the contract is broken; the message says which.
    """
    play = _Play(schema, seed)
    contestant = make()
    _expect(isinstance(contestant, Contestant), "the methods reset, predict and learn")
    forecasts = _played(contestant, play, list(range(_NUM_EPISODES)), is_checked=True)
    again = _played(contestant, play, list(range(_NUM_EPISODES)))
    _same(forecasts, again, "the same forecasts after reset", tolerance)
    backwards = list(reversed(range(_NUM_EPISODES)))
    for rows, what in (
        (backwards, "the same forecasts for episodes in another order"),
        *(([row], f"the same forecasts for episode {row} alone") for row in (0, 3)),
        ([2, 5], "the same forecasts in a batch of two"),
    ):
        chosen = [tuple(array[rows] for array in forecast) for forecast in forecasts]
        _same(chosen, _played(make(), play, rows), what, tolerance)


class _Play:
    """Random states, actions and outcomes: int64 ``[T + 1, B, V]`` and ``[T, B]``."""

    def __init__(self, schema: Schema, seed: int) -> None:
        generator = np.random.default_rng(seed)
        self.sizes = [variable.num_outcomes for variable in schema.variables]
        self.states: Indices = np.stack(
            [generator.integers(0, k, (_NUM_STEPS + 1, _NUM_EPISODES)) for k in self.sizes], 2
        )
        self.actions: Indices = generator.integers(
            0, len(schema.actions), (_NUM_STEPS, _NUM_EPISODES)
        )


def _played(
    contestant: Contestant, play: _Play, rows: list[int], *, is_checked: bool = False
) -> list[Forecast]:
    """Forecasts of all steps for some of the episodes."""
    contestant.reset(len(rows))
    forecasts = []
    for step in range(_NUM_STEPS):
        state, action = play.states[step][rows], play.actions[step][rows]
        outcome = play.states[step + 1][rows]
        for array in (state, action, outcome):
            array.setflags(write=False)
        forecast = contestant.predict(state, action)
        if is_checked:
            _check_step(contestant, forecast, state, action, play.sizes)
        forecasts.append(tuple(np.array(array) for array in forecast))
        contestant.learn(state, action, outcome)
        # A contestant that keeps what it was given would now see other numbers.
        for array in (state, action, outcome):
            array.setflags(write=True)
            array[...] = 0
    return forecasts


def _check_step(
    contestant: Contestant, forecast: Forecast, state: Indices, action: Indices, sizes: list[int]
) -> None:
    _expect(len(forecast) == len(sizes), f"{len(sizes)} variables, got {len(forecast)}")
    for v, (rows, size) in enumerate(zip(forecast, sizes, strict=True)):
        what = f"variable {v}: "
        _expect(isinstance(rows, np.ndarray) and rows.dtype == np.float64, f"{what}float64 arrays")
        shape = (len(state), size)
        _expect(rows.shape == shape, f"{what}the shape {[*shape]}, got {[*rows.shape]}")
        _expect(bool((rows >= 0).all()), f"{what}probabilities >= 0")
        is_whole = np.abs(rows.sum(axis=1) - 1) <= _SUM_TOLERANCE
        _expect(bool(is_whole.all()), f"{what}probabilities that sum to 1")
    kept = tuple(np.array(rows) for rows in forecast)
    contestant.predict(np.zeros_like(state), np.zeros_like(action))
    for rows in contestant.predict(state, action):
        if rows.flags.writeable:
            rows[...] = -1
    _same([kept], [contestant.predict(state, action)], "a predict that changes nothing", 0.0)
    _same([kept], [forecast], "forecasts that later calls leave alone", 0.0)
    if isinstance(contestant, LogContestant):
        logs = contestant.predict_log(state, action)
        probabilities = tuple(np.exp(rows) for rows in logs)
        _same([kept], [probabilities], "a predict_log that is the logarithm of predict", 1e-12)


def _same(first: list[Forecast], second: list[Forecast], contract: str, tolerance: float) -> None:
    for step, forecasts in enumerate(zip(first, second, strict=True)):
        for one, other in zip(*forecasts, strict=True):
            _expect(_is_close(one, other, tolerance), f"{contract} (step {step})")


def _is_close(
    one: npt.NDArray[np.float64], other: npt.NDArray[np.float64], tolerance: float
) -> bool:
    return one.shape == other.shape and bool((np.abs(one - other) <= tolerance).all())


def _expect(condition: bool, contract: str) -> None:
    if not condition:
        raise AssertionError(f"expected {contract}")
