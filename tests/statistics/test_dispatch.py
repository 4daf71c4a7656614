"""The path is chosen by device, reported, and never silently another one."""

from __future__ import annotations

import pytest
import torch

from wbgpu.errors import ConfigurationError
from wbgpu.statistics import FrameBatch, frame_statistics, resolve_path


def test_auto_is_the_fast_path_on_cpu_and_the_reference_elsewhere():
    """The path stands in results; another one would make them untrue."""
    assert resolve_path("auto", "cpu") == "cpu"
    assert resolve_path("auto", torch.device("cuda", 1)) == "reference"
    assert resolve_path("reference", "cpu") == "reference"


def test_unknown_paths_and_groups_are_named():
    """A typing error would fall back to something else."""
    frames = torch.zeros((1, 1, 3, 8, 8), dtype=torch.uint8)
    batch = FrameBatch.from_videos(frames, frames)
    with pytest.raises(ConfigurationError, match="'fast'"):
        resolve_path("fast", "cpu")
    with pytest.raises(ConfigurationError, match="unknown \\['sharpness'\\]"):
        frame_statistics(batch, frozenset({"sharpness"}))


def test_the_cpu_path_is_refused_for_frames_on_an_accelerator():
    """Copying them back in silence would be slow for no visible reason."""
    with pytest.raises(ConfigurationError, match="the frames are on cuda"):
        resolve_path("cpu", "cuda")
