"""Log-losses on the CPU: precision, extremes, illegal rows, memory, addresses."""

from __future__ import annotations

import math
import mmap
import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import log_loss_loops
from wbgpu.errors import ConfigurationError
from wbgpu.statistics import log_losses
from wbgpu.statistics.logit_rows import RowError

PATHS = ("cpu", "reference")
HALVES = (torch.bfloat16, torch.float16)
FAST_DTYPES = (torch.float32, *HALVES)
INFINITY = math.inf


def random_logits(seed, num_rows, num_classes, scale, ruled_out, dtype):
    """Logits with rows of any spread, some classes ruled out; and targets, some of these."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(num_rows, num_classes)) * scale * random.random((num_rows, 1))
    x += random.choice([0.0, -scale, scale], (num_rows, 1))
    x[random.random(x.shape) < ruled_out] = -np.inf
    x[np.arange(num_rows), random.integers(0, num_classes, num_rows)] = scale * random.random()
    return torch.from_numpy(x).to(dtype), torch.from_numpy(
        random.integers(0, num_classes, num_rows)
    )


@pytest.mark.parametrize("path", PATHS)
@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    num_rows=st.integers(1, 4),
    num_classes=st.one_of(st.integers(1, 40), st.sampled_from([2047, 2048, 2049, 5000])),
    scale=st.sampled_from([0.0, 1e-3, 1.0, 10.0, 1e3, 1e4]),
    ruled_out=st.sampled_from([0.0, 0.3, 0.99]),
    dtype=st.sampled_from(FAST_DTYPES),
)
def test_losses_are_the_oracles(path, seed, num_rows, num_classes, scale, ruled_out, dtype):
    """Gaps of 1e4, classes ruled out, and any type must cost no digit."""
    logits, target = random_logits(seed, num_rows, num_classes, scale, ruled_out, dtype)
    got = log_losses(logits, target, path=path)
    expected = log_loss_loops.loss_nats(logits, target)
    assert got.loss_nats.dtype == torch.float64
    torch.testing.assert_close(got.loss_nats, expected, rtol=1e-6, atol=1e-12)
    assert bool((got.loss_nats >= 0).all())
    assert torch.equal(got.top_class, torch.from_numpy(logits.double().numpy().argmax(-1)))
    sums = torch.logsumexp(logits.double(), -1)
    torch.testing.assert_close(got.log_sum_exp, sums, rtol=1e-7, atol=1e-6)


def test_float64_keeps_its_digits():
    """Taken as float32 the answer key's probabilities would be off by 1e-8."""
    logits, target = random_logits(0, 20, 7, 3.0, 0.2, torch.float64)
    got = log_losses(logits, target)
    torch.testing.assert_close(
        got.loss_nats, log_loss_loops.loss_nats(logits, target), rtol=1e-14, atol=1e-15
    )
    with pytest.raises(ConfigurationError, match=r"'cpu'.*float64.*'auto'"):
        log_losses(logits, target, path="cpu")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("dtype", "logits", "target", "loss"),
    [
        (torch.float32, [0.0, -120.0], 1, 120.0),
        (torch.float16, [0.0, -20.0], 1, 20.0),
        (torch.bfloat16, [0.0, -120.0], 1, 120.0),
        (torch.float32, [1e4, -1e4], 1, 2e4),
        (torch.float32, [1e4, -1e4], 0, 0.0),
        (torch.float32, [0.0, -20.0], 0, math.log1p(math.exp(-20.0))),
        (torch.float32, [-INFINITY, 5.0], 1, 0.0),
        (torch.float32, [-INFINITY, 5.0], 0, INFINITY),
        (torch.float32, [0.0] * 4, 2, math.log(4)),
        (torch.float32, [torch.finfo(torch.float32).min] * 4, 2, math.log(4)),
        (torch.float32, [torch.finfo(torch.float32).max] * 2, 0, math.log(2)),
        (torch.float16, [6e-8, 0.0], 0, math.log(2) - 3e-8),
        (torch.float32, [7.0], 0, 0.0),
    ],
)
def test_extremes(path, dtype, logits, target, loss):
    """By softmax and then log, a gap of 120 is infinite; torchmetrics' perplexity is at 20."""
    got = log_losses(torch.tensor([logits], dtype=dtype), torch.tensor([target]), path=path)
    assert got.loss_nats.item() == pytest.approx(loss, rel=1e-6, abs=1e-12)
    assert math.copysign(1, got.loss_nats.item()) == 1


def test_bfloat16_over_262144_classes_is_float32_or_better():
    """bfloat16's own log-softmax is off by hundredths of a nat, which is a checkpoint's worth."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn((2, 262_144), generator=generator).bfloat16()
    target = torch.tensor([17, 262_143])
    expected = (
        torch.logsumexp(logits.double(), 1) - logits.double().gather(1, target[:, None])[:, 0]
    )
    theirs = torch.nn.functional.cross_entropy(logits, target, reduction="none").double()
    assert (theirs - expected).abs().max() > 0.005
    got = log_losses(logits, target).loss_nats
    torch.testing.assert_close(got, expected, rtol=1e-8, atol=0)


@pytest.mark.parametrize("dtype", HALVES)
def test_every_half_is_read_as_it_is(dtype):
    """A pattern read wrong, such as a denormal, would be wrong in every model that has it."""
    every = torch.arange(2**16, dtype=torch.int32).to(torch.int16).view(dtype)
    every = every[every.isfinite()]
    assert len(every) == (65_280 if dtype == torch.bfloat16 else 63_488)
    got = log_losses(every[:, None], torch.zeros(len(every), dtype=torch.int64), path="cpu")
    assert torch.equal(got.log_sum_exp, every.double())


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("dtype", FAST_DTYPES)
def test_the_first_of_equals_is_the_top_class(path, dtype):
    """Another choice would make accuracy depend on the machine; -0 and 0 are equal."""
    row = torch.full((2, 4999), -1.0, dtype=dtype)
    row[0, [3000, 4000, 4500]] = 2.0
    row[1] = 0.0
    row[1, 0] = -0.0
    got = log_losses(row, torch.tensor([0, 0]), path=path)
    assert got.top_class.tolist() == [3000, 0]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("dtype", FAST_DTYPES)
@pytest.mark.parametrize("num_classes", [3, 5000])
@pytest.mark.parametrize(
    ("value", "message"),
    [(math.nan, "class 1 is nan (1 of"), (INFINITY, "class 1 is inf (1 of"), (None, "all")],
)
@pytest.mark.parametrize("rest", [0.0, -INFINITY])
def test_illegal_rows_are_refused_by_name(path, dtype, num_classes, value, message, rest):
    """One NaN would make the mean of an epoch NaN and not say where it came from."""
    logits = torch.zeros((2, 3, num_classes), dtype=dtype)
    logits[1, 2] = rest
    if value is None:
        logits[1, 2], rest = -INFINITY, -INFINITY
    else:
        logits[1, 2, 1] = value
    target = torch.zeros((2, 3), dtype=torch.int64)
    with pytest.raises(ValueError, match=r"logits row \[1, 2\]: ") as error:
        log_losses(logits, target, path=path)
    assert message in str(error.value)
    valid = torch.ones((2, 3), dtype=torch.bool)
    valid[1, 2] = False
    got = log_losses(logits, target, valid, path=path)
    assert got.loss_nats[0].tolist() == pytest.approx([math.log(num_classes)] * 3)
    assert math.isnan(got.loss_nats[1, 2])
    assert got.top_class[1, 2] == -1


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("target", [-1, -100, 4, 2**40])
def test_targets_outside_the_vocabulary_are_refused_by_name(path, target):
    """-100 as an index from behind would be a class of its own, silently."""
    logits = torch.zeros((2, 4))
    targets = torch.tensor([1, target])
    with pytest.raises(
        ValueError, match=rf"target row \[1\]: expected 0 to 3, got {target};.*valid"
    ):
        log_losses(logits, targets, path=path)
    got = log_losses(logits, targets, targets == 1, path=path)
    assert got.loss_nats[0].item() == pytest.approx(math.log(4))
    assert math.isnan(got.loss_nats[1])


def test_what_is_no_distribution_is_refused_by_name():
    """Unnormalised probabilities once gave a loss below the entropy (scikit-learn #24515)."""
    target = torch.tensor([0, 1])
    rows = torch.tensor([[0.5, 0.5], [0.2, 0.3]], dtype=torch.float64)
    with pytest.raises(ValueError, match=r"odds row \[1\]: the probabilities sum to 0\.5; "):
        log_losses(rows, target, kind="probabilities", name="odds")
    with pytest.raises(ValueError, match=r"row \[1\]: the probabilities sum to 0\.5; "):
        log_losses(rows.log(), target, kind="log_probs")
    with pytest.raises(ValueError, match=r"row \[1\]: class 0 is -0\.1; .*at least 0"):
        log_losses(torch.tensor([[1.0, 0.0], [-0.1, 1.1]]), target, kind="probabilities")
    with pytest.raises(ValueError, match=r"row \[0\]: class 1 is nan"):
        log_losses(torch.tensor([[1.0, math.nan]]), target[:1], kind="probabilities")
    with pytest.raises(ConfigurationError, match="forecast kind"):
        log_losses(rows, target, kind="odds")


@pytest.mark.parametrize("kind", ["probabilities", "log_probs"])
def test_distributions_lose_minus_their_logarithm(kind):
    """A rule out is an infinite loss, not a refusal; a sum off by 1e-7 is rounding."""
    rows = torch.tensor([[0.25, 0.75, 0.0], [0.25 + 1e-7, 0.75, 0.0]], dtype=torch.float64)
    rows = rows.log() if kind == "log_probs" else rows
    for target, loss in ((0, math.log(4)), (1, math.log(4 / 3)), (2, INFINITY)):
        got = log_losses(rows, torch.tensor([target] * 2), kind=kind)
        assert got.loss_nats.tolist() == pytest.approx([loss] * 2, abs=1e-6)
        assert got.loss_nats[0].item() == pytest.approx(loss, rel=1e-15)
        assert got.top_class.tolist() == [1, 1]


def layouts(logits):
    """The same logits in other memory."""
    padded = torch.zeros((*logits.shape[:-1], logits.shape[-1] + 3), dtype=logits.dtype)
    padded[..., 2:-1] = logits
    more_steps = torch.zeros((logits.shape[0], 9, *logits.shape[2:]), dtype=logits.dtype)
    more_steps[:, 4:7] = logits
    return {
        "padded": padded[..., 2:-1],
        "cut": more_steps[:, 4:7],
        "classes first": logits.permute(3, 0, 1, 2).contiguous().permute(1, 2, 3, 0),
        "steps last": logits.transpose(1, 2).contiguous().transpose(1, 2),
    }


@pytest.mark.parametrize("dtype", FAST_DTYPES)
def test_bits_depend_on_nothing_but_the_row(dtype, monkeypatch):
    """A loss must not move with the batch, its order, the memory layout or the threads."""
    logits, target = random_logits(1, 2 * 3 * 5, 3001, 5.0, 0.1, dtype)
    logits, target = logits.reshape(2, 3, 5, -1), target.reshape(2, 3, 5)
    whole = log_losses(logits, target)
    for name, other in layouts(logits).items():
        assert torch.equal(other, logits)
        assert torch.equal(log_losses(other, target).loss_nats, whole.loss_nats), name
    turned = log_losses(logits.flip(0, 1, 2), target.flip(0, 1, 2))
    assert torch.equal(turned.loss_nats.flip(0, 1, 2), whole.loss_nats)
    alone = log_losses(logits[1, 2, 3], target[1, 2, 3])
    assert alone.loss_nats.shape == ()
    assert alone.loss_nats == whole.loss_nats[1, 2, 3]
    num_threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1 if num_threads > 1 else 2)
        assert torch.equal(log_losses(logits, target).loss_nats, whole.loss_nats)
    finally:
        torch.set_num_threads(num_threads)


def test_rows_that_are_one_in_memory():
    """An expanded tensor has a stride of 0, and as many losses as it says."""
    logits = torch.tensor([[0.0, 1.0]]).expand(3, 2)
    got = log_losses(logits, torch.tensor([0, 1, 0])).loss_nats
    assert got.tolist() == pytest.approx(
        [math.log1p(math.e), math.log1p(1 / math.e), math.log1p(math.e)]
    )


@pytest.mark.parametrize("path", PATHS)
def test_no_rows_give_no_losses(path):
    """An empty last batch would end an evaluation."""
    got = log_losses(torch.zeros((2, 0, 5)), torch.zeros((2, 0), dtype=torch.int64), path=path)
    assert got.loss_nats.shape == (2, 0)


def test_misfits_are_refused_and_show_shapes():
    """Broadcasting would score the wrong pairs."""
    logits, target = torch.zeros((2, 3, 5)), torch.zeros((2, 3), dtype=torch.int64)
    with pytest.raises(ValueError, match=r"target \(2,\): .*\(2, 3, 5\)"):
        log_losses(logits, target[:, 0])
    with pytest.raises(ValueError, match=r"\(2, 3, 0\): expected .* 1 to"):
        log_losses(logits[..., :0], target)
    with pytest.raises(TypeError, match=r"logits: expected floating point .*int64"):
        log_losses(target, target[0])
    for wrong in (target.float(), target.bool()):
        with pytest.raises(TypeError, match="target: expected integers"):
            log_losses(logits, wrong)
    with pytest.raises(TypeError, match="valid: expected bool"):
        log_losses(logits, target, target)
    with pytest.raises(ValueError, match=r"valid \(3,\)"):
        log_losses(logits, target, torch.ones(3, dtype=torch.bool))
    with pytest.raises(ValueError, match="target is on meta, logits on cpu"):
        log_losses(logits, target.to("meta"))


@pytest.mark.parametrize(
    "dtype",
    [
        *(torch.int8, torch.int16, torch.int32),
        *(torch.uint8, torch.uint16, torch.uint32, torch.uint64),
    ],
)
@pytest.mark.parametrize("num_classes", [9, 256, 1000, 70000])
def test_targets_of_any_integers(dtype, num_classes):
    """Tokens are often kept as int32 or less, which cannot hold every number of classes."""
    logits, target = random_logits(3, 5, num_classes, 1.0, 0.0, torch.float32)
    target %= 128
    got = log_losses(logits, target.to(dtype)).loss_nats
    assert torch.equal(got, log_losses(logits, target).loss_nats)


def test_a_target_beyond_int64_is_refused_by_row():
    """Wrapped around, 2**64 - 1 would be -1."""
    target = torch.from_numpy(np.array([1, 2**64 - 1], dtype=np.uint64))
    with pytest.raises(ValueError, match=rf"target row \[1\]: expected 0 to 3, got {2**64 - 1}"):
        log_losses(torch.zeros((2, 4)), target)


def test_a_refused_row_survives_pickling():
    """Errors of worker processes are pickled."""
    with pytest.raises(RowError) as raised:
        log_losses(torch.zeros((2, 4)), torch.tensor([1, 4]))
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_no_graph_is_kept():
    """Logits of a training step would stay in memory with their losses."""
    logits = torch.randn((3, 4), requires_grad=True)
    for path in PATHS:
        got = log_losses(logits * 2, torch.tensor([0, 1, 2]), path=path)
        assert not got.loss_nats.requires_grad


def virtual_logits(*shape):
    """bfloat16 zeros that take no memory until they are written to."""
    num_bytes = 2 * math.prod(shape)
    no_reserve = 0x4000  # Linux's; Python has a name for it from 3.13 on
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | no_reserve
    return torch.frombuffer(mmap.mmap(-1, num_bytes, flags=flags), dtype=torch.bfloat16).view(shape)


@pytest.mark.skipif(sys.platform != "linux", reason="needs memory that is not reserved")
def test_addresses_pass_two_to_the_31():
    """In 32 bits the last of these rows would be read from the first ones (pytorch #111484)."""
    logits = virtual_logits(43, 2047, 50_000)
    target = torch.full((43, 2047), 49_999)
    valid = torch.zeros((43, 2047), dtype=torch.bool)
    valid[0, 0] = valid[21, 1000] = valid[42, 2046] = True
    logits[42, 2046, 49_999] = 3.0
    logits[21, 1000, 0] = 4.0
    got = log_losses(logits, target, valid)
    n = 49_999
    assert got.loss_nats[valid].tolist() == pytest.approx(
        [math.log(n + 1), math.log(n + math.e**4), math.log(n + math.e**3) - 3]
    )
    assert got.top_class[valid].tolist() == [0, 0, 49_999]


_MEMORY = """
import sys
import torch
from pathlib import Path
from tests.statistics.test_log_loss import virtual_logits
from wbgpu.statistics import log_losses

def status(field):
    (line,) = [l for l in Path("/proc/self/status").read_text().splitlines() if l.startswith(field)]
    return 1024 * int(line.split()[1])

log_losses(torch.zeros((4, 5), dtype=torch.bfloat16), torch.zeros(4, dtype=torch.int64))
logits = virtual_logits(2, 8, 256, 262_144)
target = torch.zeros((2, 8, 256), dtype=torch.int64)
before = status("VmRSS")
losses = log_losses(logits, target).loss_nats
print(status("VmHWM") - before, losses.mean().item())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_is_at_most_a_twentieth_of_the_logits():
    """What upcasts, or writes a softmax, needs two to six times the logits: 4 to 13 GB here.

    The logits themselves are pages of zeros, which count as nothing.
    """
    done = subprocess.run(
        [sys.executable, "-c", _MEMORY], capture_output=True, text=True, check=True, timeout=120
    )
    num_bytes, loss = done.stdout.split()
    assert float(loss) == pytest.approx(math.log(262_144), rel=1e-7)
    assert int(num_bytes) <= 0.05 * 2 * 2 * 8 * 256 * 262_144
    # And in fact next to nothing.
    assert int(num_bytes) <= 32 * 2**20
