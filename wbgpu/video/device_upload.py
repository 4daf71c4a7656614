"""Frames to a GPU: from pinned memory that is used again, on a stream of their own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from wbgpu.video.windows import as_arrays

_NUM_BUFFERS = 6
"""Target, prediction and context of the window that is copied, and of the one being filled."""


class DeviceUpload:
    """Copies frames to one CUDA device while it computes and the host goes on.

    Pinning memory stops the host for milliseconds, so a few buffers are pinned once, grow to the
    largest window and are used in turn. A buffer is filled again only when its copy has left it.
    Whatever the caller launches next on its current stream waits for the copy, and only that.

    Not thread-safe, and not for processes that were forked off.

    Args:
        device: a CUDA device.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._buffers = [_Buffer() for _ in range(_NUM_BUFFERS)]
        self._next = 0

    def join(self, parts: Sequence[Tensor]) -> Tensor:
        """One uint8 ``[N, 3, H, W]``, NHWC in memory, on the device.

        Args:
            parts: uint8 ``[n, 3, H, W]`` each, on the CPU or, complete, on the device.
        """
        if any(part.device.type != "cpu" for part in parts):
            moved = [part.to(self._device) for part in parts]
            return moved[0] if len(moved) == 1 else torch.cat(moved)
        _, channels, height, width = parts[0].shape
        shape = (sum(map(len, parts)), height, width, channels)
        buffer = self._buffers[self._next]
        self._next = (self._next + 1) % len(self._buffers)
        pinned = buffer.of(shape)
        np.concatenate(as_arrays(parts), out=pinned.numpy())
        with torch.cuda.stream(self._stream):
            frames = torch.empty(shape, dtype=torch.uint8, device=self._device)
            frames.copy_(pinned, non_blocking=True)
            buffer.copied.record(self._stream)
        compute = torch.cuda.current_stream(self._device)
        compute.wait_event(buffer.copied)
        # Allocated on the copying stream: the memory must not be reused before `compute` is done.
        frames.record_stream(compute)
        return frames.permute(0, 3, 1, 2)

    def synchronize(self) -> None:
        """Wait for the copies; for measuring them."""
        self._stream.synchronize()


class _Buffer:
    def __init__(self) -> None:
        self._memory = torch.empty(0, dtype=torch.uint8, device="cpu")
        self.copied = torch.cuda.Event()  # type: ignore[no-untyped-call]

    def of(self, shape: tuple[int, ...]) -> Tensor:
        """Pinned memory in ``shape``, whose last copy has left it."""
        self.copied.synchronize()
        num_bytes = int(np.prod(shape))
        if len(self._memory) < num_bytes:
            self._memory = torch.empty(num_bytes, dtype=torch.uint8, device="cpu", pin_memory=True)
        return self._memory[:num_bytes].view(shape)
