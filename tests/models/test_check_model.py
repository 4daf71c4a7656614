"""The conformance test must catch each fault that it speaks of."""

from __future__ import annotations

import pytest
import torch

from wbgpu.models import Blur, Prediction, Tokens, check_model


class Base:
    def predict(self, context_frames, actions, num_frames):
        last = context_frames[:, -1:]
        return Prediction(last.expand(-1, num_frames, -1, -1, -1).clone())


class WritesToContext(Base):
    def predict(self, context_frames, actions, num_frames):
        context_frames.zero_()
        return super().predict(context_frames, actions, num_frames)


class WritesToActions(Base):
    def predict(self, context_frames, actions, num_frames):
        actions.zero_()
        return super().predict(context_frames, actions, num_frames)


class OneFrameTooMany(Base):
    def predict(self, context_frames, actions, num_frames):
        return super().predict(context_frames, actions, num_frames + 1)


class LooksAtOthers(Base):
    def predict(self, context_frames, actions, num_frames):
        mixed = context_frames.float().mean(0, keepdim=True).to(torch.uint8)
        return super().predict(mixed.expand_as(context_frames), actions, num_frames)


class Remembers(Base):
    calls = 0

    def predict(self, context_frames, actions, num_frames):
        self.calls += 1
        return super().predict(context_frames + self.calls, actions, num_frames)


class BareTensor(Base):
    def predict(self, context_frames, actions, num_frames):
        return super().predict(context_frames, actions, num_frames).frames


class Switches(Base, torch.nn.Module):
    def predict(self, context_frames, actions, num_frames):
        self.train(not self.training)
        return super().predict(context_frames, actions, num_frames)


class LogitsAlone(Base):
    def predict(self, context_frames, actions, num_frames):
        return Prediction(logits=torch.zeros(len(context_frames), num_frames, 4, 7))


class Tokenized(LogitsAlone):
    def tokenize(self, context_frames, frames):
        return Tokens(torch.zeros(*frames.shape[:2], 4, dtype=torch.long))


class OutOfRange(LogitsAlone):
    def tokenize(self, context_frames, frames):
        return Tokens(torch.full((*frames.shape[:2], 4), 7))


@pytest.mark.parametrize("model", [Base(), Blur(), Tokenized()])
def test_what_keeps_the_contract_passes(model):
    check_model(model, num_actions=2)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (WritesToContext(), "context frames that are not written to"),
        (WritesToActions(), "actions that are not written to"),
        (OneFrameTooMany(), r"frames of \(3, 4\) episodes and steps"),
        (LooksAtOthers(), "the same prediction for episode 0 alone"),
        (Remembers(), "the same prediction with the same seed"),
        (BareTensor(), "a Prediction, got Tensor"),
        (Switches(), "modules that stay in the mode"),
        (LogitsAlone(), "a method tokenize"),
        (OutOfRange(), "targets from 0 to 6, got 7 to 7"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Base) else "",
)
def test_each_fault_is_caught(model, message):
    with pytest.raises(AssertionError, match=message):
        check_model(model, num_actions=2)
