"""What the log-loss kernel must do. `test_triton` runs this file in processes of its own.

See `triton_cases`. The interpreter runs each row in Python, so rows are few.
"""

from __future__ import annotations

import math
import os

import numpy as np
import pytest
import torch

from tests.oracles import log_loss_loops
from wbgpu.statistics import log_losses

DEVICE = os.environ["WBGPU_TRITON_DEVICE"]
DTYPES = (torch.float32, torch.bfloat16, torch.float16)
INFINITY = math.inf

# The interpreter computes with NumPy, which warns where a GPU does not.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def losses(logits, target, valid=None):
    moved = [None if t is None else t.to(DEVICE) for t in (logits, target, valid)]
    return log_losses(*moved, path="triton")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("num_classes", [1, 2, 127, 128, 129, 512, 2049, 4096])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0, 1e4])
def test_losses_are_the_oracles(dtype, num_classes, scale):
    """A lane or a block lost, or the maximum's 1 counted twice, changes a sum."""
    random = np.random.default_rng([num_classes, int(scale)])
    x = random.normal(size=(6, num_classes)) * scale
    x[1::2][random.random((3, num_classes)) < 0.5] = -np.inf
    x[np.arange(6), random.integers(0, num_classes, 6)] = scale * random.random()
    x[2] = np.sort(x[2])
    x[3] = np.sort(x[3])[::-1]
    logits = torch.from_numpy(x).to(dtype)
    target = torch.from_numpy(random.integers(0, num_classes, 6))
    got = losses(logits, target)
    expected = log_loss_loops.loss_nats(logits, target)
    torch.testing.assert_close(got.loss_nats.cpu(), expected, rtol=1e-6, atol=1e-12)
    tops = torch.from_numpy(logits.double().numpy().argmax(-1))
    assert torch.equal(got.top_class.cpu(), tops)
    sums = torch.logsumexp(logits.double(), -1)
    torch.testing.assert_close(got.log_sum_exp.cpu(), sums, rtol=1e-7, atol=1e-6)


@pytest.mark.parametrize(
    ("dtype", "logits", "target", "loss"),
    [
        (torch.float32, [0.0, -120.0], 1, 120.0),
        (torch.float16, [0.0, -20.0], 1, 20.0),
        (torch.float32, [0.0, -20.0], 0, math.log1p(math.exp(-20.0))),
        (torch.float32, [1e4, -1e4], 1, 2e4),
        (torch.float32, [-INFINITY, 5.0], 1, 0.0),
        (torch.float32, [-INFINITY, 5.0], 0, INFINITY),
        (torch.float32, [torch.finfo(torch.float32).min] * 300, 2, math.log(300)),
    ],
)
def test_extremes(dtype, logits, target, loss):
    """See `test_log_loss`."""
    got = losses(torch.tensor([logits], dtype=dtype), torch.tensor([target])).loss_nats
    assert got.item() == pytest.approx(loss, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("num_classes", [3, 3000])
@pytest.mark.parametrize("rest", [0.0, -INFINITY])
@pytest.mark.parametrize("value", [math.nan, INFINITY])
def test_illegal_rows_are_found(num_classes, rest, value):
    """A NaN that a maximum passes over would leave a loss that looks right."""
    target = torch.zeros(2, dtype=torch.int64)
    for places in ([1], [num_classes - 1], [1, num_classes - 1]):
        logits = torch.zeros((2, num_classes))
        logits[1] = rest
        logits[1, places] = value
        with pytest.raises(ValueError, match=r"logits row \[1\]: class"):
            losses(logits, target)
        got = losses(logits, target, torch.tensor([True, False]))
        assert got.loss_nats[0].item() == pytest.approx(math.log(num_classes))
        assert math.isnan(got.loss_nats[1].item())
    logits[1] = -INFINITY
    with pytest.raises(ValueError, match=r"row \[1\]: all"):
        losses(logits, target)


def test_the_first_of_equals_is_the_top_class():
    """Equals are met by different lanes, and by one lane in different blocks."""
    logits = torch.full((4, 5000), -1.0)
    for row, places in enumerate(([10, 9, 3], [2100, 4148, 52], [4999, 4998], [2048, 0])):
        logits[row, places] = 2.0
    got = losses(logits, torch.zeros(4, dtype=torch.int64))
    assert got.top_class.tolist() == [3, 52, 4998, 0]


@pytest.mark.parametrize("dtype", DTYPES)
def test_any_strides(dtype):
    """Rows that lie apart, unaligned, or with their classes apart, are still rows."""
    logits = torch.randn((2, 3, 140), generator=torch.Generator().manual_seed(0)).to(dtype)
    target = torch.arange(6).reshape(2, 3)
    expected = losses(logits, target).loss_nats
    wide = torch.zeros((2, 5, 143), dtype=dtype)
    wide[:, 1:4, 2:142] = logits
    wide = wide.to(DEVICE)[:, 1:4, 2:142]
    turned = logits.permute(2, 0, 1).contiguous().to(DEVICE).permute(1, 2, 0)
    for other in (wide, turned):
        got = losses(other, target).loss_nats
        torch.testing.assert_close(got, expected, rtol=1e-12, atol=1e-12)


def test_offsets_pass_two_to_the_31():
    """In 32 bits the third row would be read from elsewhere."""
    stride = 2**31 + 64
    if DEVICE == "cpu":
        from tests.statistics.test_log_loss import virtual_logits

        memory = virtual_logits(2 * stride + 64)
    else:
        memory = torch.zeros(2 * stride + 64, dtype=torch.bfloat16, device=DEVICE)
    logits = memory.as_strided((3, 64), (stride, 1))
    logits[2, 5] = 3.0
    got = losses(logits, torch.tensor([1, 2, 5]))
    ruled = math.log(64)
    assert got.loss_nats.tolist() == pytest.approx([ruled, ruled, math.log(63 + math.e**3) - 3])
    assert got.top_class.tolist() == [0, 0, 5]
