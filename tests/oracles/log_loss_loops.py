"""Log-losses and divergences in float64, a row at a time, with SciPy."""

from __future__ import annotations

import numpy as np
import torch
from scipy.special import logsumexp, rel_entr
from torch import Tensor


def log_probabilities(logits: Tensor) -> np.ndarray:
    """Log-softmax of the last dimension, with the loss of the largest logit to its last digits."""
    x = logits.detach().double().numpy()
    out = np.empty_like(x)
    for index in np.ndindex(x.shape[:-1]):
        row = x[index]
        top = int(np.argmax(row))
        rest = np.delete(row, top)
        others = np.exp(logsumexp(rest - row[top])) if len(rest) else 0.0
        out[index] = (row - row[top]) - np.log1p(others)
    return out


def loss_nats(logits: Tensor, target: Tensor) -> Tensor:
    logs = log_probabilities(logits)
    picked = np.take_along_axis(logs, target.long().numpy()[..., None], axis=-1)[..., 0]
    return torch.from_numpy(0.0 - picked)


def kl_nats(truth: np.ndarray, forecast: np.ndarray) -> np.ndarray:
    """KL of probabilities ``[..., K]``."""
    return rel_entr(truth, forecast).sum(axis=-1)
