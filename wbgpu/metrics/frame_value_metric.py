"""Base of the metrics that look at pairs of frames with a network: a number per step."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor

from wbgpu.metrics.apart import FRAMES_TOGETHER, each_apart
from wbgpu.metrics.episode_metric import EpisodeMetric
from wbgpu.metrics.horizon_values import HorizonValues, check_valid, prefix_mean
from wbgpu.records.metric import MetricOutcome


class FrameValueMetric(EpisodeMetric):
    """Mean over steps of a number per pair of frames; over episodes, its mean per horizon.

    A subclass sets the class attributes and writes `frame_values`, and `refusal` where it cannot
    work at all.

    On the CPU each pair goes through the network alone, on one thread, so its number does not
    depend on any other. On a GPU up to `FRAMES_TOGETHER` pairs go together, whose arithmetic may
    move each other's last bits (about 1e-6).
    """

    def refusal(self, size: tuple[int, int] | None = None) -> str | None:
        """Why frames have no value; ``None``: they have.

        Args:
            size: their height and width; ``None`` asks about frames of any size.
        """
        del size
        return None

    @abstractmethod
    def _values(self, prediction: Tensor, target: Tensor) -> Tensor:
        """A number for each of a few pairs of frames, checked already, ``[n]``."""

    def frame_values(self, prediction: Tensor, target: Tensor) -> Tensor:
        """A number per pair of frames.

        Args:
            prediction: uint8 RGB ``[N, 3, H, W]``, 0-255.
            target: likewise.

        Returns:
            float64 ``[N]``, on the device of the frames.

        Raises:
            TypeError: frames that are not uint8.
            ValueError: shapes that do not fit together, or a metric that refuses all frames.
        """
        for name, frames in (("prediction", prediction), ("target", target)):
            if frames.dtype != torch.uint8:
                raise TypeError(f"{name}: expected uint8 frames, got {frames.dtype}")
        if prediction.ndim != 4 or prediction.shape[1] != 3 or prediction.shape != target.shape:
            raise ValueError(
                f"prediction {tuple(prediction.shape)} and target {tuple(target.shape)}: expected "
                "two equal shapes [N, 3, H, W]"
            )
        height, width = prediction.shape[2:]
        if (reason := self.refusal((height, width))) is not None:
            raise ValueError(f"{self.name}: {reason}")
        # The same pixels in another order in memory take other kernels, with other last bits.
        prediction, target = prediction.contiguous(), target.contiguous()
        if prediction.device.type == "cpu":
            pairs = zip(torch.split(prediction, 1), torch.split(target, 1), strict=True)
            values = each_apart(lambda pair: self._values(*pair).double(), list(pairs))
        else:
            groups = zip(
                torch.split(prediction, FRAMES_TOGETHER),
                torch.split(target, FRAMES_TOGETHER),
                strict=True,
            )
            with torch.no_grad():
                values = [self._values(*group).double() for group in groups]
        return torch.cat(values)

    def outcome(self, values: Tensor) -> MetricOutcome:
        """The record of one episode from its `frame_values` ``[T]``, T >= 1."""
        views = _views(values[None])
        prefix = tuple(views.prefix[0].tolist())
        step = tuple(views.step[0].tolist())
        return MetricOutcome(
            self.name, self.metric_id, "available", value=prefix[-1], prefix=prefix, step=step
        )

    def refused_outcome(self, reason: str) -> MetricOutcome:
        """The record of an episode that has no value."""
        return MetricOutcome(self.name, self.metric_id, "unsupported", reason=reason)

    def update(self, prediction: Tensor, target: Tensor, valid: Tensor | None = None) -> None:
        """Add a batch of episodes; a metric that refuses all frames adds none.

        Args:
            prediction: uint8 RGB ``[B, T, 3, H, W]``, 0-255.
            target: likewise.
            valid: bool ``[B, T]``, steps that exist; all by default.

        Raises:
            TypeError: frames that are not uint8, or a ``valid`` that is not a tensor of bool.
            ValueError: shapes that do not fit together, or more than ``num_horizons`` steps.
        """
        if prediction.ndim != 5 or prediction.shape != target.shape:
            raise ValueError(
                f"prediction {tuple(prediction.shape)} and target {tuple(target.shape)}: expected "
                "two equal shapes [B, T, 3, H, W]"
            )
        shape = prediction.shape[:2]
        self._check_num_steps(shape[1])
        if valid is not None:
            check_valid(valid, shape)
        height, width = prediction.shape[3:]
        if self.refusal((height, width)) is not None:
            return
        values = self.frame_values(prediction.flatten(0, 1), target.flatten(0, 1)).reshape(shape)
        views = _views(values)
        if valid is not None:
            views = views.where_valid(valid)
        self._add_views(torch.stack([views.prefix, views.step]))


def _views(values: Tensor) -> HorizonValues:
    return HorizonValues(prefix_mean(values), values)
