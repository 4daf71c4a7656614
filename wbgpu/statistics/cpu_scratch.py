"""One thread's memory and passes for frames of one size."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor

from wbgpu.statistics.cpu_tile import MAX_TILE_ROWS, Tile, TileBuffers
from wbgpu.statistics.frame_batch import FrameBatch
from wbgpu.statistics.frame_statistics import DYNAMIC_THRESHOLD, UNIFORM_WINDOW

# Measured on two cores with 1 MB of L2 each: 2^17 beats 2^16 by 9 % with one thread and 17 % with
# two, because less time goes to Python between operators; 2^18 gains nothing more.
_TILE_VALUES = 1 << 17
_HALO = UNIFORM_WINDOW - 1
_MARGIN = UNIFORM_WINDOW // 2
_FIXED_POINT = 2.0**32

_INTEGER_FIELDS = {
    "squared_error": ("squared_error_sum",),
    "luma_moments": ("luma_x", "luma_y", "luma_xx", "luma_yy", "luma_xy"),
    "frame_delta": ("target_delta_sum", "prediction_delta_sum"),
    "persistence": ("persistence_squared_error_sum",),
    "dynamic_region": (
        "dynamic_area",
        "dynamic_squared_error_sum",
        "dynamic_persistence_squared_error_sum",
        "dynamic_ssim_count",
    ),
}


def integer_fields(groups: frozenset[str]) -> tuple[str, ...]:
    """Names of the integer sums that ``groups`` need, in the order of `FrameScratch.process`.

    The luma sums only become ``luma_ssim``; those of the dynamic area and of its windows count each
    pixel three times.
    """
    return tuple(f for g, names in _INTEGER_FIELDS.items() if g in groups for f in names)


class FrameScratch:
    """Everything needed to process frames of one size for some groups, allocated once.

    Args:
        height: H of the frames.
        width: W of the frames.
        groups: what to compute; the Gaussian SSIM is not computed here.
    """

    def __init__(self, height: int, width: int, groups: frozenset[str]) -> None:
        self._groups = groups
        self._fields = integer_fields(groups)
        wants_windows = bool(groups & {"ssim_uniform7", "dynamic_region"})
        self._has_windows = wants_windows and min(height, width) >= UNIFORM_WINDOW
        self._wants_squares = self._has_windows or bool(
            groups & {"squared_error", "dynamic_region"}
        )
        self._strips, self._frames_per_tile = self._cut(height, 3 * width)
        self._width = width
        tile_rows = max(rows for _, _, rows in self._strips)
        self._buffers = TileBuffers(self._frames_per_tile * tile_rows * 3 * width)
        self._tiles: dict[tuple[int, int], Tile] = {}
        self._columns = torch.zeros(
            (len(self._fields), self._frames_per_tile, len(self._strips), 3 * width),
            dtype=torch.int32,
            device="cpu",
        )
        self._short_columns = torch.empty(
            (self._frames_per_tile, 3 * width), dtype=torch.int16, device="cpu"
        )
        num_window_rows = height - _HALO if self._has_windows else 0
        self._deficits = torch.zeros(
            (2, self._frames_per_tile, num_window_rows), dtype=torch.float32, device="cpu"
        )

    def _cut(self, height: int, row_values: int) -> tuple[list[tuple[int, int, int]], int]:
        """Strips as (first row, rows owned, rows loaded), and how many frames share a tile."""
        halo = _HALO if self._has_windows else 0
        max_rows = min(MAX_TILE_ROWS, max(_TILE_VALUES // row_values, 4 * UNIFORM_WINDOW))
        if height <= max_rows:
            return [(0, height, height)], max(1, _TILE_VALUES // (height * row_values))
        num_strips = -(-height // (max_rows - halo))
        bounds = [height * i // num_strips for i in range(num_strips + 1)]
        pairs = pairwise(bounds)
        return [(a, b - a, min(b + halo, height) - a) for a, b in pairs], 1

    def process(self, batch: FrameBatch, part: slice, integers: Tensor, deficits: Tensor) -> None:
        """Fill the sums of ``batch.row[part]``.

        Args:
            integers: int64, one row for each of `integer_fields`, ``[.., n]``.
            deficits: float64 ``[2, n]``: sum of 1 - SSIM over channels and windows, over the frame
                and over the dynamic region.
        """
        rows = batch.row[part].tolist()
        previous_rows = batch.previous_row[part].tolist()
        context_rows = batch.context_row[part].tolist()
        for start in range(0, len(rows), self._frames_per_tile):
            stop = min(start + self._frames_per_tile, len(rows))
            selection = _Selection(
                rows[start:stop], previous_rows[start:stop], context_rows[start:stop]
            )
            for strip in range(len(self._strips)):
                self._process_strip(batch, selection, strip)
            integers[:, start:stop] = self._columns[:, : stop - start].sum(dim=(2, 3))
            # Rows are added as integers, so that the order of addition cannot matter.
            by_row = self._deficits[:, : stop - start].double().mul_(_FIXED_POINT).round_().long()
            deficits[:, start:stop] = by_row.sum(dim=2).double() * (2 / _FIXED_POINT)

    def _process_strip(self, batch: FrameBatch, selection: _Selection, strip: int) -> None:
        top, num_owned, num_loaded = self._strips[strip]
        num_frames = len(selection.rows)
        tile = self._tile(num_frames, num_loaded)
        _load(tile.target, batch.target, selection.rows, top)
        _load(tile.prediction, batch.prediction, selection.rows, top)
        tile.subtract()
        if self._wants_squares:
            tile.square_differences()
        if "squared_error" in self._groups:
            self._add("squared_error_sum", strip, tile.difference_squares[:, :num_owned])
        if "luma_moments" in self._groups:
            self._add_luma(tile, strip)
        if "frame_delta" in self._groups:
            for name, frames, now in (
                ("target_delta_sum", batch.target, tile.target),
                ("prediction_delta_sum", batch.prediction, tile.prediction),
            ):
                _load(tile.other, frames, selection.previous_rows, top)
                torch.sub(now, tile.other, out=tile.other).abs_()
                self._add_short(name, strip, tile.other[:, :num_owned])
        if self._groups & {"persistence", "dynamic_region"}:
            self._add_change(tile, batch, selection, strip)
        if self._has_windows and num_loaded >= UNIFORM_WINDOW:
            tile.compare_windows()
            windows = slice(top, top + num_loaded - _HALO)
            half = tile.half_deficits
            torch.sum(half, -1, out=self._deficits[0, :num_frames, windows])
            if "dynamic_region" in self._groups:
                half.mul_(self._centres(tile))
                torch.sum(half, -1, out=self._deficits[1, :num_frames, windows])

    def _add_change(self, tile: Tile, batch: FrameBatch, selection: _Selection, strip: int) -> None:
        """Sums over target - context, and the dynamic region's mask and sums."""
        top, num_owned, _ = self._strips[strip]
        change, squares = tile.other, tile.products
        assert batch.context is not None
        _load(change, batch.context, selection.context_rows, top)
        torch.sub(tile.target, change, out=change)
        for i in selection.without_context:
            change[i].zero_()
        squares.copy_(change)
        squares.mul_(squares)
        if "persistence" in self._groups:
            self._add("persistence_squared_error_sum", strip, squares[:, :num_owned])
        if "dynamic_region" not in self._groups:
            return
        change.abs_()
        red, green, blue = change.unbind(-1)
        largest = torch.maximum(torch.maximum(red, green), blue).sub_(DYNAMIC_THRESHOLD)
        tile.region.copy_(largest.clamp_(0, 1)[..., None].expand_as(tile.region))
        self._add_short("dynamic_area", strip, tile.region[:, :num_owned])
        squares.mul_(tile.region)
        self._add("dynamic_persistence_squared_error_sum", strip, squares[:, :num_owned])
        torch.mul(tile.difference_squares, tile.region, out=squares)
        self._add("dynamic_squared_error_sum", strip, squares[:, :num_owned])
        if self._has_windows:
            self._add_short("dynamic_ssim_count", strip, self._centres(tile))

    def _centres(self, tile: Tile) -> Tensor:
        """The mask at the centre of each window, ``[num_frames, num_rows - 6, 3 * (W - 6)]``."""
        values = tile.region.flatten(2)
        rows, columns = values.shape[1] - _HALO, values.shape[2] - 3 * _HALO
        return values[:, _MARGIN : _MARGIN + rows, 3 * _MARGIN : 3 * _MARGIN + columns]

    def _add_luma(self, tile: Tile, strip: int) -> None:
        num_owned = self._strips[strip][1]
        x, y, product = tile.luma_planes
        for plane, frames in ((x, tile.target), (y, tile.prediction)):
            torch.add(frames[..., 0], frames[..., 1], out=plane)
            plane.add_(frames[..., 2])
        self._add("luma_x", strip, x[:, :num_owned])
        self._add("luma_y", strip, y[:, :num_owned])
        for name, first, second in (("luma_xx", x, x), ("luma_yy", y, y), ("luma_xy", x, y)):
            torch.mul(first, second, out=product)
            self._add(name, strip, product[:, :num_owned])

    def _add(self, field: str, strip: int, values: Tensor) -> None:
        """Column sums of int32 ``[num_frames, rows, ...]``; at most 128 rows fit 32 bits."""
        values = values.flatten(2)
        columns = self._columns[self._fields.index(field), : len(values), strip, : values.shape[2]]
        torch.sum(values, 1, dtype=torch.int32, out=columns)

    def _add_short(self, field: str, strip: int, values: Tensor) -> None:
        """Column sums of int16 values up to 255; at most 128 rows fit 16 bits."""
        values = values.flatten(2)
        short = self._short_columns[: len(values), : values.shape[2]]
        torch.sum(values, 1, dtype=torch.int16, out=short)
        columns = self._columns[self._fields.index(field), : len(values), strip, : values.shape[2]]
        columns.copy_(short)

    def _tile(self, num_frames: int, num_rows: int) -> Tile:
        key = (num_frames, num_rows)
        if key not in self._tiles:
            self._tiles[key] = Tile(self._buffers, num_frames, num_rows, self._width)
        return self._tiles[key]


class _Selection:
    """The frames of one tile, by row; a missing frame is replaced by one that is there."""

    def __init__(self, rows: list[int], previous_rows: list[int], context_rows: list[int]) -> None:
        self.rows = rows
        # A frame minus itself adds nothing.
        self.previous_rows = [p if p >= 0 else r for p, r in zip(previous_rows, rows, strict=True)]
        self.context_rows = [max(c, 0) for c in context_rows]
        self.without_context = [i for i, c in enumerate(context_rows) if c < 0]


def _load(destination: Tensor, frames: Tensor, rows: list[int], top: int) -> None:
    """Copy a strip of each frame of uint8 ``[F, 3, H, W]`` to int16 ``[n, rows, W, 3]``."""
    strips = frames.permute(0, 2, 3, 1)[:, top : top + destination.shape[1]]
    if rows == list(range(rows[0], rows[0] + len(rows))):
        destination.copy_(strips[rows[0] : rows[0] + len(rows)])
    else:
        destination.copy_(strips[rows])
