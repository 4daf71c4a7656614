"""Colour blobs: worldbench's tracker for drawn scenes, on all frames at once.

A blob is all pixels of a frame that a colour rule takes, wherever they lie; its position is the
mean of their coordinates. With r, g, b of a pixel, 0-255, the first rule that takes any pixel
counts:

- robot: red (r > 150, g < 130, b < 130); else colourful.
- object: green (g > 120, g > r + 30, g > b + 10); else blue (b > 140, r < 160, g < 180); else
  colourful and more than 12 pixels from the robot, where one is seen.
- colourful: max(r, g, b) - min(r, g, b) > 50 and r + g + b > 180.

The area is that of the red and the green pixels, 0 where another rule had to do. The confidence is
1 for the first rule, 0.5 for the second and 0.25 for the third: an order and no probability. Equal
to worldbench 0.4.1; sums are integers, so devices and cuts agree bit for bit.

Only drawn scenes look like this. On camera images it finds red cables and green plants.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from wbgpu.tracking.tracks import Tracks

_ROBOT_DISTANCE = 12.0
_CONFIDENCES = (1.0, 0.5, 0.25)


@dataclass(frozen=True)
class ColourBlobs:
    """A `wbgpu.tracking.Tracker` of the roles ``robot`` and ``object``."""

    @property
    def tracker_id(self) -> str:
        """Of the rules above."""
        return "colour_blobs/worldbench-1.0"

    @property
    def names(self) -> tuple[str, ...]:
        """``robot`` and ``object``."""
        return ("robot", "object")

    def start(self) -> ColourBlobs:
        """The tracker itself: it keeps nothing between frames."""
        return self

    def track(self, frames: Tensor) -> Tracks:
        """The blobs of each frame, uint8 ``[n, 3, H, W]``."""
        if frames.dtype != torch.uint8 or frames.ndim != 4 or frames.shape[1] != 3:
            raise ValueError(
                f"frames: expected uint8 [n, 3, H, W], got {frames.dtype} {tuple(frames.shape)}"
            )
        return colour_blobs(frames)


def colour_blobs(frames: Tensor) -> Tracks:
    """Tracks of the roles ``robot`` and ``object`` in frames, uint8 ``[n, 3, H, W]``."""
    channels = frames.short()
    red, green, blue = channels.unbind(1)
    is_red = (red > 150) & (green < 130) & (blue < 130)
    is_green = (green > 120) & (green > red + 30) & (green > blue + 10)
    is_blue = (blue > 140) & (red < 160) & (green < 180)
    spread = channels.amax(dim=1) - channels.amin(dim=1)
    is_colourful = (spread > 50) & (red + green + blue > 180)
    red_blob, green_blob, blue_blob = map(_blob, (is_red, is_green, is_blue))
    robot, robot_rank = _first(red_blob, _blob(is_colourful))
    apart = _far_from(robot, is_colourful, wanted=(green_blob[1] == 0) & (blue_blob[1] == 0))
    thing, thing_rank = _first(green_blob, blue_blob, _blob(apart))
    area = torch.stack([red_blob[1], green_blob[1]], dim=1).double()
    confidences = frames.new_tensor((*_CONFIDENCES, 0.0), dtype=torch.float64)
    return Tracks(
        names=("robot", "object"),
        position=torch.stack([robot, thing], dim=1),
        area=area,
        confidence=confidences[torch.stack([robot_rank, thing_rank], dim=1)],
    )


def _blob(mask: Tensor) -> tuple[Tensor, Tensor]:
    """Mean x and y ``[n, 2]`` of the pixels of a mask ``[n, H, W]``, or NaN; their number."""
    _, height, width = mask.shape
    columns, rows = mask.sum(dim=1), mask.sum(dim=2)
    count = columns.sum(dim=1)
    x = (columns * torch.arange(width, device=mask.device)).sum(dim=1)
    y = (rows * torch.arange(height, device=mask.device)).sum(dim=1)
    return torch.stack([x, y], dim=1).double() / count[:, None], count


def _first(*blobs: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """The position of the first blob that has pixels, and which it is; one too many for none."""
    position, count = blobs[0]
    rank = torch.where(count > 0, 0, len(_CONFIDENCES))
    for index, (other, num_pixels) in enumerate(blobs[1:], start=1):
        is_chosen = (rank == len(_CONFIDENCES)) & (num_pixels > 0)
        position = torch.where(is_chosen[:, None], other, position)
        rank = torch.where(is_chosen, index, rank)
    return position, rank


def _far_from(robot: Tensor, mask: Tensor, wanted: Tensor) -> Tensor:
    """The pixels of ``mask`` away from ``robot [n, 2]``; all of them where there is no robot.

    Only frames that are ``wanted`` are looked at, of the others nothing is taken.
    """
    result = torch.zeros_like(mask)
    frames = wanted.nonzero()[:, 0]
    if not len(frames):
        return result
    _, height, width = mask.shape
    x = torch.arange(width, device=mask.device, dtype=torch.float64)
    y = torch.arange(height, device=mask.device, dtype=torch.float64)
    squared_x = (x - robot[frames, :1]).square()
    squared_y = (y - robot[frames, 1:]).square()
    distance = (squared_x[:, None, :] + squared_y[:, :, None]).sqrt()
    # A distance from no robot is NaN, and no number is above it.
    result[frames] = mask[frames] & ~(distance <= _ROBOT_DISTANCE)
    return result
