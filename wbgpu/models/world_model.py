"""What a world model must do to be evaluated without writing a video.

:func:`wbgpu.models.check_model` proves that one does it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from wbgpu.errors import ConfigurationError


@dataclass(frozen=True, eq=False)
class Prediction:
    """The future of B episodes: frames, logits over tokens, or both.

    Attributes:
        frames: uint8 RGB ``[B, T, 3, H, W]``, 0..255, any strides, on the model's device.
        logits: floating point ``[B, T, tokens, K]``, of each token of each future frame before it
            is seen. Needs a model that is a `Tokenizer` as well.

    Raises:
        TypeError: frames that are not uint8, or logits that are not floating point.
        ValueError: another shape, or neither of the two.
    """

    frames: Tensor | None = None
    logits: Tensor | None = None

    def __post_init__(self) -> None:
        if self.frames is None and self.logits is None:
            raise ValueError("Prediction: give frames, logits or both")
        if self.frames is not None:
            if self.frames.dtype != torch.uint8:
                raise TypeError(
                    f"Prediction.frames: expected uint8 RGB, 0 to 255, got {self.frames.dtype}; "
                    "frames in [0, 1] become so by wbgpu.models.to_uint8"
                )
            if self.frames.ndim != 5 or self.frames.shape[2] != 3:
                raise ValueError(
                    "Prediction.frames: expected [B, T, 3, H, W], got the shape "
                    f"{tuple(self.frames.shape)}"
                )
        if self.logits is not None:
            if not self.logits.is_floating_point():
                raise TypeError(
                    f"Prediction.logits: expected floating point, got {self.logits.dtype}"
                )
            if self.logits.ndim != 4:
                raise ValueError(
                    "Prediction.logits: expected [B, T, tokens, K], got the shape "
                    f"{tuple(self.logits.shape)}"
                )
        if self.frames is not None and self.logits is not None:
            shapes = tuple(self.frames.shape[:2]), tuple(self.logits.shape[:2])
            if shapes[0] != shapes[1]:
                raise ValueError(
                    f"Prediction: frames are of {shapes[0]} episodes and steps, logits of "
                    f"{shapes[1]}; expected the same"
                )


@dataclass(frozen=True, eq=False)
class Tokens:
    """The true future of B episodes in the model's tokens.

    Attributes:
        targets: integers ``[B, T, tokens]``.
        reference_logits: floating point ``[B, T, tokens, K]``, of a reference predictor of the same
            tokens, or ``None``; regret is measured against it.
        reference_loss_nats: floating point ``[B, T, tokens]``, what the reference lost on the
            targets, or ``None``. Not together with ``reference_logits``.
    """

    targets: Tensor
    reference_logits: Tensor | None = None
    reference_loss_nats: Tensor | None = None


@runtime_checkable
class WorldModel(Protocol):
    """Predicts the frames that follow. A ``torch.nn.Module`` usually, but need not be one.

    A module is moved to the evaluation's device and set to ``eval()``; anything else follows the
    device of the frames it is given. It is called without gradients (not in inference mode, so
    that what it caches can be used in training), on one thread, with every generator of random
    numbers seeded for the episode. Autocast and TF32 are its own affair.
    """

    def predict(
        self, context_frames: Tensor, actions: Tensor | None, num_frames: int
    ) -> Prediction:
        """Predict the ``num_frames`` frames after the context, from nothing but the arguments.

        Args:
            context_frames: uint8 RGB ``[B, C, 3, H, W]``, 0..255, contiguous.
            actions: float32 ``[B, C + num_frames - 1, A]`` on the same device, in the units of the
                file; ``actions[:, i]`` leads from frame i to frame i + 1, counted from the first
                context frame. ``None`` where the suite has no actions.
            num_frames: T, at least 1.
        """
        ...


@runtime_checkable
class Tokenizer(Protocol):
    """What a world model with logits can do besides."""

    def tokenize(self, context_frames: Tensor, frames: Tensor) -> Tokens:
        """The true future in tokens.

        Args:
            context_frames: as in `WorldModel.predict`.
            frames: uint8 RGB ``[B, T, 3, H, W]``, the true future.
        """
        ...


def last_frame(context_frames: Tensor) -> Tensor:
    """The last context frame of each episode, ``[B, 3, H, W]``.

    Raises:
        ConfigurationError: there is no context.
    """
    if context_frames.shape[1] == 0:
        raise ConfigurationError(
            "suite.num_context (--skip-context): the model predicts from context frames, but it is "
            "given none; set it to at least 1"
        )
    return context_frames[:, -1]


def to_uint8(frames: Tensor) -> Tensor:
    """Floating-point frames in [0, 1] as uint8, rounded to nearest; what is outside is clamped.

    Raises:
        TypeError: frames that are not floating point.
        ValueError: NaN.
    """
    if not frames.is_floating_point():
        raise TypeError(f"frames: expected floating point in [0, 1], got {frames.dtype}")
    if bool(frames.isnan().any()):
        raise ValueError("frames: NaN; the model diverged")
    # Half precision cannot tell 254.5 from 255.
    return (frames.float().clamp(0, 1) * 255).round().to(torch.uint8)
