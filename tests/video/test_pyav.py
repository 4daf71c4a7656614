"""Keeping frames or streaming them gives the same video."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.video.awkward_files import encode, pictures
from wbgpu.errors import ConfigurationError, VideoError
from wbgpu.video import pyav
from wbgpu.video.pyav import PyavDecoder


@pytest.mark.parametrize("max_pixels", [0, 48 * 64 * 9, 48 * 64 * 10])
def test_limit_of_kept_frames(tmp_path, monkeypatch, max_pixels):
    """Frames kept up to the limit and no further; one too few would end the video early."""
    path = encode(tmp_path / "ten.mp4", pictures(10, 48, 64))
    expected = PyavDecoder().open(path).read(0, 10)
    monkeypatch.setattr(pyav, "_MAX_KEPT_PIXELS", max_pixels)
    with PyavDecoder().open(path) as reader:
        assert (reader._decoded is None) == (max_pixels < 48 * 64 * 10)
        read = torch.cat([reader.read(0, 4), reader.read(4, 10)])
    np.testing.assert_array_equal(read.numpy(), expected.numpy())


def test_file_that_shrinks_while_it_is_read(tmp_path, monkeypatch):
    """A streamed file replaced under us must fail, not end early."""
    monkeypatch.setattr(pyav, "_MAX_KEPT_PIXELS", 0)
    path = encode(tmp_path / "ten.mp4", pictures(10, 48, 64))
    with PyavDecoder().open(path) as reader:
        encode(path, pictures(5, 48, 64))
        with pytest.raises(VideoError, match=r"ten\.mp4: unreadable at frame 5 of 10"):
            reader.read(0, 10)


def test_negative_threads():
    """A typo in a configuration must not reach FFmpeg."""
    with pytest.raises(ConfigurationError, match="num_threads"):
        PyavDecoder(num_threads=-1)
