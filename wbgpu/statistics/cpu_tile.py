"""One tile of frames in a cache: exact window sums and SSIM by short streaming passes.

With s = x + y and d = x - y, box sums over 7x7 windows fit 16 bits and those of s^2, d^2 fit 32;
the variance numerators 49 * sum(s^2) - (sum s)^2 are exact in 32 bits, so nothing cancels. With
S2 = (sum s)^2, D2 = (sum d)^2 and v_s, v_d the numerators::

    1 - SSIM = 2 u + 2 v - 4 u v
    u = D2 / (S2 + D2 + 2 * 49^2 * C1)        v = v_d / (v_s + v_d + 2 * 49 * 48 * C2)

The deficit 1 - SSIM is summed, so equal frames score exactly 1.

Layout: all rows of all frames of a tile are one flat stream (channels interleaved), and a window
is a set of flat offsets, so each pass is one contiguous vector operation. Windows that wrap round
a row or frame are computed and left out of the sums.
"""

from __future__ import annotations

import torch

from wbgpu.statistics.frame_statistics import UNIFORM_WINDOW
from wbgpu.statistics.ssim_constants import C1, C2

_HALO = UNIFORM_WINDOW - 1
_WINDOW_SIZE = UNIFORM_WINDOW**2
_LUMINANCE_CONSTANT = 2 * _WINDOW_SIZE**2 * C1
_STRUCTURE_CONSTANT = 2 * _WINDOW_SIZE * (_WINDOW_SIZE - 1) * C2

MAX_TILE_ROWS = 128
"""Rows of a frame in a tile: column sums of 8-bit values over more would not fit 16 bits."""


class TileBuffers:
    """Memory for tiles of up to ``capacity`` values, allocated once."""

    def __init__(self, capacity: int) -> None:
        self.target = torch.empty(capacity, dtype=torch.int16, device="cpu")
        self.prediction = torch.empty(capacity, dtype=torch.int16, device="cpu")
        self.other = torch.empty(capacity, dtype=torch.int16, device="cpu")
        self.region = torch.empty(capacity, dtype=torch.int16, device="cpu")
        self.pair = torch.empty(2 * capacity, dtype=torch.int16, device="cpu")
        self.pair_rows = torch.empty(2 * capacity, dtype=torch.int16, device="cpu")
        self.squares = torch.empty(2, 2 * capacity, dtype=torch.int32, device="cpu")
        self.square_rows = torch.empty(2 * capacity, dtype=torch.int32, device="cpu")
        self.numerator = torch.empty(2 * capacity, dtype=torch.float32, device="cpu")
        self.denominator = torch.empty(2 * capacity, dtype=torch.float32, device="cpu")


class Tile:
    """Views of `TileBuffers` for ``num_frames`` strips of ``num_rows`` rows, ``width`` pixels.

    Attributes:
        target: int16 ``[num_frames, num_rows, width, 3]``; fill it, then call the methods.
        prediction: likewise.
        other: likewise, free for a third frame.
        region: likewise, free for a mask.
        products: int32 like target, free until `compare_windows`.
        luma_planes: int32 ``[3, num_frames, num_rows, width]`` in the memory of ``products``.
        difference: int16 like target, x - y, after `subtract`.
        difference_squares: int32 like target, (x - y)^2, after `square_differences`.
        half_deficits: float32 ``[num_frames, num_rows - 6, 3 * (width - 6)]``, (1 - SSIM) / 2 by
            window, after `compare_windows`.
    """

    def __init__(self, buffers: TileBuffers, num_frames: int, num_rows: int, width: int) -> None:
        row = 3 * width
        n = num_frames * num_rows * row
        frames = (num_frames, num_rows, width, 3)
        self.target = buffers.target[:n].view(frames)
        self.prediction = buffers.prediction[:n].view(frames)
        self.other = buffers.other[:n].view(frames)
        self.region = buffers.region[:n].view(frames)
        self.products = buffers.squares[1, :n].view(frames)
        self.luma_planes = buffers.squares[1, :n].view(3, num_frames, num_rows, width)
        self._pair = buffers.pair[: 2 * n].view(2, n)
        self._sum, self.difference = (plane.view(frames) for plane in self._pair)
        self._squares = buffers.squares[0, : 2 * n].view(2, n)
        self.difference_squares = self._squares[1].view(frames)
        if num_rows < UNIFORM_WINDOW or width < UNIFORM_WINDOW:
            return
        m = n - _HALO * row  # vertical sums
        k = m - 3 * _HALO  # window sums
        self._pair_windows = self._pair.as_strided((UNIFORM_WINDOW, 2, m), (row, n, 1))
        self._square_windows = self._squares.as_strided((UNIFORM_WINDOW, 2, m), (row, n, 1))
        self._pair_rows = buffers.pair_rows[: 2 * m].view(2, m)
        self._square_rows = buffers.square_rows[: 2 * m].view(2, m)
        self._pair_columns = self._pair_rows.as_strided((UNIFORM_WINDOW, 2, k), (3, m, 1))
        self._pair_sums = buffers.pair[: 2 * k].view(2, k)
        # Seven columns as three pairs and one: fewer passes over 32-bit memory than seven.
        self._column_pairs = buffers.squares[0, : 2 * (m - 3)].view(2, m - 3)
        self._three_pairs = self._column_pairs.as_strided((3, 2, k), (6, m - 3, 1))
        # [(sum s)^2 or variance numerator] x [s or d]
        self._moments = buffers.squares[:, : 2 * k].view(2, 2, k)
        self._numerator = buffers.numerator[: 2 * k].view(2, k)
        self._denominator = buffers.denominator[: 2 * k].view(2, k)
        self.half_deficits = self._numerator[0].as_strided(
            (num_frames, num_rows - _HALO, row - 3 * _HALO), (num_rows * row, row, 1)
        )

    def subtract(self) -> None:
        """Fill ``difference`` with target - prediction."""
        torch.sub(self.target, self.prediction, out=self.difference)

    def square_differences(self) -> None:
        """Fill ``difference_squares``."""
        self.difference_squares.copy_(self.difference)
        self.difference_squares.mul_(self.difference_squares)

    def compare_windows(self) -> None:
        """Fill ``half_deficits``, after `square_differences`; overwrites what that filled."""
        torch.add(self.target, self.prediction, out=self._sum)
        sum_squares = self._squares[0]
        sum_squares.copy_(self._pair[0])
        sum_squares.mul_(sum_squares)
        torch.sum(self._pair_windows, 0, dtype=torch.int16, out=self._pair_rows)
        torch.sum(self._square_windows, 0, dtype=torch.int32, out=self._square_rows)
        torch.sum(self._pair_columns, 0, dtype=torch.int16, out=self._pair_sums)
        rows, pairs = self._square_rows, self._column_pairs
        mean_squares, variances = self._moments
        torch.add(rows[:, :-3], rows[:, 3:], out=pairs)
        torch.sum(self._three_pairs, 0, dtype=torch.int32, out=variances)
        variances.add_(rows[:, 3 * _HALO :]).mul_(_WINDOW_SIZE)
        mean_squares.copy_(self._pair_sums)
        mean_squares.mul_(mean_squares)
        variances.sub_(mean_squares)
        of_sum, of_difference = self._moments[:, 0], self._moments[:, 1]
        self._numerator.copy_(of_difference)
        of_sum.add_(of_difference)
        self._denominator.copy_(of_sum)
        self._denominator[0].add_(_LUMINANCE_CONSTANT)
        self._denominator[1].add_(_STRUCTURE_CONSTANT)
        self._numerator.div_(self._denominator)
        luminance, structure = self._numerator
        product = torch.mul(luminance, structure, out=self._denominator[0])
        # u + v - 2 u v; twice a product is exact, so a fused multiply-add rounds alike.
        luminance.add_(structure).sub_(product, alpha=2)
