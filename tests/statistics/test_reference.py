"""The reference itself, against loops and scikit-image, tighter than any path has to be."""

from __future__ import annotations

import pytest

from tests.oracles.frame_loops import ssim_map
from tests.oracles.frame_pairs import adversarial_pairs, gaussian_ssim, uniform_ssim
from tests.oracles.videos import to_torch
from wbgpu.statistics.gaussian import gaussian_ssim_map
from wbgpu.statistics.reference import uniform_ssim_map


def test_the_map_is_that_of_a_loop_over_windows():
    """A transposed or shifted map has the right mean and the wrong dynamic SSIM."""
    for name, (target, prediction) in adversarial_pairs(8, 10).items():
        frames = (to_torch(frame)[None].long() for frame in (target, prediction))
        got = uniform_ssim_map(*frames)[0]
        for (top, left, channel), expected in ssim_map(target, prediction).items():
            assert got[channel, top, left].item() == pytest.approx(expected, abs=1e-14), name


@pytest.mark.parametrize("size", [(11, 13), (60, 44)], ids=str)
def test_float64_all_the_way(size):
    """An integer tensor times a Python float is float32: an error of 1e-8 here would show it."""
    for name, (target, prediction) in adversarial_pairs(*size).items():
        frames = [to_torch(frame)[None].long() for frame in (target, prediction)]
        uniform = uniform_ssim_map(*frames).mean().item()
        gaussian = gaussian_ssim_map(*frames).mean().item()
        assert uniform == pytest.approx(uniform_ssim(target, prediction), abs=1e-12), name
        assert gaussian == pytest.approx(gaussian_ssim(target, prediction), abs=1e-12), name
