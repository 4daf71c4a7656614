"""Tokens of drawn frames, and the exact answer key of each token."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from wbgpu.worlds import Renderer, WorldDefinition

SIZE, PATCH = 64, 16
Ints = npt.NDArray[np.int64]


class Tokenizer:
    """A frame is 4 x 4 patches, and a token is which of all patches of the world it is.

    Args:
        definition: a world with a picture.
    """

    def __init__(self, definition: WorldDefinition) -> None:
        self.definition = definition
        self.sizes = [variable.num_outcomes for variable in definition.schema.variables]
        self.states: Ints = np.array(list(itertools.product(*map(range, self.sizes))))
        patches = _patches(Renderer(definition, SIZE).frames(self.states))
        flat = patches.reshape(-1, patches.shape[-1])
        self.patches, inverse = np.unique(flat, axis=0, return_inverse=True)
        self.of_state: Ints = inverse.reshape(len(self.states), -1)

    @property
    def num_tokens(self) -> int:
        return self.of_state.shape[1]

    def encode(self, states: Ints) -> Ints:
        """Tokens ``[..., 16]`` of states ``[..., V]``."""
        return self.of_state[np.ravel_multi_index(tuple(np.moveaxis(states, -1, 0)), self.sizes)]

    def decode(self, tokens: Ints) -> npt.NDArray[np.uint8]:
        """Frames uint8 ``[..., 64, 64, 3]`` of tokens ``[..., 16]``."""
        side = SIZE // PATCH
        whole = self.patches[tokens].reshape(*tokens.shape[:-1], side, side, PATCH, PATCH, 3)
        return np.moveaxis(whole, -4, -3).reshape(*tokens.shape[:-1], SIZE, SIZE, 3)

    def reference_loss_nats(self, states: Ints, actions: Ints, tokens: Ints) -> npt.NDArray:
        """Loss of each token under the world itself, given the state, the action and those before.

        By the chain rule over all next states: those which agree with the tokens so far, with and
        without the next one.

        Args:
            states: ``[B, V]``, before the step.
            actions: ``[B]``.
            tokens: ``[B, 16]``, after the step.
        """
        parts = self.definition.transition(states, actions)
        weight = np.ones((len(states), len(self.states)))
        for variable, rows in enumerate(parts):
            weight *= rows[:, self.states[:, variable]]
        losses = np.empty(tokens.shape)
        total = weight.sum(1)
        for index in range(tokens.shape[1]):
            weight *= self.of_state[None, :, index] == tokens[:, index, None]
            left = weight.sum(1)
            losses[:, index] = np.log(total) - np.log(left)
            total = left
        return losses


def _patches(frames: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    side = SIZE // PATCH
    split = frames.reshape(len(frames), side, PATCH, side, PATCH, 3)
    return np.moveaxis(split, 3, 2).reshape(len(frames), side * side, -1)
