from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import uniform_filter

from tests.corruptions.videos import textured_video
from wbgpu.corruptions import Blur, corrupt


@pytest.mark.parametrize("severity", [0.3, 1.0])
def test_it_mixes_the_frame_with_scipys_uniform_filter(severity):
    video = textured_video(3)
    result = corrupt(video, Blur(max_reach=0.09), severity)[1:].numpy()
    frames = video[1:].numpy().astype(np.float64)
    # 0.09 of 24 pixels are 2, so the square has a side of 5.
    mean = uniform_filter(frames, size=(1, 1, 5, 5), mode="nearest")
    expected = (1 - severity) * frames + severity * mean
    assert np.abs(result - expected).max() <= 0.5 + 1e-4
