from __future__ import annotations

import pytest
import torch

from wbgpu.models import CopyLast, Prediction, Tokenizer, WorldModel, to_uint8


def test_floats_are_refused_and_told_what_to_do():
    """In [0, 1], and taken for levels of 255, they would be a black video."""
    with pytest.raises(TypeError, match=r"expected uint8 RGB, 0 to 255, got torch\.float32"):
        Prediction(torch.zeros(1, 2, 3, 8, 8))


@pytest.mark.parametrize(
    ("frames", "logits", "error", "message"),
    [
        (None, None, ValueError, "give frames, logits or both"),
        (torch.zeros(2, 3, 8, 8, dtype=torch.uint8), None, ValueError, r"\[B, T, 3, H, W\]"),
        (torch.zeros(1, 2, 8, 8, 3, dtype=torch.uint8), None, ValueError, r"\[B, T, 3, H, W\]"),
        (None, torch.zeros(1, 2, 3), ValueError, r"\[B, T, tokens, K\]"),
        (None, torch.zeros(1, 2, 3, 4, dtype=torch.long), TypeError, "floating point"),
        (
            torch.zeros(1, 2, 3, 8, 8, dtype=torch.uint8),
            torch.zeros(1, 3, 3, 4),
            ValueError,
            r"frames are of \(1, 2\)",
        ),
    ],
)
def test_what_is_no_prediction_is_refused(frames, logits, error, message):
    with pytest.raises(error, match=message):
        Prediction(frames, logits)


def test_levels_are_rounded_to_nearest_and_clamped():
    """Truncated, every trained model would be half a level too dark."""
    values = torch.tensor([-0.2, 0.0, 0.4 / 255, 0.6 / 255, 254.6 / 255, 1.0, 1.7])
    assert to_uint8(values).tolist() == [0, 0, 0, 1, 255, 255, 255]
    assert to_uint8(values.bfloat16()).dtype == torch.uint8


def test_a_model_that_diverged_is_not_black():
    with pytest.raises(ValueError, match="NaN"):
        to_uint8(torch.tensor([0.5, torch.nan]))
    with pytest.raises(TypeError, match="expected floating point"):
        to_uint8(torch.zeros(3, dtype=torch.uint8))


def test_the_protocols_are_told_apart():
    assert isinstance(CopyLast(), WorldModel)
    assert not isinstance(CopyLast(), Tokenizer)
    assert not isinstance(torch.nn.Linear(1, 1), WorldModel)
