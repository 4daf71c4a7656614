"""Models on several processes, and resumed ones."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest
import torch

import wbgpu
from tests.evaluation.live_suites import NUM_CONTEXT, write_suite
from wbgpu.errors import JournalError
from wbgpu.models import ActionConditioned
from wbgpu.records.suite import SuiteResult

ARGUMENTS = {"num_actions": 2, "channels": 4}


def write_checkpoint(path: Path, seed: int) -> Path:
    torch.manual_seed(seed)
    network = ActionConditioned(**ARGUMENTS)
    torch.nn.init.normal_(network.change.weight, std=0.05)
    torch.save({"state_dict": network.state_dict(), "arguments": ARGUMENTS}, path)
    return path


def evaluated(suite: Path, *overrides: str) -> SuiteResult:
    result = wbgpu.evaluate(
        suite / "gt",
        num_context=NUM_CONTEXT,
        actions=suite / "actions",
        overrides=[
            "model=action_conditioned",
            f"model.checkpoint={suite / 'a.ckpt'}",
            *overrides,
        ],
    )
    return dataclasses.replace(result, created_at="")


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    write_checkpoint(tmp_path / "a.ckpt", seed=0)
    return write_suite(tmp_path, (6, 9, 6), actions=2)


def test_two_processes_give_the_same_result(suite: Path) -> None:
    """Each makes its own model; what it draws and predicts must not depend on its share."""
    assert evaluated(suite, "trainer.devices=2") == evaluated(suite)


def test_a_checkpoint_that_changed_is_not_resumed(suite: Path) -> None:
    """Half of the episodes would be of one model and half of another, under one name."""
    whole = evaluated(suite, f"journal={suite / 'journal'}")
    resumed = evaluated(suite, f"journal={suite / 'journal'}", "resume=true")
    assert resumed == whole
    shutil.copy(write_checkpoint(suite / "b.ckpt", seed=1), suite / "a.ckpt")
    with pytest.raises(JournalError, match="checkpoint has changed"):
        evaluated(suite, f"journal={suite / 'journal'}", "resume=true")
