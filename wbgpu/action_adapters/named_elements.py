"""Actions two of whose numbers are directions of the picture: LeRobot-style named vectors."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from wbgpu.action_adapters.adapter import ImageMotion, checked_actions, delayed
from wbgpu.action_adapters.delay import check_delay
from wbgpu.action_adapters.elements import Element, check_elements, find_elements
from wbgpu.errors import ConfigurationError


class NamedElements:
    """Motion of the elements ``x`` and ``y``, scaled to pixels.

    PushT's actions in a video of 96 pixels are targets in a plane of 512 units:
    ``NamedElements("motor_0", "motor_1", x_pixels=96 / 512, y_pixels=96 / 512, are_targets=True)``.

    Args:
        x: name, or place, of the number that moves the robot to the right.
        y: of the number that moves it downwards.
        x_pixels: pixels per unit of ``x``; negative where it points to the left.
        y_pixels: pixels per unit of ``y``; negative where it points upwards.
        are_targets: the numbers are places to go to, so that motion is the difference of an
            action's to the one before; the first action's motion is not known.
        delay_steps: steps between an action and the motion that it makes.

    Raises:
        ConfigurationError: an argument out of range.
    """

    def __init__(
        self,
        x: Element,
        y: Element,
        x_pixels: float = 1.0,
        y_pixels: float = 1.0,
        are_targets: bool = False,
        delay_steps: int = 0,
    ) -> None:
        self._elements = check_elements([x, y])
        for name, scale in (("x_pixels", x_pixels), ("y_pixels", y_pixels)):
            if not math.isfinite(scale) or scale == 0:
                raise ConfigurationError(f"{name}: expected pixels per unit, not 0, got {scale}")
        self._scale = np.array([x_pixels, y_pixels])
        self._are_targets = are_targets
        self._delay_steps = check_delay(delay_steps)

    @property
    def adapter_id(self) -> str:
        """See `ActionAdapter`."""
        x, y = self._elements
        kind = "targets" if self._are_targets else "deltas"
        scale = f"{float(self._scale[0])!r},{float(self._scale[1])!r}"
        return f"named_elements/wbgpu-1.0({x!r},{y!r},{scale},{kind},delay={self._delay_steps})"

    def motion(
        self, actions: npt.NDArray[np.float32], names: tuple[str, ...] | None
    ) -> ImageMotion:
        """See `ActionAdapter.motion`."""
        found = find_elements(checked_actions(actions, names), names, self._elements)
        if isinstance(found, str):
            return ImageMotion(None, found)
        pixels = found * self._scale
        if self._are_targets:
            pixels = np.diff(pixels, axis=0, prepend=np.full((1, 2), np.nan))
        return ImageMotion(delayed(pixels, self._delay_steps))
