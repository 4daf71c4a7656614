"""End-effector deltas projected to the picture by a linear map that the user declares.

For a small motion before a still camera, ``pixels = matrix @ deltas``: the camera's projection at
the place where the robot works. Deltas far from the camera move fewer pixels than near it, which
one matrix cannot say.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from wbgpu.action_adapters.adapter import ImageMotion, checked_actions, delayed
from wbgpu.action_adapters.delay import check_delay
from wbgpu.action_adapters.elements import Element, check_elements, find_elements
from wbgpu.errors import ConfigurationError


class LinearMap:
    """Motion by ``matrix``, pixels per unit of each element.

    Args:
        elements: names, or places, of the E numbers of an action that move the end effector.
        matrix: ``[2, E]``: how far one unit of each moves it to the right, and downwards.
        delay_steps: steps between an action and the motion that it makes.
        r_squared: of the fit that the matrix comes from, if it does.

    Raises:
        ConfigurationError: elements or delay out of range, or a matrix that is not ``[2, E]`` of
            finite numbers.
    """

    def __init__(
        self,
        elements: Sequence[Element],
        matrix: Sequence[Sequence[float]] | npt.NDArray[np.float64],
        delay_steps: int = 0,
        r_squared: float | None = None,
    ) -> None:
        self.elements = check_elements(elements)
        rows = [list(row) for row in matrix]
        width = len(self.elements)
        if len(rows) != 2 or any(len(row) != width for row in rows):
            raise ConfigurationError(
                f"matrix: expected 2 rows of {width} number(s), one an element, got rows of "
                f"{[len(row) for row in rows]}"
            )
        self.matrix = np.array(rows, dtype=np.float64)
        if not np.isfinite(self.matrix).all():
            raise ConfigurationError(f"matrix: expected finite numbers, got {rows}")
        self.delay_steps = check_delay(delay_steps)
        self.r_squared = r_squared

    @property
    def adapter_id(self) -> str:
        """See `ActionAdapter`."""
        elements = ",".join(map(repr, self.elements))
        matrix = self.matrix.tolist()
        return f"linear_map/wbgpu-1.0([{elements}],{matrix},delay={self.delay_steps})"

    def motion(
        self, actions: npt.NDArray[np.float32], names: tuple[str, ...] | None
    ) -> ImageMotion:
        """See `ActionAdapter.motion`."""
        found = find_elements(checked_actions(actions, names), names, self.elements)
        if isinstance(found, str):
            return ImageMotion(None, found)
        pixels = found @ self.matrix.T
        return ImageMotion(delayed(pixels, self.delay_steps), r_squared=self.r_squared)
