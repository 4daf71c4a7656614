"""What the loader yields, and how chunks of episodes are packed into windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from wbgpu.errors import WbgpuError
from wbgpu.records.clip import Clip
from wbgpu.records.video import Alignment
from wbgpu.video.frame_memory import empty_frames


@dataclass(frozen=True)
class EpisodeSource:
    """Where one episode lies.

    Attributes:
        episode_index: the number by which the loader's items name it.
        target: the ground truth.
        prediction: the predicted frames.
    """

    episode_index: int
    target: Clip
    prediction: Clip


@dataclass(frozen=True, eq=False)
class Window:
    """Frames of one size, of one or several episodes. F frames are there, N of them are scored.

    A chunk that continues an episode brings the frame before it, for frame differences; that frame
    is in F and in no ``row``. All tensors are on the loader's device.

    Attributes:
        target: uint8 RGB ``[F, 3, H, W]``, 0..255, NHWC in memory.
        prediction: like ``target``.
        row: int64 ``[N]``, frames to score, indices into F.
        previous_row: int64 ``[N]``, the same episode's frame one step earlier, or -1 at step 1.
        context: uint8 ``[C, 3, H, W]``, the target's last context frame of each chunk; ``None``
            without context frames.
        context_row: int64 ``[N]``, indices into C, or -1.
        episode_index: int64 ``[N]``, of each scored frame; an array, because only the host asks.
        step: int64 ``[N]``, 1-based; an array likewise.
        own_prediction: uint8 ``[F, 3, h, w]``, the predictions in their own size, where they had
            to be resized and that size still counts (see `wbgpu.records.video.ResizeRule`). Such a
            window is of one episode.
    """

    target: Tensor
    prediction: Tensor
    row: Tensor
    previous_row: Tensor
    context: Tensor | None
    context_row: Tensor
    episode_index: npt.NDArray[np.int64]
    step: npt.NDArray[np.int64]
    own_prediction: Tensor | None = None


@dataclass(frozen=True, eq=False)
class PredictionRest:
    """Predicted frames that follow on the last step; comes after the episode's windows.

    Attributes:
        episode_index: the episode.
        frames: uint8 ``[1 + n, 3, h, w]``, the frame before them and these, as metrics see them
            that look at the prediction alone; on the loader's device.
    """

    episode_index: int
    frames: Tensor

    @property
    def num_bytes(self) -> int:
        """Bytes of the frames."""
        return self.frames.numel()


@dataclass(frozen=True)
class EpisodeOpened:
    """Both videos are open and aligned; comes before the episode's first window."""

    episode_index: int
    alignment: Alignment


@dataclass(frozen=True)
class EpisodeClosed:
    """Every step of the episode has been yielded."""

    episode_index: int


@dataclass(frozen=True)
class EpisodeFailed:
    """The episode could not be opened, aligned or read to its end.

    It can come after some of the episode's steps; those are to be dropped. No
    :class:`EpisodeClosed` follows.
    """

    episode_index: int
    error: WbgpuError


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive steps of one episode, on the CPU.

    Attributes:
        episode_index: the episode.
        first_step: of ``target[0]``, 1-based.
        target: uint8 ``[n, 3, H, W]``.
        prediction: like ``target``.
        context: uint8 ``[1, 3, H, W]`` or ``None``.
        own_prediction: uint8 ``[n, 3, h, w]`` or ``None``; see `Window`.
        goes_on: another chunk of the episode follows.
    """

    episode_index: int
    first_step: int
    target: Tensor
    prediction: Tensor
    context: Tensor | None
    own_prediction: Tensor | None = None
    goes_on: bool = False

    @property
    def num_frames(self) -> int:
        """Steps of this chunk."""
        return self.target.shape[0]

    @property
    def num_bytes(self) -> int:
        """Bytes of both videos' frames."""
        own = 0 if self.own_prediction is None else self.own_prediction.numel()
        return 2 * self.target.numel() + own


@dataclass(frozen=True, eq=False)
class Overlap:
    """The frames one step before a chunk that continues an episode, ``[1, 3, H, W]`` each."""

    target: Tensor
    prediction: Tensor
    own_prediction: Tensor | None = None

    @classmethod
    def after(cls, chunk: Chunk) -> Overlap:
        """A chunk's last frames, in memory of their own."""
        own = chunk.own_prediction
        return cls(
            copy_frames([chunk.target[-1:]]),
            copy_frames([chunk.prediction[-1:]]),
            None if own is None else copy_frames([own[-1:]]),
        )


def join_frames(parts: Sequence[Tensor]) -> Tensor:
    """One uint8 ``[N, 3, H, W]``, NHWC in memory; a single part is given back as it is."""
    return parts[0] if len(parts) == 1 else copy_frames(parts)


def copy_frames(parts: Sequence[Tensor]) -> Tensor:
    """`join_frames` into memory of its own."""
    if parts[0].device.type != "cpu":
        return torch.cat(list(parts))
    _, _, height, width = parts[0].shape
    whole = empty_frames(sum(map(len, parts)), height, width)
    np.concatenate(as_arrays(parts), out=whole)
    return torch.from_numpy(whole).permute(0, 3, 1, 2)


def as_arrays(parts: Sequence[Tensor]) -> list[npt.NDArray[np.uint8]]:
    """The same frames as ``[n, H, W, 3]``; on the CPU."""
    return [part.permute(0, 2, 3, 1).numpy() for part in parts]


def pack(
    chunks: Sequence[Chunk],
    overlap: Overlap | None,
    device: torch.device,
    join: Callable[[Sequence[Tensor]], Tensor] = join_frames,
) -> Window:
    """One window of chunks that have one frame size; one with an own size stands alone.

    Args:
        chunks: at least one; only the first may continue an episode.
        overlap: target and prediction, ``[1, 3, H, W]``, one step before the first chunk, if that
            chunk continues an episode.
        device: where the window goes.
        join: makes one tensor of several and puts it there.
    """
    targets = [chunk.target for chunk in chunks]
    predictions = [chunk.prediction for chunk in chunks]
    contexts = [chunk.context for chunk in chunks if chunk.context is not None]
    own = [chunk.own_prediction for chunk in chunks if chunk.own_prediction is not None]
    if overlap is not None:
        targets.insert(0, overlap.target)
        predictions.insert(0, overlap.prediction)
        if overlap.own_prediction is not None:
            own.insert(0, overlap.own_prediction)

    # NumPy, because a forked process hangs in torch operators that want the threads of its parent,
    # and because torch makes new tensors on whatever the default device is.
    num_rows = [chunk.num_frames for chunk in chunks]
    row = np.arange(sum(num_rows)) + (overlap is not None)
    chunk_row = np.repeat(np.arange(len(chunks)), num_rows)
    step = np.concatenate([np.arange(chunk.num_frames) + chunk.first_step for chunk in chunks])
    episode_index = np.array([chunk.episode_index for chunk in chunks])[chunk_row]
    previous_row = np.where(step > 1, row - 1, -1)
    context_row = chunk_row if contexts else np.full_like(chunk_row, -1)
    return Window(
        target=join(targets),
        prediction=join(predictions),
        row=_index(row, device),
        previous_row=_index(previous_row, device),
        context=join(contexts) if contexts else None,
        context_row=_index(context_row, device),
        episode_index=episode_index.astype(np.int64, copy=False),
        step=step.astype(np.int64, copy=False),
        own_prediction=join(own) if own else None,
    )


def _index(index: npt.NDArray[np.intp], device: torch.device) -> Tensor:
    # A copy of a few hundred bytes from pageable memory does not wait for the device.
    tensor = torch.from_numpy(index.astype(np.int64, copy=False))
    return tensor if device.type == "cpu" else tensor.to(device, non_blocking=True)
