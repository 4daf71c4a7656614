"""Gaussian SSIM on CPU: float64 over strips of one frame that stay in cache.

The same definition as `gaussian.gaussian_ssim_map`, on the flat stream of a strip's rows (see
`cpu_tile`): taps are flat offsets, symmetric ones share a multiplication.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor

from wbgpu.statistics.frame_batch import FrameBatch
from wbgpu.statistics.frame_statistics import GAUSSIAN_WINDOW
from wbgpu.statistics.ssim_constants import C1, C2, gaussian_taps

_STRIP_VALUES = 1 << 14
_HALO = GAUSSIAN_WINDOW - 1
_RADIUS = GAUSSIAN_WINDOW // 2
_FIXED_POINT = 2.0**40


class GaussianScratch:
    """Memory for frames of one size, at least 11 pixels on each side.

    Frames are processed one at a time in the same strips whatever the batch, so the bits of a value
    cannot depend on it.
    """

    def __init__(self, height: int, width: int) -> None:
        self._row = 3 * width
        self._num_window_rows = height - _HALO
        num_rows = max(_STRIP_VALUES // self._row - _HALO, 2 * GAUSSIAN_WINDOW)
        num_strips = -(-self._num_window_rows // num_rows)
        bounds = [self._num_window_rows * i // num_strips for i in range(num_strips + 1)]
        self._strips = list(pairwise(bounds))
        capacity = (max(b - a for a, b in self._strips) + _HALO) * self._row
        self._planes = torch.empty(4 * capacity, dtype=torch.float64, device="cpu")
        self._rows = torch.empty(4 * capacity, dtype=torch.float64, device="cpu")
        self._pairs = torch.empty(4 * capacity, dtype=torch.float64, device="cpu")
        self._row_deficits = torch.empty(self._num_window_rows, dtype=torch.float64, device="cpu")

    def process(self, batch: FrameBatch, part: slice, ssim: Tensor) -> None:
        """Fill ``ssim``, float64 ``[n]``, for ``batch.row[part]``."""
        num_windows = self._num_window_rows * (self._row - 3 * _HALO)
        for i, row in enumerate(batch.row[part].tolist()):
            target = batch.target[row].permute(1, 2, 0)
            prediction = batch.prediction[row].permute(1, 2, 0)
            for first, last in self._strips:
                rows = slice(first, last + _HALO)
                half = self._half_deficits(target[rows], prediction[rows])
                torch.sum(half, -1, out=self._row_deficits[first:last])
            fixed = self._row_deficits.mul(_FIXED_POINT).round_().long().sum()
            ssim[i] = 1 - 2 * int(fixed) / _FIXED_POINT / num_windows

    def _half_deficits(self, target: Tensor, prediction: Tensor) -> Tensor:
        """(1 - SSIM) / 2 by window, ``[rows - 10, 3 * (W - 10)]``, of uint8 ``[rows, W, 3]``."""
        num_rows, row = len(target), self._row
        n = num_rows * row
        planes = self._planes[: 4 * n].view(4, n)
        x, y = planes[2].view(target.shape), planes[3].view(target.shape)
        x.copy_(target)
        y.copy_(prediction)
        torch.add(planes[2], planes[3], out=planes[0])
        torch.sub(planes[2], planes[3], out=planes[1])
        torch.mul(planes[:2], planes[:2], out=planes[2:])
        rows = _blur(planes, row, self._rows, self._pairs)
        means, mean_squares = _blur(rows, 3, self._planes, self._pairs).view(2, 2, -1)
        squares = torch.mul(means, means, out=self._pairs[: means.numel()].view(means.shape))
        variances = mean_squares.sub_(squares)
        luminance = squares[1].div_(squares[0].add_(squares[1]).add_(2 * C1))
        structure = variances[1].div_(variances[0].add_(variances[1]).add_(2 * C2))
        product = torch.mul(luminance, structure, out=squares[0])
        half = luminance.add_(structure).sub_(product, alpha=2)
        return half.as_strided((num_rows - _HALO, row - 3 * _HALO), (row, 1))


def _blur(planes: Tensor, step: int, out_memory: Tensor, pair_memory: Tensor) -> Tensor:
    """Weighted mean of 11 values ``step`` apart along ``planes [4, n]``."""
    taps = gaussian_taps()
    n = planes.shape[1] - _HALO * step
    out, pair = (memory[: 4 * n].view(4, n) for memory in (out_memory, pair_memory))
    torch.mul(planes[:, _RADIUS * step : _RADIUS * step + n], taps[_RADIUS], out=out)
    for i in range(_RADIUS):
        mirrored = (_HALO - i) * step
        torch.add(planes[:, i * step : i * step + n], planes[:, mirrored : mirrored + n], out=pair)
        out.add_(pair, alpha=taps[i])
    return out
