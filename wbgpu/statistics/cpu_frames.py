"""Frames as the CPU kernels read them: rows of interleaved RGB in flat memory."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from torch import Tensor


class FlatFrames(NamedTuple):
    """Frames whose rows are contiguous: value i of row r of frame f is at f * frame_stride +
    r * row_stride + i, in the order R, G, B of the leftmost pixel, R, G, B of the next one, ...

    Attributes:
        values: uint8 ``[...]``, memory from the first frame on.
        frame_stride: values from a frame to the next.
        row_stride: values from a row to the next.
    """

    values: npt.NDArray[np.uint8]
    frame_stride: int
    row_stride: int


def has_flat_rows(frames: Tensor) -> bool:
    """Whether rows of uint8 ``[F, 3, H, W]`` are interleaved RGB in memory."""
    return frames.stride(1) == 1 and (frames.stride(3) == 3 or frames.shape[3] == 1)


def flat_view(frames: Tensor) -> FlatFrames:
    """The same memory, for frames that `has_flat_rows`."""
    array: npt.NDArray[np.uint8] = frames.numpy()
    span = 1 + sum((n - 1) * stride for n, stride in zip(array.shape, array.strides, strict=True))
    values = np.lib.stride_tricks.as_strided(array, (span if array.size else 0,), (1,))
    return FlatFrames(values, array.strides[0], array.strides[2])


def flat_copy(
    frames: Tensor, rows: npt.NDArray[np.int64]
) -> tuple[FlatFrames, npt.NDArray[np.int64]]:
    """Copies of the frames that ``rows`` name, each once, and where they now are.

    Negative rows name no frame and stay as they are.
    """
    needed, index = np.unique(rows, return_inverse=True)
    num_missing = int(np.searchsorted(needed, 0))
    _, num_channels, height, width = frames.shape
    copy = np.empty((len(needed) - num_missing, height, width, num_channels), np.uint8)
    array: npt.NDArray[Any] = frames.numpy()
    for i, row in enumerate(needed[num_missing:]):
        for channel in range(num_channels):
            copy[i, :, :, channel] = array[row, channel]
    moved = np.where(rows < 0, rows, index.reshape(rows.shape) - num_missing)
    return FlatFrames(copy.reshape(-1), copy[:1].size, num_channels * width), moved
