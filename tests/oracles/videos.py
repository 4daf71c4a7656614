"""Small random videos with the events that metrics must tell apart."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import strategies as st

EVENTS = ("noisy", "frozen", "cut", "flicker", "perfect", "ramp", "inverted")


def make_video(
    seed: int, event: str, num_steps: int, height: int, width: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Target and prediction, uint8 [T, H, W, 3], and the last context frame [H, W, 3]."""
    random = np.random.default_rng(seed)
    background = random.integers(0, 256, (height, width, 3))
    frames = []
    for t in range(num_steps + 1):
        frame = background.copy()
        left = (2 * t) % max(width - 3, 1)
        frame[1:4, left : left + 3] = random.integers(0, 256, 3)
        frames.append(frame)
    context, target = frames[0], np.stack(frames[1:])
    prediction = target.copy()
    if event == "noisy":
        prediction = target + random.integers(-20, 21, target.shape)
    elif event == "frozen":
        prediction = np.repeat(context[None], num_steps, axis=0)
    elif event == "cut":
        prediction[num_steps // 2 :] = random.integers(0, 256, (height, width, 3))
    elif event == "flicker":
        prediction[::2] = prediction[::2] + 60
    elif event == "ramp":
        prediction = target + np.arange(num_steps)[:, None, None, None] // 2
    elif event == "inverted":
        prediction = 255 - target
    return tuple(np.clip(v, 0, 255).astype(np.uint8) for v in (target, prediction, context))


def to_torch(frames: np.ndarray) -> torch.Tensor:
    """uint8 [..., H, W, 3] to [..., 3, H, W], NHWC in memory."""
    return torch.from_numpy(frames).movedim(-1, -3)


video_strategy = st.builds(
    make_video,
    seed=st.integers(0, 2**32 - 1),
    event=st.sampled_from(EVENTS),
    num_steps=st.integers(1, 9),
    height=st.integers(7, 16),
    width=st.integers(7, 20),
)
