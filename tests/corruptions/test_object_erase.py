from __future__ import annotations

import torch

from tests.corruptions.videos import textured_video
from wbgpu.corruptions import ObjectErase, corrupt


def test_what_moves_is_gone_at_severity_1():
    video = textured_video(6)
    result = corrupt(video, ObjectErase(), 1.0)
    assert torch.equal(result, video[:1].expand_as(video))


def test_the_hole_opens_from_the_middle_and_grows():
    """A slow loop: the nearest half of the square's pixels shows the first frame."""
    video = textured_video(2)
    half, quarter = (corrupt(video, ObjectErase(), s)[1] for s in (0.5, 0.25))
    moved = (video[1].int() - video[0].int()).abs().amax(dim=0) > 16
    erased = (half == video[0]).all(dim=0) & moved
    assert int(erased.sum()) == round(0.5 * int(moved.sum()))
    y, x = moved.nonzero().double().mean(dim=0).tolist()
    distance = [
        ((int(i) - y) ** 2 + (int(j) - x) ** 2, bool(erased[i, j])) for i, j in moved.nonzero()
    ]
    assert max(d for d, gone in distance if gone) <= min(d for d, gone in distance if not gone)
    assert not ((quarter == video[0]).all(dim=0) & moved & ~erased).any()
    assert torch.equal(half[:, ~moved], video[1][:, ~moved])


def test_a_still_video_stays_as_it_is():
    video = textured_video(1).repeat(4, 1, 1, 1)
    assert torch.equal(corrupt(video, ObjectErase(), 1.0), video)
