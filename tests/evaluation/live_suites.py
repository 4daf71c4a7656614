"""Small suites for models that predict, and models to evaluate on them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from wbgpu.cli.demo_suite import draw_episode
from wbgpu.models import Prediction, Tokens
from wbgpu.video.encode import write_video

NUM_CONTEXT = 3


def write_suite(folder: Path, lengths: tuple[int, ...] = (8, 11, 8), actions: int = 0) -> Path:
    """Drawn episodes of two sizes in ``folder/gt``, with random actions in ``folder/actions``."""
    generator, movements = np.random.default_rng(7), np.random.default_rng(8)
    for index, length in enumerate(lengths):
        frames = draw_episode(generator, length)[:, ::2, ::2]
        if index % 3 == 1:
            frames = frames[:, :-8]
        write_video(folder / f"gt/{index}.mp4", frames, fps=5)
        if actions:
            (folder / "actions").mkdir(exist_ok=True)
            np.save(folder / f"actions/{index}.npy", movements.normal(size=(length, actions)))
    return folder


class Noisy(torch.nn.Module):
    """Draws from torch, and says in which mode it was."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(1))
        self.dropout = torch.nn.Dropout(0.9)

    def predict(self, context_frames, actions, num_frames):
        last = context_frames[:, -1:].float().expand(-1, num_frames, -1, -1, -1)
        noise = torch.randn(last.shape, device=last.device)
        moved = last + 8 * self.dropout(self.scale) * noise
        return Prediction(moved.clamp(0, 255).round().to(torch.uint8))


class TokenModel:
    """16 tokens a frame, of 4 classes of brightness; says that nothing changes."""

    def __init__(self, with_frames: bool = True) -> None:
        self.with_frames = with_frames

    def predict(self, context_frames, actions, num_frames):
        last = context_frames[:, -1:].expand(-1, num_frames, -1, -1, -1)
        logits = torch.nn.functional.one_hot(self._tokens(last), 4) * 2.0
        return Prediction(last if self.with_frames else None, logits)

    def tokenize(self, context_frames, frames):
        targets = self._tokens(frames)
        return Tokens(targets, reference_logits=torch.zeros(*targets.shape, 4))

    def _tokens(self, frames):
        grey = frames.float().mean(2)
        return (torch.nn.functional.adaptive_avg_pool2d(grey, 4).flatten(2) / 64).long()
