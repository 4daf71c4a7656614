"""The path is chosen by device, reported, and never silently another one."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from tests.conftest import REPOSITORY
from tests.oracles.videos import make_video, to_torch
from tests.statistics.forking import assert_works_in_a_fork, needs_fork, start_torch_threads
from tests.statistics.same_bits import assert_same_bits
from wbgpu.errors import ConfigurationError
from wbgpu.statistics import GROUPS, FrameBatch, frame_statistics, resolve_path


def test_auto_is_the_fast_path_of_the_device(monkeypatch):
    """The path stands in results; another one would make them untrue."""
    monkeypatch.setattr(torch.version, "hip", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    assert resolve_path("auto", "cpu") == "cpu"
    assert resolve_path("auto", torch.device("cuda", 1)) == "triton"
    assert resolve_path("auto", "mps") == "reference"
    for path in ("reference", "triton"):
        assert resolve_path(path, "cuda") == path
    assert resolve_path("reference", "cpu") == "reference"


def test_without_triton_a_gpu_has_the_reference(monkeypatch):
    """Windows builds of PyTorch, and AMD's, run no kernel of ours."""
    monkeypatch.setattr(torch.version, "hip", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert resolve_path("auto", "cuda") == "reference"
    with pytest.raises(ConfigurationError, match="needs Triton"):
        resolve_path("triton", "cuda")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    monkeypatch.setattr(torch.version, "hip", "6.4")
    assert resolve_path("auto", "cuda") == "reference"
    with pytest.raises(ConfigurationError, match="needs Triton"):
        resolve_path("triton", "cuda")


def test_triton_is_refused_for_frames_on_the_cpu(monkeypatch):
    """The kernel would read their addresses on the GPU; only the interpreter can."""
    monkeypatch.setattr(torch.version, "hip", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    with pytest.raises(ConfigurationError, match="the frames are on cpu; use 'auto'"):
        resolve_path("triton", "cpu")
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert resolve_path("triton", "cpu") == "triton"


def test_triton_is_imported_for_its_own_path_only():
    """It is not everywhere, and where it is, it takes time to import."""
    program = (
        "import sys, torch\n"
        "from wbgpu.statistics import FrameBatch, frame_statistics\n"
        "frames = torch.zeros((1, 1, 3, 8, 8), dtype=torch.uint8)\n"
        "batch = FrameBatch.from_videos(frames, frames)\n"
        "frame_statistics(batch, frozenset({'squared_error'}))\n"
        "frame_statistics(batch, frozenset({'ssim_uniform7'}), 'reference')\n"
        "assert 'triton' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=REPOSITORY)


def test_unknown_paths_and_groups_are_named():
    """A typing error would fall back to something else."""
    frames = torch.zeros((1, 1, 3, 8, 8), dtype=torch.uint8)
    batch = FrameBatch.from_videos(frames, frames)
    with pytest.raises(ConfigurationError, match="'fast'"):
        resolve_path("fast", "cpu")
    with pytest.raises(ConfigurationError, match="unknown \\['sharpness'\\]"):
        frame_statistics(batch, frozenset({"sharpness"}))


def test_the_cpu_path_is_refused_for_frames_on_an_accelerator():
    """Copying them back in silence would be slow for no visible reason."""
    with pytest.raises(ConfigurationError, match="the frames are on cuda"):
        resolve_path("cpu", "cuda")


def _batch() -> FrameBatch:
    target, prediction, context = map(to_torch, make_video(3, "noisy", 5, 150, 130))
    return FrameBatch.from_videos(prediction[None], target[None], context[None])


@needs_fork
@pytest.mark.parametrize("path", ["reference", "cpu"])
@pytest.mark.parametrize("num_threads", [1, 3])
def test_a_forked_process_computes_the_same_bits(restore_num_threads, path, num_threads):
    """A worker that was forked after torch had been used would wait for threads it has not got."""
    torch.set_num_threads(num_threads)
    start_torch_threads()
    batch = _batch()
    expected = frame_statistics(batch, GROUPS, path)
    assert_works_in_a_fork(
        lambda: assert_same_bits(frame_statistics(batch, GROUPS, path), expected)
    )


@pytest.mark.parametrize("path", ["reference", "cpu"])
@pytest.mark.parametrize("default", ["meta", torch.float16, torch.float64], ids=str)
def test_defaults_of_torch_change_no_bit(path, default):
    """Programs set them for their model; frames and statistics are somewhere else."""
    batch = _batch()
    videos = (frames[None] for frames in (batch.prediction, batch.target))
    expected = frame_statistics(batch, GROUPS, path)
    # Sizes that no earlier call left memory for.
    small = FrameBatch.from_videos(*(video[..., :97, :89] for video in videos))
    expected_small = frame_statistics(small, GROUPS, path)
    frame_statistics(_batch(), frozenset({"squared_error"}), path)
    try:
        if default == "meta":
            torch.set_default_device(default)
        else:
            torch.set_default_dtype(default)
        got = frame_statistics(batch, GROUPS, path)
        small = FrameBatch.from_videos(
            *(frames[None, ..., :97, :89] for frames in (batch.prediction, batch.target))
        )
        got_small = frame_statistics(small, GROUPS, path)
    finally:
        torch.set_default_device(None)
        torch.set_default_dtype(torch.float32)
    assert_same_bits(got, expected)
    assert_same_bits(got_small, expected_small)
