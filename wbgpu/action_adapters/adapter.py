"""What an action adapter must do: say what actions mean in the picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from wbgpu.errors import InputError


@dataclass(frozen=True, eq=False)
class ImageMotion:
    """How far actions are to move the robot in the picture, or why nobody can tell.

    Attributes:
        pixels: float64 ``[N, 2]``, x to the right and y downwards; row i is the step from frame i
            to frame i + 1. NaN in both where it is not known, as before the first delayed action.
            ``None`` where the actions are unsupported.
        reason: why they are unsupported; ``None`` where ``pixels`` is there.
        r_squared: where the adapter was fitted, how well it predicts displacements that it was not
            fitted to; see `wbgpu.action_adapters.fit`.

    Raises:
        ValueError: both or neither of ``pixels`` and ``reason``, or another shape.
    """

    pixels: npt.NDArray[np.float64] | None
    reason: str | None = None
    r_squared: float | None = None

    def __post_init__(self) -> None:
        if (self.pixels is None) == (not self.reason):
            raise ValueError("expected either pixels, or the reason why there are none")
        if self.pixels is not None and (self.pixels.ndim != 2 or self.pixels.shape[1] != 2):
            raise ValueError(f"pixels {self.pixels.shape}: expected [N, 2]")


@runtime_checkable
class ActionAdapter(Protocol):
    """Turns the numbers of actions into motion in the picture."""

    @property
    def adapter_id(self) -> str:
        """Name, version and every setting that changes a motion."""
        ...

    def motion(
        self, actions: npt.NDArray[np.float32], names: tuple[str, ...] | None
    ) -> ImageMotion:
        """Motion of an episode's actions.

        Args:
            actions: float32 ``[N, A]``; row i is what was done from frame i to frame i + 1.
            names: of the A elements, if the dataset has any.

        Raises:
            InputError: actions that are not ``[N, A]``, are not finite, or do not fit ``names``.
        """
        ...


def checked_actions(
    actions: npt.NDArray[np.float32], names: tuple[str, ...] | None
) -> npt.NDArray[np.float64]:
    """The actions in float64, checked as every adapter does first.

    Raises:
        InputError: see `ActionAdapter.motion`.
    """
    if actions.ndim != 2:
        raise InputError(f"actions {actions.shape}: expected [N, A], a row of A numbers per step")
    if names is not None and len(names) != actions.shape[1]:
        raise InputError(
            f"actions {actions.shape}: {len(names)} name(s) for {actions.shape[1]} number(s)"
        )
    finite = np.isfinite(actions)
    if not finite.all():
        row, column = np.argwhere(~finite)[0].tolist()
        raise InputError(f"actions[{row}, {column}] is {actions[row, column]}: expected a number")
    return actions.astype(np.float64)


def delayed(pixels: npt.NDArray[np.float64], delay_steps: int) -> npt.NDArray[np.float64]:
    """``pixels [N, 2]`` made ``delay_steps`` steps later, NaN before the first."""
    late = np.full_like(pixels, np.nan)
    late[delay_steps:] = pixels[: max(0, len(pixels) - delay_steps)]
    return late
