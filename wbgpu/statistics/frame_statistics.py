"""Numbers per frame, from which every frame metric follows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields

import torch
from torch import Tensor

GROUPS = frozenset(
    {
        "squared_error",
        "ssim_uniform7",
        "ssim_gaussian11",
        "luma_moments",
        "frame_delta",
        "persistence",
        "dynamic_region",
    }
)
"""What can be asked for. Each group adds its fields to `FrameStatistics`."""

UNIFORM_WINDOW = 7
"""Side of the uniform SSIM window, in pixels."""

GAUSSIAN_WINDOW = 11
"""Side of the Gaussian SSIM window, in pixels."""

DYNAMIC_THRESHOLD = 16
"""A pixel is dynamic where a channel differs from the last context frame by more than this.

Above what H.264 at ordinary quality and sensor noise do to a still scene (a few levels), below
what a moving arm or object does (tens of levels); 16 of 255 is the step of video's black level.
"""


@dataclass(frozen=True)
class FrameStatistics:
    """Statistics of N frames, or of ``[B, T]`` frames after `reshape`; one meaning per field.

    ``None`` where the field's group was not asked for. All tensors have the same shape and
    device. Sums are exact integers, so no batching, sharding or order changes a bit. In the
    formulas x is the target, y the prediction, c the last context frame, all 0-255.

    Attributes:
        num_values: int64, 3 * H * W (always present).
        squared_error_sum: int64, sum of (x - y)^2. Group ``squared_error``.
        ssim: float64, uniform 7x7 window, sample covariance, windows inside the frame, mean over
            channels; NaN for frames under 7 pixels. Group ``ssim_uniform7``.
        ssim_gaussian: float64, 11x11 Gaussian window of sigma 1.5, population covariance, windows
            inside the frame; NaN for frames under 11 pixels. Group ``ssim_gaussian11``.
        luma_ssim: float64 in [0, 1], SSIM formula on whole-frame moments of the channels' mean.
            Group ``luma_moments``.
        target_delta_sum: int64, sum of abs(x_t - x_{t-1}); 0 without a previous frame.
            Group ``frame_delta``.
        prediction_delta_sum: int64, sum of abs(y_t - y_{t-1}); 0 without a previous frame.
        has_previous: bool, whether the frame before is known.
        persistence_squared_error_sum: int64, sum of (x - c)^2; 0 without context.
            Group ``persistence``.
        has_context: bool. Groups ``persistence`` and ``dynamic_region``.
        dynamic_area: int64, pixels of the dynamic region: where any channel's abs(x - c) exceeds
            `DYNAMIC_THRESHOLD`; 0 without context. Group ``dynamic_region``.
        dynamic_squared_error_sum: int64, sum of (x - y)^2 over region and channels.
        dynamic_persistence_squared_error_sum: int64, sum of (x - c)^2 over region and channels.
        dynamic_ssim_sum: float64, sum of the uniform-7 SSIM map (mean over channels) over the
            windows whose centre pixel is in the region.
        dynamic_ssim_count: int64, number of these windows.
    """

    num_values: Tensor
    squared_error_sum: Tensor | None = None
    ssim: Tensor | None = None
    ssim_gaussian: Tensor | None = None
    luma_ssim: Tensor | None = None
    target_delta_sum: Tensor | None = None
    prediction_delta_sum: Tensor | None = None
    has_previous: Tensor | None = None
    persistence_squared_error_sum: Tensor | None = None
    has_context: Tensor | None = None
    dynamic_area: Tensor | None = None
    dynamic_squared_error_sum: Tensor | None = None
    dynamic_persistence_squared_error_sum: Tensor | None = None
    dynamic_ssim_sum: Tensor | None = None
    dynamic_ssim_count: Tensor | None = None

    def present(self) -> dict[str, Tensor]:
        """The tensors that are there, by field name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def require(self, name: str) -> Tensor:
        """The tensor of field ``name``.

        Raises:
            ValueError: there is no such field, or its group was not computed.
        """
        known = [field.name for field in fields(self)]
        if name not in known:
            raise ValueError(f"there is no statistic {name!r}; there are {', '.join(known)}")
        value = getattr(self, name)
        if not isinstance(value, Tensor):
            raise ValueError(f"statistic {name!r} was not computed; present: {[*self.present()]}")
        return value

    def select(self, names: Iterable[str]) -> FrameStatistics:
        """The fields of these names alone."""
        return FrameStatistics(**{name: self.require(name) for name in names})

    def map(self, function: Callable[[Tensor], Tensor]) -> FrameStatistics:
        """Apply ``function`` to every tensor that is there."""
        return FrameStatistics(**{k: function(v) for k, v in self.present().items()})

    def reshape(self, *shape: int) -> FrameStatistics:
        """The same statistics in another shape, such as ``[B, T]``."""
        return self.map(lambda value: value.reshape(shape))

    def to(self, device: torch.device | str) -> FrameStatistics:
        """The same statistics on ``device``."""
        return self.map(lambda value: value.to(device))

    def __getitem__(self, index: object) -> FrameStatistics:
        """Index every tensor alike."""
        return self.map(lambda value: value[index])  # type: ignore[index]

    @property
    def shape(self) -> torch.Size:
        """``[N]`` or ``[B, T]``."""
        return self.num_values.shape

    @classmethod
    def cat(cls, parts: Sequence[FrameStatistics], dim: int = 0) -> FrameStatistics:
        """Join statistics of the same groups along ``dim``; a single part stays as it is."""
        if len(parts) == 1:
            return parts[0]
        return cls(**{k: torch.cat([p.require(k) for p in parts], dim) for k in parts[0].present()})
