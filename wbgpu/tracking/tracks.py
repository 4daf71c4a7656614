"""Where things are in the frames of a video."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Tracks:
    """What a tracker saw in T frames of one video; K things that have a role, such as "robot".

    Attributes:
        names: the K roles, all different.
        position: float64 ``[T, K, 2]``, x to the right and y downwards in pixels; the centre of the
            first pixel is (0, 0). NaN, both of them, where the thing was not seen.
        area: float64 ``[T, K]``, pixels; 0 where it was not seen.
        confidence: float64 ``[T, K]``, 0 to 1, by the tracker's own measure; 0 where not seen.

    Raises:
        TypeError: a column that is not a float64 tensor.
        ValueError: shapes that do not fit together, equal names, an infinite number, or a column
            that contradicts ``position`` about what was seen.
    """

    names: tuple[str, ...]
    position: Tensor
    area: Tensor
    confidence: Tensor

    def __post_init__(self) -> None:
        if len(set(self.names)) != len(self.names):
            raise ValueError(f"names: expected different roles, got {self.names}")
        shape = (self.position.shape[0], len(self.names))
        wanted = {"position": (*shape, 2), "area": shape, "confidence": shape}
        for column, expected in wanted.items():
            tensor = getattr(self, column)
            if tensor.dtype != torch.float64:
                raise TypeError(f"{column}: expected float64, got {tensor.dtype}")
            if tuple(tensor.shape) != expected:
                raise ValueError(
                    f"{column} {tuple(tensor.shape)}: expected {expected}, "
                    f"{shape[0]} frames of {len(self.names)} roles"
                )
        missing = self.position.isnan()
        if bool((missing[..., 0] != missing[..., 1]).any()):
            raise ValueError("position: expected both of x and y to be NaN, or neither")
        if bool(self.position.isinf().any()):
            raise ValueError("position: expected finite numbers, or NaN where nothing was seen")
        if not bool((self.area.isfinite() & (self.area >= 0)).all()):
            raise ValueError("area: expected finite numbers of pixels, 0 or more")
        if not bool(((self.confidence >= 0) & (self.confidence <= 1)).all()):
            raise ValueError("confidence: expected numbers from 0 to 1")
        for column in ("area", "confidence"):
            if bool(getattr(self, column)[~self.seen].any()):
                raise ValueError(
                    f"{column}: expected 0 where position is NaN, for nothing was seen"
                )

    @classmethod
    def unseen(
        cls, names: tuple[str, ...], num_frames: int, device: torch.device | str = "cpu"
    ) -> Tracks:
        """Tracks of things that no frame shows."""
        shape = (num_frames, len(names))
        nothing = torch.zeros(shape, dtype=torch.float64, device=device)
        position = torch.full((*shape, 2), torch.nan, dtype=torch.float64, device=device)
        return cls(names, position, nothing, nothing.clone())

    @classmethod
    def cat(cls, parts: Sequence[Tracks]) -> Tracks:
        """Tracks of consecutive frames of one video; at least one part.

        Raises:
            ValueError: no part, or parts with other roles.
        """
        if not parts:
            raise ValueError("parts: expected at least one")
        names = {part.names for part in parts}
        if len(names) != 1:
            raise ValueError(f"parts: expected the same roles in all, got {sorted(names)}")
        return cls(
            parts[0].names,
            torch.cat([part.position for part in parts]),
            torch.cat([part.area for part in parts]),
            torch.cat([part.confidence for part in parts]),
        )

    @property
    def seen(self) -> Tensor:
        """Whether the thing was seen, bool ``[T, K]``."""
        return ~self.position[..., 0].isnan()

    def __len__(self) -> int:
        return self.position.shape[0]

    def __getitem__(self, frames: slice) -> Tracks:
        """The tracks of some of the frames."""
        return Tracks(self.names, self.position[frames], self.area[frames], self.confidence[frames])

    def of(self, name: str) -> Tracks:
        """The tracks of one role, K = 1.

        Raises:
            ValueError: no such role.
        """
        if name not in self.names:
            known = ", ".join(self.names) or "none"
            raise ValueError(f"there is no role {name!r} in these tracks; they have: {known}")
        column = slice(self.names.index(name), self.names.index(name) + 1)
        return Tracks(
            (name,), self.position[:, column], self.area[:, column], self.confidence[:, column]
        )

    def to(self, device: torch.device | str) -> Tracks:
        """The same on a device."""
        return Tracks(
            self.names,
            self.position.to(device),
            self.area.to(device),
            self.confidence.to(device),
        )
