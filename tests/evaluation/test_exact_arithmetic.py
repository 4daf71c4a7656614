from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

import torch

import wbgpu
from tests.evaluation.live_suites import NUM_CONTEXT, write_suite
from wbgpu.evaluation.exact_arithmetic import exact_arithmetic
from wbgpu.models import CopyLast, Prediction

CASES = [
    "pass",
    "torch.set_float32_matmul_precision('high')",
    "torch.set_float32_matmul_precision('medium')",
    "torch.backends.cuda.matmul.allow_tf32 = True",
    "torch.backends.cudnn.allow_tf32 = False",
    "torch.backends.cuda.matmul.fp32_precision = 'tf32'",
    "torch.backends.cudnn.conv.fp32_precision = 'ieee'",
    "torch.backends.fp32_precision = 'tf32'",
]

# In a process of its own, forked for each: torch refuses to go back from the new to the old ones.
PROGRAM = """
import os, sys, torch
from wbgpu.evaluation.exact_arithmetic import exact_arithmetic
def state():
    switches = []
    for read in (
        torch.get_float32_matmul_precision,
        lambda: torch.backends.cuda.matmul.allow_tf32,
        lambda: torch.backends.cudnn.allow_tf32,
        lambda: [getattr(getattr(torch.backends, a), b).fp32_precision for a in ("cudnn", "mkldnn")
                 for b in ("conv", "rnn")] + [torch.backends.cuda.matmul.fp32_precision],
    ):
        try:
            switches.append(read())
        except (RuntimeError, AttributeError) as error:
            switches.append(type(error).__name__)
    return switches
def check(setting):
    exec(setting)
    before = state()
    for error in (None, KeyError):
        try:
            with exact_arithmetic():
                assert state()[:3] == ["highest", False, False], state()
                torch.ones(3, 3) @ torch.ones(3, 3)
                if error:
                    raise error
        except KeyError:
            pass
        assert state() == before, (setting, before, state())
for setting in sys.argv[1:]:
    if (child := os.fork()) == 0:
        check(setting)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, setting
"""


def test_tf32_is_off_inside_and_as_it_was_outside() -> None:
    """torch has two sets of switches, which operators want to agree."""
    subprocess.run([sys.executable, "-c", PROGRAM, *CASES], check=True)


def test_autocast_is_off_inside_and_on_outside() -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        with contextlib.suppress(KeyError), exact_arithmetic():
            assert (torch.ones(3, 3) @ torch.ones(3, 3)).dtype == torch.float32
            raise KeyError
        assert (torch.ones(3, 3) @ torch.ones(3, 3)).dtype == torch.bfloat16


def test_autocast_is_the_models_and_not_the_metrics_affair(tmp_path: Path) -> None:
    """A training under autocast gets the scores of the checkpoint by itself."""

    class Asking(CopyLast):
        def predict(self, context_frames, actions, num_frames) -> Prediction:
            seen.append(torch.is_autocast_enabled("cpu"))
            return super().predict(context_frames, actions, num_frames)

    seen: list[bool] = []
    write_suite(tmp_path, (6,))
    arguments = {"num_context": NUM_CONTEXT, "overrides": ["statistics=reference"]}
    plain = wbgpu.evaluate(tmp_path / "gt", model=Asking(), **arguments)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        under = wbgpu.evaluate(tmp_path / "gt", model=Asking(), **arguments)
    assert under.episodes == plain.episodes
    assert seen == [False, True]
