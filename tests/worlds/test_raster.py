from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw

from wbgpu.worlds.raster import coverage

SHAPES = {
    "disc": ([[31.3, 28.9]], 11.2),
    "line": ([[10.2, 50.1], [40.7, 14.4]], 4.3),
    "triangle": ([[8.0, 8.5], [55.2, 20.1], [22.6, 57.3]], 0.0),
    "rounded": ([[20.0, 20.0], [44.0, 20.0], [44.0, 38.0], [20.0, 38.0]], 6.0),
    "hollow": ([[6.0, 6.0], [58.0, 8.0], [50.0, 50.0], [32.0, 20.0], [12.0, 55.0]], 0.0),
}


def painted(points, radius, size=64):
    image = np.zeros((size, size))
    rows, columns, alpha = coverage(np.array(points, dtype=np.float64), radius, size)
    image[rows, columns] = alpha
    return image


def drawn_large(points, radius, scale=16, size=64):
    """Pillow's drawing at many times the size, averaged."""
    image = Image.new("L", (size * scale, size * scale))
    draw = ImageDraw.Draw(image)
    corners = [(x * scale - 0.5, y * scale - 0.5) for x, y in points]
    reach = radius * scale
    if len(corners) > 2:
        draw.polygon(corners, fill=255)
    for x, y in corners:
        draw.ellipse([x - reach, y - reach, x + reach, y + reach], fill=255)
    if radius and len(corners) > 1:
        for start, end in zip(corners, [*corners[1:], corners[0]], strict=True):
            draw.line([start, end], fill=255, width=round(2 * reach))
    blocks = np.asarray(image, dtype=np.float64).reshape(size, scale, size, scale)
    return blocks.mean(axis=(1, 3)) / 255


@pytest.mark.parametrize("name", SHAPES)
def test_covers_what_pillow_fills(name):
    """A shape that is shifted by a pixel, or hollow where it must be full, differs by far more."""
    got, expected = painted(*SHAPES[name]), drawn_large(*SHAPES[name])
    assert np.abs(got - expected).max() < 0.26
    assert np.abs(got - expected).mean() < 0.003
    assert got.sum() == pytest.approx(expected.sum(), rel=0.02)


def test_area_of_a_disc():
    """The closed form: pi r**2."""
    assert painted([[32, 32]], 20).sum() == pytest.approx(np.pi * 400, rel=1e-3)


def test_pixel_aligned_boxes_have_no_soft_edges():
    """Coordinates run along the edges of pixels: [8, 12) is four whole pixels."""
    image = painted([[8, 10], [12, 10], [12, 13], [8, 13]], 0.0)
    assert set(np.unique(image)) == {0, 1}
    assert np.argwhere(image).min(axis=0).tolist() == [10, 8]
    assert np.argwhere(image).max(axis=0).tolist() == [12, 11]


def test_the_direction_of_a_polygon_does_not_matter():
    points, radius = SHAPES["hollow"]
    np.testing.assert_allclose(painted(points, radius), painted(points[::-1], radius), atol=1e-12)


@pytest.mark.parametrize("center", [[-5, 30], [30, 70], [200, 200], [-50, -50]])
def test_shapes_beyond_the_edge_are_cut(center):
    """An arm that hangs from above the picture must neither fail nor wrap around."""
    whole = painted([[center[0] + 100, center[1] + 100]], 12, size=400)[100:164, 100:164]
    np.testing.assert_allclose(painted([center], 12), whole, atol=1e-12)
