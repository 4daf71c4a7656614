"""What the loader yields, and how chunks of episodes are packed into windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from wbgpu.errors import WbgpuError
from wbgpu.records.video import Alignment
from wbgpu.video.frame_memory import empty_frames


@dataclass(frozen=True)
class EpisodeSource:
    """Where one episode lies.

    Attributes:
        episode_index: the number by which the loader's items name it.
        target: the ground-truth video.
        prediction: the predicted video.
    """

    episode_index: int
    target: Path
    prediction: Path


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
        episode_index: int64 ``[N]``.
        step: int64 ``[N]``, 1-based.
    """

    target: Tensor
    prediction: Tensor
    row: Tensor
    previous_row: Tensor
    context: Tensor | None
    context_row: Tensor
    episode_index: Tensor
    step: Tensor


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
    """

    episode_index: int
    first_step: int
    target: Tensor
    prediction: Tensor
    context: Tensor | None

    @property
    def num_frames(self) -> int:
        """Steps of this chunk."""
        return self.target.shape[0]

    @property
    def num_bytes(self) -> int:
        """Bytes of both videos' frames."""
        return 2 * self.target.numel()


def pack(
    chunks: Sequence[Chunk], overlap: tuple[Tensor, Tensor] | None, device: torch.device
) -> Window:
    """One window of chunks that have one frame size.

    Args:
        chunks: at least one; only the first may continue an episode.
        overlap: target and prediction, ``[1, 3, H, W]``, one step before the first chunk, if that
            chunk continues an episode.
        device: where the window goes.
    """
    targets = [chunk.target for chunk in chunks]
    predictions = [chunk.prediction for chunk in chunks]
    contexts = [chunk.context for chunk in chunks if chunk.context is not None]
    if overlap is not None:
        targets.insert(0, overlap[0])
        predictions.insert(0, overlap[1])

    num_rows = torch.tensor([chunk.num_frames for chunk in chunks])
    row = torch.arange(int(num_rows.sum())) + (overlap is not None)
    chunk_row = torch.repeat_interleave(torch.arange(len(chunks)), num_rows)
    step = torch.cat([torch.arange(chunk.num_frames) + chunk.first_step for chunk in chunks])
    episode_index = torch.tensor([chunk.episode_index for chunk in chunks])[chunk_row]
    return Window(
        target=_move([_joined(targets)], device),
        prediction=_move([_joined(predictions)], device),
        row=_move([row], device),
        previous_row=_move([torch.where(step > 1, row - 1, -1)], device),
        context=_move(contexts, device) if contexts else None,
        context_row=_move([chunk_row if contexts else torch.full_like(chunk_row, -1)], device),
        episode_index=_move([episode_index], device),
        step=_move([step], device),
    )


def _joined(frames: Sequence[Tensor]) -> Tensor:
    if len(frames) == 1:
        return frames[0]
    _, _, height, width = frames[0].shape
    whole = torch.from_numpy(empty_frames(sum(map(len, frames)), height, width))
    whole = whole.permute(0, 3, 1, 2)
    torch.cat(list(frames), out=whole)
    return whole


def _move(parts: Sequence[Tensor], device: torch.device) -> Tensor:
    """Concatenate on the device; from pinned memory, the copy runs while the host goes on."""
    whole = parts[0] if len(parts) == 1 else torch.cat(list(parts))
    if device.type == "cpu":
        return whole
    # PyTorch keeps the pinned block until the copy's stream has passed it.
    return whole.pin_memory().to(device, non_blocking=True)
