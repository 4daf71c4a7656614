"""Machine code is kept where it can be, and nothing depends on its being kept."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
import threading
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core.compiler_lock import global_compiler_lock

from tests.statistics.forking import assert_works_in_a_fork, needs_fork
from wbgpu.statistics import cpu_compiled
from wbgpu.statistics.cpu_compiled import add, compiled_entry, multiply, subtract

_SCORE = """
import sys
import torch
from wbgpu.statistics import FrameBatch, frame_statistics
from wbgpu.statistics.cpu_gaussian import gaussian_half_deficits as kernel
frames = torch.arange(3 * 12 * 12 * 2, dtype=torch.uint8).reshape(1, 2, 3, 12, 12)
batch = FrameBatch.from_videos(frames, 255 - frames)
print(frame_statistics(batch, frozenset({"ssim_gaussian11"}), "cpu").ssim_gaussian.tolist())
print(
    sum(kernel.dispatcher.stats.cache_hits.values()),
    len(kernel.dispatcher.signatures),
    file=sys.stderr,
)
"""


def _start(cache: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _SCORE],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _finish(process: subprocess.Popen[str]) -> tuple[str, str]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out, err


def test_processes_share_what_one_compiled(tmp_path):
    """Ranks that start at once must not read half a file; later ones should not compile again."""
    together = [_start(tmp_path) for _ in range(2)]
    (first, _), (second, _) = map(_finish, together)
    assert first == second
    later, hits = _finish(_start(tmp_path))
    assert later == first
    assert hits.split() == ["1", "1"]


def test_without_a_folder_to_write_it_compiles_anyway(tmp_path, monkeypatch):
    """A container with a read-only file system could not evaluate."""
    # Files where folders should be: no permission stops root.
    (tmp_path / "__pycache__").write_text("")
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "__pycache__"))
    source = tmp_path / "kernel.py"
    source.write_text("def double(value):\n    return 2 * value\n")
    double = runpy.run_path(str(source))["double"]
    with pytest.raises(RuntimeError, match="cannot cache"):
        numba.njit(cache=True)(double)
    assert compiled_entry(double)(21) == 42


@pytest.mark.parametrize("kind", [np.uint16, np.int16, np.int32])
def test_arithmetic_wraps_in_its_own_type(kind):
    """Widened to 64 bits the results would be right and the loops slow; narrowed, wrong."""

    @numba.njit
    def results(a, b):
        return add(a, b), subtract(a, b), multiply(a, b)

    a, b = kind(200), kind(250)
    with np.errstate(over="ignore"):
        assert results(a, b) == (a + b, a - b, a * b)
    (signature,) = results.nopython_signatures
    assert {str(result) for result in signature.return_type} == {np.dtype(kind).name}


def test_two_types_are_refused_when_compiling():
    """LLVM would stop the process."""

    @numba.njit
    def mixed(a, b):
        return add(a, b)

    with pytest.raises(numba.TypingError, match="two of one type"):
        mixed(np.int16(1), np.int32(1))


def test_kernels_are_complete_in_their_file():
    """The cache is renewed by the kernel's file alone: code elsewhere would go stale unseen."""
    folder = Path(cpu_compiled.__file__).parent
    names = [path.stem for path in folder.glob("*.py") if "@compiled" in path.read_text()]
    assert sorted(names) == ["cpu_gaussian", "cpu_kernel", "cpu_log_loss_kernel"]
    for name in names:
        text = (folder / f"{name}.py").read_text()
        imported = [line for line in text.splitlines() if line.startswith("from wbgpu")]
        assert {line.split()[1].rpartition(".")[2] for line in imported} <= {
            "cpu_compiled",
            "cpu_frames",
            "ssim_constants",
        }


@pytest.mark.parametrize("name", ["load_overload", "save_overload"])
@pytest.mark.parametrize("error", [OSError(28, "No space left"), EOFError(), PermissionError()])
def test_a_bad_cache_costs_time_and_not_the_run(monkeypatch, name, error):
    """A home folder at its quota, an index cut short by a crash, a colleague's private files."""

    @compiled_entry
    def twice(number):
        return 2 * number

    def fail(*_):
        raise error

    monkeypatch.setattr(twice.dispatcher._cache, name, fail)
    assert twice(21) == 42


@needs_fork
def test_a_fork_waits_for_a_thread_that_compiles():
    """The child would hold a lock whose owner does not exist there."""
    has_lock, done = threading.Event(), threading.Event()

    def compile_slowly():
        with global_compiler_lock:
            has_lock.set()
            done.wait(0.5)

    thread = threading.Thread(target=compile_slowly)
    thread.start()
    has_lock.wait()
    assert_works_in_a_fork(lambda: global_compiler_lock.acquire(), timeout_seconds=20)
    done.set()
    thread.join()
