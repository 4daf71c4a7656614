from __future__ import annotations

import pytest
import torch
from torchvision.utils import make_grid

from wbgpu.records.tile import Tile


@pytest.mark.parametrize(("num_columns", "padding"), [(1, 2), (2, 0), (3, 5), (4, 2)])
def test_tiles_are_where_torchvision_puts_them(num_columns, padding):
    images = torch.rand(num_columns * 3, 3, 5, 7)
    grid = make_grid(images, nrow=num_columns, padding=padding)
    for index, image in enumerate(images):
        row, column = divmod(index, num_columns)
        tile = Tile(column, row, num_columns, 3, gap=padding, border=padding)
        left, top, width, height = tile.region(grid.shape[2], grid.shape[1])
        assert torch.equal(grid[:, top : top + height, left : left + width], image)


@pytest.mark.parametrize(("width", "gap"), [(63, 0), (64, 1), (1, 0), (2, 2)])
def test_a_grid_that_does_not_fill_the_frame_is_refused(width, gap):
    with pytest.raises(ValueError, match=f"2 columns .* do not fill {width} pixels"):
        Tile(0, 0, 2, 1, gap=gap).region(width, 8)
