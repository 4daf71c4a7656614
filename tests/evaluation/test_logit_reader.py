"""Reading saved logits in windows."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.evaluation.saved_logits import make_tensors, save_arrays, save_safetensors
from wbgpu.episodes.logits import LogitFiles
from wbgpu.errors import InputError
from wbgpu.evaluation import logit_reader
from wbgpu.evaluation.logit_reader import LogitReader

SAVERS = (save_safetensors, save_arrays)


def read(files):
    """All windows put together again, and how many there were."""
    with LogitReader(files) as reader:
        windows = list(reader.windows())
        out = {
            name: torch.zeros(reader.shape[: tensor.ndim], dtype=tensor.dtype)
            for name, tensor in windows[0].tensors.items()
        }
    for window in windows:
        for name, tensor in window.tensors.items():
            out[name][window.steps, window.tokens] = tensor
    return out, len(windows)


@pytest.mark.parametrize("save", SAVERS)
@pytest.mark.parametrize(
    ("window_bytes", "num_windows"),
    [(2 * 33, 24), (2 * 33 * 4, 8), (2 * 33 * 6, 4), (2 * 33 * 13, 2), (1, 24), (1 << 20, 1)],
)
def test_windows_cover_everything_once(save, window_bytes, num_windows, tmp_path, monkeypatch):
    """A token left out or read twice moves the mean; a window too large is memory."""
    monkeypatch.setattr(logit_reader, "WINDOW_BYTES", window_bytes)
    tensors = make_tensors(dtype=torch.float16)
    tensors["reference_loss_nats"] = torch.rand((4, 6))
    out, count = read(save(tmp_path, "a", tensors))
    assert out.keys() == tensors.keys()
    assert all(torch.equal(out[name], tensor) for name, tensor in tensors.items())
    assert count == num_windows


def test_types_and_byte_orders(tmp_path):
    """bfloat16 has no NumPy type; big-endian and column-major arrays are still arrays."""
    tensors = make_tensors()
    assert torch.equal(
        read(save_safetensors(tmp_path, "a", tensors))[0]["logits"], tensors["logits"]
    )
    files = save_arrays(tmp_path, "b", make_tensors(dtype=torch.float32))
    wanted = np.load(files.arrays["logits"])
    np.save(files.arrays["logits"], np.asfortranarray(wanted.astype(">f4")))
    assert np.array_equal(read(files)[0]["logits"].numpy(), wanted)
    np.save(files.arrays["logits"], np.zeros(wanted.shape, "V2"))
    with pytest.raises(
        InputError, match=r"b\.logits\.npy: expected numbers.*bfloat16.*safetensors"
    ):
        read(files)


@pytest.mark.parametrize("save", SAVERS)
def test_tensors_that_do_not_fit_are_refused_by_name(save, tmp_path):
    """Targets of another episode would otherwise be scored as far as they go."""
    tensors = make_tensors(dtype=torch.float16)

    def refused(match, **changes):
        given = {**tensors, **changes}
        files = save(tmp_path, "a", {k: v for k, v in given.items() if v is not None})
        with pytest.raises(InputError, match=match):
            read(files)

    refused(r"targets \(3, 6\): expected \(4, 6\)", targets=tensors["targets"][:3].clone())
    refused(r"logits \(4, 33\): expected \[T, tokens, K\]", logits=tensors["logits"][:, 0].clone())
    refused(r"logits \(0, 6, 33\)", logits=tensors["logits"][:0].clone())
    refused(
        r"reference_logits \(4, 6, 32\): expected \(4, 6, 33\)",
        reference_logits=tensors["logits"][..., 1:].clone(),
    )
    refused(
        "expected one reference",
        reference_logits=tensors["logits"].clone(),
        reference_loss_nats=torch.zeros((4, 6)),
    )


def test_files_that_are_none_are_refused_by_name(tmp_path):
    """A download that broke off is the usual cause."""
    files = save_safetensors(tmp_path, "a", {"logits": make_tensors()["logits"]})
    with pytest.raises(InputError, match=r"a\.safetensors: has no tensor 'targets'"):
        LogitReader(files)
    path = files.safetensors
    whole = path.read_bytes()
    for content in (b"", b"x" * 100, whole[:-10]):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"a\.safetensors: cannot be read"):
            LogitReader(files)
    arrays = save_arrays(tmp_path, "b", make_tensors(dtype=torch.float16))
    whole = arrays.arrays["logits"].read_bytes()
    for content in (b"", b"x" * 100, whole[:-10]):
        arrays.arrays["logits"].write_bytes(content)
        with pytest.raises(InputError, match="cannot be read"):
            LogitReader(arrays)
    with pytest.raises(InputError, match="cannot be read"):
        LogitReader(LogitFiles(tmp_path / "gone.safetensors", {}))


def test_digest_of_the_targets(tmp_path, monkeypatch):
    """Equal tokens in another format or type are equal, one other token or shape is not."""

    def digest(save, name, tensors):
        with LogitReader(save(tmp_path, name, tensors)) as reader:
            return reader.targets_sha256()

    tensors = make_tensors(dtype=torch.float32)
    expected = digest(save_safetensors, "a", tensors)
    tensors["targets"] = tensors["targets"].to(torch.int32)
    monkeypatch.setattr(logit_reader, "WINDOW_BYTES", 1)
    assert digest(save_arrays, "b", tensors) == expected
    flat = {name: tensor.flatten(0, 1)[:, None] for name, tensor in tensors.items()}
    assert digest(save_arrays, "c", flat) != expected
    tensors["targets"][-1, -1] ^= 1
    assert digest(save_arrays, "d", tensors) != expected
