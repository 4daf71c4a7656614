"""A linear map fitted to the displacements of ground-truth tracks, and how far to believe it.

Least squares without a constant: an action of zeros moves nothing. R^2 is about what the map was
*not* fitted to: 1 - sum abs(d - p)^2 / sum abs(d)^2 over steps that were left out, with the
displacement d and its prediction p; 0 is no better than "nothing moves", and there is no lower
bound. Under ``min_r_squared`` the actions are unsupported. Predictions of a world model never enter
a fit, so a model cannot be measured by its own errors.

- scope ``other_episodes``: each episode's map is fitted to all others, and its R^2 is over the
  episode. Right where all episodes have the same camera, and wrong where they do not: then R^2 is
  low.
- scope ``episode``: the map is fitted to the episode itself, and R^2 is by leaving out one step
  after the other. Right where cameras differ; needs more steps than elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from wbgpu.action_adapters.adapter import ImageMotion, checked_actions
from wbgpu.action_adapters.delay import check_delay
from wbgpu.action_adapters.elements import Element, check_elements, find_elements
from wbgpu.action_adapters.linear_map import LinearMap
from wbgpu.errors import ConfigurationError, InputError

Scope = Literal["other_episodes", "episode"]

MIN_R_SQUARED = 0.3
"""Below it, less than a third of the motion of the ground truth itself follows from the actions."""

_MIN_STEPS_PER_ELEMENT = 4


@dataclass(frozen=True, eq=False)
class ActionsAndTrack:
    """Actions of an episode, and how its ground truth moved.

    Attributes:
        actions: float32 ``[N, A]``; row i is what was done from frame i to frame i + 1.
        names: of the A elements, if the dataset has any.
        displacement: float64 ``[M, 2]``, pixels from frame i to frame i + 1, NaN where not seen;
            rows that only one of the two has are not used.
    """

    actions: npt.NDArray[np.float32]
    names: tuple[str, ...] | None
    displacement: npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FittedMap:
    """The map of one episode, an `ActionAdapter`.

    Attributes:
        linear_map: the map; ``None`` where there was not enough to fit it to.
        r_squared: see the module; ``None`` likewise.
        num_steps: that the map was fitted to.
        reason: why the episode's actions are unsupported; ``None`` where they are not.
        adapter_id: of the settings of the fit, and not of the numbers that came out of it.
    """

    linear_map: LinearMap | None
    r_squared: float | None
    num_steps: int
    reason: str | None
    adapter_id: str

    def motion(
        self, actions: npt.NDArray[np.float32], names: tuple[str, ...] | None
    ) -> ImageMotion:
        """See `ActionAdapter.motion`."""
        if self.reason is not None or self.linear_map is None:
            checked_actions(actions, names)
            return ImageMotion(None, self.reason, self.r_squared)
        return self.linear_map.motion(actions, names)


class LinearFit:
    """Fits a `LinearMap` for every episode of a suite.

    Args:
        elements: names, or places, of the numbers of an action that move the end effector.
        delay_steps: steps between an action and the motion that it makes; try 0, 1 and 2, and take
            the one of the highest R^2.
        scope: what the map of an episode is fitted to.
        min_r_squared: below it the actions of an episode are unsupported.

    Raises:
        ConfigurationError: an argument out of range.
    """

    def __init__(
        self,
        elements: Sequence[Element],
        delay_steps: int = 0,
        scope: Scope = "other_episodes",
        min_r_squared: float = MIN_R_SQUARED,
    ) -> None:
        self._elements = check_elements(elements)
        self._delay_steps = check_delay(delay_steps)
        if scope not in ("other_episodes", "episode"):
            raise ConfigurationError(
                f"scope: expected 'other_episodes' or 'episode', got {scope!r}"
            )
        if not 0 <= min_r_squared < 1:
            raise ConfigurationError(
                f"min_r_squared: expected a number from 0 to below 1, got {min_r_squared}"
            )
        self.scope: Scope = scope
        self._min_r_squared = min_r_squared

    @property
    def adapter_id(self) -> str:
        """Of every map that it makes."""
        elements = ",".join(map(repr, self._elements))
        settings = f"delay={self._delay_steps},{self.scope},min_r_squared={self._min_r_squared:g}"
        return f"linear_fit/wbgpu-1.0([{elements}],{settings})"

    def fit(self, episodes: Mapping[str, ActionsAndTrack]) -> dict[str, FittedMap]:
        """The map of every episode.

        Args:
            episodes: by id; actions and ground-truth displacement of each.

        Raises:
            InputError: an episode's actions or displacement are malformed; the message names it.
        """
        rows: dict[str, _Rows | str] = {}
        for name, episode in episodes.items():
            try:
                rows[name] = self._rows(episode)
            except InputError as error:
                raise InputError(f"episode {name}: {error}") from error
        return {name: self._fitted(name, rows) for name in episodes}

    def _rows(self, episode: ActionsAndTrack) -> _Rows | str:
        displacement = episode.displacement
        if displacement.ndim != 2 or displacement.shape[1] != 2:
            raise InputError(f"displacement {displacement.shape}: expected [M, 2]")
        actions = checked_actions(episode.actions, episode.names)
        deltas = find_elements(actions, episode.names, self._elements)
        if isinstance(deltas, str):
            return deltas
        moved = displacement[self._delay_steps :]
        num = min(len(moved), len(deltas))
        deltas, moved = deltas[:num], moved[:num]
        seen = np.isfinite(moved).all(axis=1)
        return _Rows(deltas[seen], moved[seen])

    def _fitted(self, name: str, rows: Mapping[str, _Rows | str]) -> FittedMap:
        own = rows[name]
        if isinstance(own, str):
            return self._unsupported(own)
        least = _MIN_STEPS_PER_ELEMENT * len(self._elements)
        if self.scope == "episode":
            train = own
        else:
            others = [row for key, row in rows.items() if key != name and isinstance(row, _Rows)]
            train = _Rows.cat(others, len(self._elements))
        if len(train.deltas) < least or np.linalg.matrix_rank(train.deltas) < len(self._elements):
            where = "episode has" if self.scope == "episode" else "other episodes have"
            return self._unsupported(
                f"A map of {len(self._elements)} element(s) is not determined by the "
                f"{len(train.deltas)} step(s) that the {where}; it takes {least} in which all "
                "elements vary."
            )
        matrix = _least_squares(train)
        left_out = _left_out(own) if self.scope == "episode" else own.deltas @ matrix.T
        r_squared = _r_squared(own.moved, left_out)
        if r_squared is None:
            return self._unsupported("The tracked robot does not move in the ground truth.")
        reason = None
        if r_squared < self._min_r_squared:
            reason = (
                f"The actions explain too little of the motion of the ground truth: R^2 is "
                f"{r_squared:.2f}, and {self._min_r_squared:g} is needed."
            )
        fitted = LinearMap(self._elements, matrix, self._delay_steps, r_squared)
        return FittedMap(fitted, r_squared, len(train.deltas), reason, self.adapter_id)

    def _unsupported(self, reason: str) -> FittedMap:
        return FittedMap(None, None, 0, reason, self.adapter_id)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Steps that are seen: ``deltas [S, E]`` and ``moved [S, 2]``."""

    deltas: npt.NDArray[np.float64]
    moved: npt.NDArray[np.float64]

    @classmethod
    def cat(cls, parts: Sequence[_Rows], num_elements: int) -> _Rows:
        return cls(
            np.concatenate([np.empty((0, num_elements)), *(part.deltas for part in parts)]),
            np.concatenate([np.empty((0, 2)), *(part.moved for part in parts)]),
        )


def _least_squares(rows: _Rows) -> npt.NDArray[np.float64]:
    """The matrix ``[2, E]``."""
    solution = np.linalg.lstsq(rows.deltas, rows.moved, rcond=None)[0]
    return np.asarray(solution.T, dtype=np.float64)


def _left_out(rows: _Rows) -> npt.NDArray[np.float64]:
    """Predictions ``[S, 2]`` of each step from a fit without it, by the hat matrix (PRESS)."""
    predicted = rows.deltas @ _least_squares(rows).T
    leverage = np.einsum("se,es->s", rows.deltas, np.linalg.pinv(rows.deltas))
    # A step that alone determines an element: without it the fit says nothing of that element.
    free = np.maximum(1 - leverage, 1e-9)[:, None]
    return np.asarray(rows.moved - (rows.moved - predicted) / free, dtype=np.float64)


def _r_squared(moved: npt.NDArray[np.float64], predicted: npt.NDArray[np.float64]) -> float | None:
    total = float((moved**2).sum())
    return 1 - float(((moved - predicted) ** 2).sum()) / total if total > 0 else None
