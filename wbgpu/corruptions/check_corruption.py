"""What every corruption must do, as a check to run in a test."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from wbgpu.corruptions.corrupted_video import CorruptedVideo, corrupt
from wbgpu.corruptions.corruption import Corruption, Rollout

_NUM_FRAMES = 25
_NUM_CONTEXT = 2
_SEVERITIES = (0.1, 0.25, 0.5, 0.75, 1.0)


def check_corruption(corruption: Corruption, device: str | torch.device = "cpu") -> None:
    """Prove that a corruption keeps the contract of `Corruption` on a moving picture.

    Its frames are new ones of the video's size; context and first frame stay; it leaves the video
    that it is given alone; it is the same each time, and however the video is cut; a higher
    severity does not change fewer frames, and 1 changes something.

    Raises:
        AssertionError: it does not; the message says what.
    """
    name = type(corruption).__name__
    assert corruption.fault, f"{name}.fault must say what a model with the fault does"
    video = moving_picture(_NUM_FRAMES).to(device)
    before = video.clone()
    num_changed = 0
    for severity in _SEVERITIES:
        result = corrupt(video, corruption, severity, num_context=_NUM_CONTEXT, seed=7)
        assert torch.equal(video, before), f"{name} changed the frames that it was given"
        assert result.device == video.device, f"{name}: frames have moved to {result.device}"
        assert torch.equal(result[:_NUM_CONTEXT], video[:_NUM_CONTEXT]), (
            f"{name}: context frames have changed"
        )
        again = corrupt(video, corruption, severity, num_context=_NUM_CONTEXT, seed=7)
        assert torch.equal(result, again), f"{name} is not the same twice"
        _check_parts(corruption, severity, video, result)
        changed = int((result != video).flatten(1).any(dim=1).sum())
        assert changed >= num_changed, (
            f"{name}: severity {severity} changes {changed} frames, a lower one {num_changed}"
        )
        num_changed = changed
    assert num_changed > 0, f"{name}: severity 1 changes nothing"
    alone = corrupt(video[:1], corruption, 1.0)
    assert torch.equal(alone, video[:1]), f"{name}: the first frame has changed"


def moving_picture(num_frames: int) -> Tensor:
    """A square that moves over a pattern, uint8 ``[num_frames, 3, 20, 28]``."""
    pattern = torch.arange(3 * 20 * 28).reshape(1, 3, 20, 28) * 7 % 160 + 20
    video = pattern.repeat(num_frames, 1, 1, 1).to(torch.uint8)
    for index in range(num_frames):
        left = index * 20 // num_frames
        video[index, :, 6:14, left : left + 8] = 250 - 2 * index
    return video


def _check_parts(corruption: Corruption, severity: float, video: Tensor, whole: Tensor) -> None:
    rollout = Rollout.of(len(video), _NUM_CONTEXT, 7, "")
    reference = video[_NUM_CONTEXT - 1 : _NUM_CONTEXT]
    read = CorruptedVideo(
        corruption,
        severity,
        rollout,
        lambda index: video[torch.from_numpy(np.ascontiguousarray(index)).to(video.device)],
        reference,
    ).read
    parts = [read(start, min(start + 4, len(video))) for start in range(0, len(video), 4)]
    assert torch.equal(torch.cat(parts), whole), (
        f"{type(corruption).__name__}: depends on how the video is cut"
    )
