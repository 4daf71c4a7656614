"""One picture of several that stand side by side in each frame of a video."""

from __future__ import annotations

from typing import NamedTuple


class Tile(NamedTuple):
    """A tile of a grid of equal tiles.

    Attributes:
        column, row: which one, from 0, from the left and from above.
        num_columns, num_rows: of the grid.
        gap: pixels between two tiles.
        border: pixels around the grid. torchvision's ``make_grid(padding=2)`` has a gap and a
            border of 2.
    """

    column: int
    row: int
    num_columns: int
    num_rows: int
    gap: int = 0
    border: int = 0

    def region(self, width: int, height: int) -> tuple[int, int, int, int]:
        """``left, top, width, height`` in a frame of the given size.

        Raises:
            ValueError: equal tiles do not fill it.
        """
        left, tile_width = self._span(width, self.column, self.num_columns, "columns")
        top, tile_height = self._span(height, self.row, self.num_rows, "rows")
        return left, top, tile_width, tile_height

    def _span(self, length: int, index: int, count: int, name: str) -> tuple[int, int]:
        filled = length - 2 * self.border - (count - 1) * self.gap
        size, rest = divmod(filled, count)
        if size < 1 or rest:
            raise ValueError(
                f"{count} {name} with a gap of {self.gap} and a border of {self.border} pixels do "
                f"not fill {length} pixels in equal parts"
            )
        return self.border + index * (size + self.gap), size
