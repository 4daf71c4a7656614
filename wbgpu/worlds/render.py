"""States drawn as RGB frames, and where robot and object are in them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wbgpu.errors import ConfigurationError
from wbgpu.worlds.definition import WorldDefinition
from wbgpu.worlds.picture import Picture, Sprite, visible
from wbgpu.worlds.raster import coverage

SIZES = range(16, 4097)
"""Sides of a frame in pixels."""

_Layer = tuple[slice, slice, npt.NDArray[np.float64]]


class Renderer:
    """Draws the states of one world; the same state has the same pixels everywhere.

    Args:
        definition: a world with a picture.
        size: sides of the square frames in pixels.

    Raises:
        ConfigurationError: the world has no ``render`` section, or the size is out of range.
    """

    def __init__(self, definition: WorldDefinition, size: int = 256) -> None:
        if definition.picture is None:
            raise ConfigurationError(
                f"the world {definition.schema.world!r} has no picture: add a render section"
            )
        if not isinstance(size, int) or size not in SIZES:
            raise ConfigurationError(
                f"size: expected {SIZES.start} to {SIZES.stop - 1} pixels, got {size!r}"
            )
        self.definition = definition
        self.size = size
        self._picture: Picture = definition.picture
        self._scale = size / self._picture.canvas
        self._layers: dict[tuple[int, float, float], _Layer] = {}
        self._background = np.empty((size, size, 3))
        self._background[:] = self._picture.background
        self._num_painted = self._paint_what_never_changes()

    def frames(self, state: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        """Frames of states ``[B, V]``: RGB, uint8 ``[B, size, size, 3]``.

        Raises:
            ConfigurationError: a wrong shape, type or index.
        """
        state = self.definition.checked_state(state)
        distinct, inverse = np.unique(state, axis=0, return_inverse=True)
        frames = np.empty((len(distinct), self.size, self.size, 3), dtype=np.uint8)
        sprites = self._picture.sprites[self._num_painted :]
        shown = [visible(s.when, distinct, self.definition.schema) for s in sprites]
        xs, ys = [s.x.at(distinct) for s in sprites], [s.y.at(distinct) for s in sprites]
        for row in range(len(distinct)):
            canvas = self._background.copy()
            for index, sprite in enumerate(sprites):
                if shown[index][row]:
                    self._paint(canvas, sprite, float(xs[index][row]), float(ys[index][row]))
            frames[row] = np.floor(canvas + 0.5)
        # NumPy 2.0 alone gives the inverse another shape.
        return frames[inverse.reshape(-1)]

    def tracks(self, state: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[np.float64]]:
        """Where the tracked sprites are in the frames of states ``[B, V]``.

        Returns:
            For each of ``robot`` and ``object`` that the world draws, float64 ``[B, 2]``: x and y
            of the mean of the sprite's points, in indices of pixels (the centre of the upper left
            pixel is 0, 0); NaN where it is not drawn.

        Raises:
            ConfigurationError: a wrong shape, type or index.
        """
        state = self.definition.checked_state(state)
        tracks: dict[str, npt.NDArray[np.float64]] = {}
        for sprite in self._picture.sprites:
            if sprite.track is None:
                continue
            track = tracks.setdefault(sprite.track, np.full((len(state), 2), np.nan))
            center = np.array(sprite.points).mean(axis=0)
            place = np.stack([sprite.x.at(state), sprite.y.at(state)], axis=1) + center
            shown = visible(sprite.when, state, self.definition.schema)
            track[shown] = place[shown] * self._scale - 0.5
        return tracks

    def motion(self, action: str) -> tuple[float, float]:
        """Commanded motion dx, dy of an action, y downwards; (0, 0) where the world states none."""
        return self._picture.motion.get(action, (0.0, 0.0))

    def _paint_what_never_changes(self) -> int:
        sprites = self._picture.sprites
        for count, sprite in enumerate(sprites):
            if sprite.when or sprite.x.tables or sprite.y.tables:
                return count
            self._paint(self._background, sprite, sprite.x.constant, sprite.y.constant)
        return len(sprites)

    def _paint(self, canvas: npt.NDArray[np.float64], sprite: Sprite, x: float, y: float) -> None:
        key = id(sprite), x, y
        if key not in self._layers:
            points = (np.array(sprite.points) + np.array([x, y])) * self._scale
            self._layers[key] = coverage(points, sprite.radius * self._scale, self.size)
        rows, columns, alpha = self._layers[key]
        part = canvas[rows, columns]
        part += alpha[..., None] * (np.array(sprite.color, dtype=np.float64) - part)
