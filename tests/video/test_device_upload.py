"""Frames on the GPU are the frames of the files, whatever the copies overlap with."""

from __future__ import annotations

import pytest
import torch

from wbgpu.video.device_upload import DeviceUpload
from wbgpu.video.windows import join_frames

pytestmark = pytest.mark.cuda


def _frames(num_frames: int, height: int = 256, width: int = 256) -> torch.Tensor:
    frames = torch.randint(0, 256, (num_frames, height, width, 3), dtype=torch.uint8)
    return frames.permute(0, 3, 1, 2)


def test_joined_frames_arrive_whole():
    """In NHWC memory, for which the kernels are made."""
    parts = [_frames(3), _frames(1), _frames(20)]
    joined = DeviceUpload(torch.device("cuda", 0)).join(parts)
    assert joined.device == torch.device("cuda", 0)
    assert joined.permute(0, 2, 3, 1).is_contiguous()
    assert torch.equal(joined.cpu(), join_frames(parts))


def test_buffers_in_use_are_not_filled_again():
    """With the device busy, copies queue up behind it; each must still bring its own frames."""
    device = torch.device("cuda", 0)
    upload = DeviceUpload(device)
    sent = [_frames(1 + 7 * index % 11) for index in range(40)]
    busy = torch.randn(4096, 4096, device=device)
    received = []
    for frames in sent:
        busy = (busy @ busy).tanh()
        received.append(upload.join([frames]))
    for ours, theirs in zip(sent, received, strict=True):
        assert torch.equal(theirs.cpu(), ours)


def test_memory_is_not_reused_before_the_device_has_read_it():
    """The caching allocator must know that the frames are read on another stream."""
    device = torch.device("cuda", 0)
    upload = DeviceUpload(device)
    busy = torch.randn(4096, 4096, device=device)
    sums, expected = [], []
    for index in range(30):
        frames = _frames(8)
        expected.append(int(frames.long().sum()))
        on_device = upload.join([frames])
        for _ in range(index % 3):
            busy = (busy @ busy).tanh()
        sums.append(on_device.long().sum())
        del on_device
    assert [int(total) for total in sums] == expected


def test_frames_decoded_on_the_device_stay_there():
    """Also beside frames that another decoder left on the CPU."""
    device = torch.device("cuda", 0)
    first, second = _frames(2), _frames(3)
    joined = DeviceUpload(device).join([first.to(device), second])
    assert torch.equal(joined.cpu(), join_frames([first, second]))
    alone = first.to(device)
    assert DeviceUpload(device).join([alone]) is alone
