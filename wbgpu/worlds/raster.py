"""Smooth-edged shapes: how much of each pixel a rounded polygon covers.

Plain IEEE arithmetic and square roots, so that a shape has the same pixels on every platform.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def coverage(points: Floats, radius: float, size: int) -> tuple[slice, slice, Floats]:
    """Coverage of the pixels of a square image by all that is within ``radius`` of a polygon.

    Args:
        points: ``[N, 2]``, x and y in pixels from the upper left corner; one point makes a disc,
            two a line with round ends, more a polygon with rounded corners.
        radius: in pixels, 0 or more.
        size: sides of the image in pixels.

    Returns:
        Rows, columns, and the coverage of the pixels in them, in [0, 1].
    """
    # Half a pixel around the shape is partly covered.
    low = np.clip(np.floor(points.min(axis=0) - radius - 1), 0, size).astype(int)
    high = np.clip(np.ceil(points.max(axis=0) + radius + 1), 0, size).astype(int)
    xs = np.arange(low[0], high[0]) + 0.5
    ys = np.arange(low[1], high[1])[:, None] + 0.5
    distance = _signed_distance(points, xs, ys) - radius
    return (
        slice(int(low[1]), int(high[1])),
        slice(int(low[0]), int(high[0])),
        np.clip(0.5 - distance, 0.0, 1.0),
    )


def _signed_distance(points: Floats, xs: Floats, ys: Floats) -> Floats:
    """Distance to the outline, negative inside: ``[len(ys), len(xs)]``."""
    shape = len(ys), xs.shape[0]
    squared = np.full(shape, np.inf)
    is_inside = np.zeros(shape, dtype=np.bool_)
    for (x0, y0), (x1, y1) in zip(points, np.roll(points, -1, axis=0), strict=True):
        edge_x, edge_y = x1 - x0, y1 - y0
        length = edge_x * edge_x + edge_y * edge_y
        from_x, from_y = xs - x0, ys - y0
        along: Floats = np.zeros(shape)
        if length > 0:
            along = np.clip((from_x * edge_x + from_y * edge_y) / length, 0.0, 1.0)
        away_x, away_y = from_x - edge_x * along, from_y - edge_y * along
        squared = np.minimum(squared, away_x * away_x + away_y * away_y)
        if y0 != y1:
            crosses = (y0 <= ys) != (y1 <= ys)
            is_inside ^= crosses & (from_x < from_y * (edge_x / edge_y))
    distance: Floats = np.sqrt(squared)
    distance[is_inside] *= -1
    return distance
