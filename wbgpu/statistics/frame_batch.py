"""The frames whose statistics are wanted, and which belongs to which."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class FrameBatch:
    """Flat frames of one size from one or more episodes, checked once, here.

    ``[N, 3, H, W]`` may have any strides; frames that are NHWC in memory (a channels_last view)
    are the fastest. A frame may be carried along without being scored, as the predecessor of one
    that is.

    Attributes:
        target: uint8 ``[F, 3, H, W]`` RGB, 0-255.
        prediction: uint8 ``[F, 3, H, W]``, same device.
        row: int64 ``[N]``, the frames to score, as indices into F.
        previous_row: int64 ``[N]``, the row of the same episode's frame one step earlier;
            -1 where there is none (step 1).
        context: uint8 ``[C, 3, H, W]``, last context frame of each episode; ``None`` when there
            is no context.
        context_row: int64 ``[N]``, index into C; -1 where there is none.

    Raises:
        TypeError: frames that are not uint8, or indices that are not int64.
        ValueError: shapes or devices that do not fit together, or an index out of range (indices
            on an accelerator are not read back to be checked).
    """

    target: Tensor
    prediction: Tensor
    row: Tensor
    previous_row: Tensor
    context: Tensor | None
    context_row: Tensor

    def __post_init__(self) -> None:
        _check_frames("prediction", self.prediction, "target", self.target, num_dims=4)
        num_contexts = 0
        if self.context is not None:
            _check_uint8("context", self.context)
            if self.context.ndim != 4 or self.context.shape[1:] != self.target.shape[1:]:
                raise ValueError(
                    f"context {tuple(self.context.shape)}: expected [C, 3, H, W] of the same "
                    f"size as target {tuple(self.target.shape)}"
                )
            num_contexts = len(self.context)
        num_frames = len(self.target)
        _check_index("row", self.row, self.row, 0, num_frames)
        _check_index("previous_row", self.previous_row, self.row, -1, num_frames)
        _check_index("context_row", self.context_row, self.row, -1, num_contexts)

    @classmethod
    def from_videos(
        cls, prediction: Tensor, target: Tensor, context: Tensor | None = None
    ) -> FrameBatch:
        """Batch of whole videos: every step of every episode, step by step.

        Args:
            prediction: uint8 ``[B, T, 3, H, W]``.
            target: uint8 ``[B, T, 3, H, W]``.
            context: uint8 ``[B, 3, H, W]``, the last frame before step 1, or ``None``.

        Returns:
            N = B * T rows; statistics reshape to ``[B, T]``.
        """
        _check_frames("prediction", prediction, "target", target, num_dims=5)
        batch_size, num_steps = target.shape[:2]
        if context is not None:
            _check_uint8("context", context)
            if context.shape != target.shape[:1] + target.shape[2:]:
                raise ValueError(
                    f"context {tuple(context.shape)}: expected [B, 3, H, W], one frame for each "
                    f"episode of target {tuple(target.shape)}"
                )
        row = torch.arange(batch_size * num_steps, device=target.device)
        step = row % num_steps if num_steps else row
        no_row = torch.full_like(row, -1)
        return cls(
            target=target.flatten(0, 1),
            prediction=prediction.flatten(0, 1),
            row=row,
            previous_row=torch.where(step > 0, row - 1, no_row),
            context=context,
            context_row=no_row if context is None else row // max(num_steps, 1),
        )


def _check_uint8(name: str, frames: Tensor) -> None:
    if not isinstance(frames, Tensor) or frames.dtype != torch.uint8:
        found = frames.dtype if isinstance(frames, Tensor) else type(frames).__name__
        raise TypeError(
            f"{name}: expected uint8 RGB frames (0-255), got {found}; frames in [0, 1] become "
            "uint8 by (255 * frames).round().to(torch.uint8)"
        )


def _check_frames(name: str, frames: Tensor, other: str, target: Tensor, num_dims: int) -> None:
    _check_uint8(name, frames)
    _check_uint8(other, target)
    expected = "[F, 3, H, W]" if num_dims == 4 else "[B, T, 3, H, W]"
    if frames.shape != target.shape or target.ndim != num_dims or target.shape[-3] != 3:
        raise ValueError(
            f"{name} {tuple(frames.shape)} and {other} {tuple(target.shape)}: expected two equal "
            f"shapes {expected}"
        )
    if frames.device != target.device:
        raise ValueError(
            f"{name} is on {frames.device} and {other} on {target.device}; move one of them"
        )


def _check_index(name: str, index: Tensor, row: Tensor, low: int, high: int) -> None:
    if index.dtype != torch.int64:
        raise TypeError(f"{name}: expected int64 indices, got {index.dtype}")
    if index.ndim != 1 or index.shape != row.shape:
        raise ValueError(
            f"{name} {tuple(index.shape)} and row {tuple(row.shape)}: expected two equal shapes [N]"
        )
    if (
        index.device.type == "cpu"
        and len(index)
        and not low <= int(index.min()) <= int(index.max()) < high
    ):
        raise ValueError(
            f"{name}: expected indices from {low} to {high - 1}, got "
            f"{int(index.min())} to {int(index.max())}"
        )
