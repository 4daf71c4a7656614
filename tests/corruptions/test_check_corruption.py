from __future__ import annotations

import numpy as np
import pytest
import torch

from wbgpu.corruptions import Corruption, check_corruption


class _Base(Corruption):
    fault = "is brighter"

    def change(self, frames, index, reference, rollout, severity):
        return (frames.int() + round(40 * severity)).clamp(0, 255).to(torch.uint8)


class _InPlace(_Base):
    def source_frames(self, rollout, severity):
        return np.arange(rollout.num_frames)

    def change(self, frames, index, reference, rollout, severity):
        reference.add_(1)
        return super().change(frames, index, reference, rollout, severity)


class _Random(_Base):
    def change(self, frames, index, reference, rollout, severity):
        return torch.randint_like(frames, 0, 255)


class _DependsOnParts(_Base):
    def change(self, frames, index, reference, rollout, severity):
        return torch.full_like(frames, len(frames))


class _Vanishing(_Base):
    def change(self, frames, index, reference, rollout, severity):
        return super().change(frames, index, reference, rollout, 0.2 if severity < 0.6 else 0.0)


class _Nothing(_Base):
    def change(self, frames, index, reference, rollout, severity):
        return frames


def test_one_that_keeps_the_contract_passes():
    check_corruption(_Base())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (_InPlace(), "changed the frames that it was given"),
        (_Random(), "is not the same twice"),
        (_DependsOnParts(), "depends on how the video is cut"),
        (_Vanishing(), "a lower one"),
        (_Nothing(), "severity 1 changes nothing"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Corruption) else "",
)
def test_each_broken_promise_is_found(wrong, message):
    """A check that cannot fail proves nothing."""
    with pytest.raises(AssertionError, match=message):
        check_corruption(wrong)
