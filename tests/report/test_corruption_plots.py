from __future__ import annotations

import io

import numpy as np
from PIL import Image

from tests.report.corruption_studies import BETTER, SAME, WORSE, study
from wbgpu.report.corruption_plots import ordering_plot, response_plot


def pixels(png):
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)


def near(picture, colour):
    return int((np.abs(picture - np.array(colour)).max(axis=-1) < 8).sum())


def test_the_order_is_green_and_a_reward_is_red():
    """Colours swapped would say the opposite."""
    green, red = (0x1A, 0x7F, 0x5A), (0xC8, 0x44, 0x2F)
    seen = pixels(ordering_plot(study({"x": {"psnr": WORSE}})))
    rewarded = pixels(ordering_plot(study({"x": {"psnr": BETTER}})))
    assert near(seen, green) > 10 * near(seen, red)
    assert near(rewarded, red) > 10 * near(rewarded, green)


def test_pictures_are_drawn_whatever_is_there_and_always_the_same():
    for values in (
        {"x": {"psnr": SAME, "mse": WORSE}, "a $b_{c": {"psnr": WORSE, "mse": SAME}},
        {"x": {"psnr": [[None, None, None]]}},
    ):
        for draw in (response_plot, ordering_plot):
            assert draw(study(values)) == draw(study(values))
