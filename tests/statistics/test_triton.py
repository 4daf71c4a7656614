"""The triton path: interpreted on any machine, compiled for GPUs that are not here, run on one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("triton")

from scripts.compile_kernels import (
    LOG_LOSS_SPECIALISATIONS,
    SPECIALISATIONS,
    log_loss_report,
    report,
)
from tests.conftest import REPOSITORY
from wbgpu.statistics.triton import KernelLaunch
from wbgpu.statistics.triton_pixels import MAX_PIXELS
from wbgpu.statistics.triton_windows import MAX_TILE_ROWS


@pytest.mark.parametrize(
    ("device", "interpret"),
    [
        pytest.param("cpu", "1", id="interpreted"),
        pytest.param("cuda", "0", id="cuda", marks=pytest.mark.cuda),
    ],
)
@pytest.mark.parametrize("cases", ["triton_cases", "triton_log_loss_cases"])
def test_cases(device, interpret, cases):
    """All of a file of cases, in a process that imports Triton for the device."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", f"tests/statistics/{cases}.py"],
        cwd=REPOSITORY,
        env={**os.environ, "TRITON_INTERPRET": interpret, "WBGPU_TRITON_DEVICE": device},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout
    assert "skipped" not in done.stdout, done.stdout


@pytest.mark.parametrize("architecture", [80, 90, 100])
@pytest.mark.parametrize("name", ["squared error, deltas", "SSIM", "everything"])
def test_compiled_code_keeps_everything_in_registers(architecture, name):
    """A spill costs hundreds of cycles in the inner loop; more registers leave idle schedulers."""
    assert name in SPECIALISATIONS
    row = report(architecture, name)
    assert row["num_local_accesses"] == 0
    assert row["stack_bytes"] == row["local_bytes"] == 0
    # Of 65,536: at least ten warps a multiprocessor with windows, 32 without.
    assert row["num_registers"] <= (64 if name == "squared error, deltas" else 200)
    assert row["shared_bytes"] <= 2048
    assert row.get("instructions_per_window", 0) <= 90


@pytest.mark.parametrize("architecture", [80, 90, 100])
@pytest.mark.parametrize("name", list(LOG_LOSS_SPECIALISATIONS))
def test_the_compiled_log_loss_keeps_everything_in_registers(architecture, name):
    """It is bound by memory only while it spills nothing and a class costs few instructions."""
    row = log_loss_report(architecture, name)
    assert row["num_local_accesses"] == 0
    assert row["stack_bytes"] == row["local_bytes"] == 0
    assert row["num_registers"] <= 64
    assert row["shared_bytes"] <= 2048
    assert row["instructions_per_class"] <= (18 if "odd" in name else 15)


def test_every_size_of_frame_is_covered_once():
    """Tiles that miss a row, or that exceed what 32 bits hold, would go unnoticed until 4K."""
    sides = [*range(7, 80), 127, 133, 134, 480, 1080, 2160, 3840, 40_000]
    for height, width in [(a, b) for a in sides for b in (7, 9, 10, 46, 47, 256, 4096)]:
        for wants_windows in (True, False):
            launch = KernelLaunch.of(height, width, wants_windows)
            pixels = 4 * launch.constants["BLOCK"] * launch.sizes["num_pixel_blocks"]
            assert pixels <= MAX_PIXELS
            assert pixels * launch.num_programs >= height * width
            if wants_windows:
                columns = launch.sizes["num_column_tiles"]
                rows = 7 * launch.sizes["num_window_blocks"]
                row_tiles = launch.num_programs // columns
                assert rows <= MAX_TILE_ROWS
                assert (row_tiles - 1) * rows < height - 6 <= row_tiles * rows
                lanes = columns * launch.constants["LANES"]
                assert lanes * launch.constants["COLUMNS"] >= 3 * (width - 6)
