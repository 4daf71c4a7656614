"""A picture of a few steps: ground truth, prediction and where they differ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

_MARGIN = 6
_LABEL_HEIGHT = 16
_DIFFERENCE_GAIN = 4
"""Differences are small next to the range; drawn as they are, they look black."""


def contact_sheet(
    target: npt.NDArray[np.uint8], prediction: npt.NDArray[np.uint8], horizons: Sequence[int]
) -> Image.Image:
    """Three rows, one column a step.

    Args:
        target, prediction: uint8 ``[N, H, W, 3]``.
        horizons: the N columns' horizons, for their labels.
    """
    difference = np.abs(target.astype(np.int16) - prediction).max(axis=-1, keepdims=True)
    bright = np.clip(difference * _DIFFERENCE_GAIN, 0, 255).astype(np.uint8).repeat(3, axis=-1)
    rows = (
        ("ground truth", target),
        ("prediction", prediction),
        (f"|difference| x{_DIFFERENCE_GAIN}", bright),
    )
    num_columns, height, width, _ = target.shape
    label_width = 110
    sheet = Image.new(
        "RGB",
        (
            label_width + num_columns * (width + _MARGIN),
            _LABEL_HEIGHT + len(rows) * (height + _MARGIN),
        ),
        "white",
    )
    draw = ImageDraw.Draw(sheet)
    for column, horizon in enumerate(horizons):
        x = label_width + column * (width + _MARGIN)
        draw.text((x, 2), f"t+{horizon}", fill="black")
        for row, (_, frames) in enumerate(rows):
            y = _LABEL_HEIGHT + row * (height + _MARGIN)
            sheet.paste(Image.fromarray(frames[column]), (x, y))
    for row, (label, _) in enumerate(rows):
        y = _LABEL_HEIGHT + row * (height + _MARGIN) + height // 2 - 6
        draw.text((4, y), label, fill="black")
    return sheet
