"""Two small transformers: one over a world's discrete states, one over tokens of its frames."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class StateTransformer(nn.Module):
    """``module(state, action)`` gives logits of each variable after the action: what wbgpu calls.

    Args:
        sizes: number of outcomes of each variable.
        num_actions: of the world.
        width: of the embeddings.
        sees_action: the ablation does not.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        num_actions: int,
        width: int = 64,
        sees_action: bool = True,
    ) -> None:
        super().__init__()
        self.sees_action = sees_action
        self.values = nn.ModuleList(nn.Embedding(size, width) for size in sizes)
        self.action = nn.Embedding(num_actions, width)
        self.places = nn.Parameter(0.02 * torch.randn(len(sizes) + 1, width))
        self.layers = _layers(width)
        self.heads = nn.ModuleList(nn.Linear(width, size) for size in sizes)

    def forward(self, state: Tensor, action: Tensor) -> list[Tensor]:
        """State int64 ``[B, V]`` and action int64 ``[B]``; ``[B, K]`` for each variable."""
        if not self.sees_action:
            action = torch.zeros_like(action)
        tokens = [embed(state[:, v]) for v, embed in enumerate(self.values)]
        code = self.layers(torch.stack([*tokens, self.action(action)], 1) + self.places)
        return [head(code[:, v]) for v, head in enumerate(self.heads)]


class FrameTransformer(nn.Module):
    """Predicts the tokens of the next frame one after the other, from the last frame and action.

    Args:
        num_tokens: of a frame.
        vocabulary: number of different tokens, K.
        num_actions: of the world.
        width: of the embeddings.
        sees_action: the ablation does not.
    """

    def __init__(
        self,
        num_tokens: int,
        vocabulary: int,
        num_actions: int,
        width: int = 96,
        sees_action: bool = True,
    ) -> None:
        super().__init__()
        self.sees_action = sees_action
        self.num_tokens = num_tokens
        self.token = nn.Embedding(vocabulary, width)
        self.action = nn.Embedding(num_actions, width)
        self.places = nn.Parameter(0.02 * torch.randn(2 * num_tokens, width))
        self.layers = _layers(width)
        self.head = nn.Linear(width, vocabulary)
        # The last frame and the action see each other, the next frame's tokens what is before.
        allowed = torch.ones(2 * num_tokens, 2 * num_tokens).tril().bool()
        allowed[:, : num_tokens + 1] = True
        self.register_buffer("hidden", ~allowed, persistent=False)

    def forward(self, last: Tensor, action: Tensor, following: Tensor) -> Tensor:
        """Logits ``[B, N, K]`` of the tokens ``following [B, N]``, each given those before it."""
        if not self.sees_action:
            action = torch.zeros_like(action)
        known = [self.token(last), self.action(action)[:, None], self.token(following[:, :-1])]
        code = self.layers(torch.cat(known, 1) + self.places, mask=self.hidden)
        return self.head(code[:, self.num_tokens :])

    @torch.inference_mode()
    def most_likely(self, last: Tensor, action: Tensor) -> Tensor:
        """Tokens ``[B, N]`` of the next frame, chosen one after the other."""
        chosen = torch.zeros_like(last)
        for index in range(self.num_tokens):
            chosen[:, index] = self(last, action, chosen)[:, index].argmax(-1)
        return chosen


def _layers(width: int) -> nn.TransformerEncoder:
    layer = nn.TransformerEncoderLayer(
        width, 4, 2 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
    )
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
