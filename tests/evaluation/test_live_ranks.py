"""Models on several processes, and resumed ones."""

from __future__ import annotations

import dataclasses
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
import torch

import wbgpu
from tests.evaluation.live_suites import NUM_CONTEXT, write_suite
from wbgpu.errors import JournalError
from wbgpu.models import ActionConditioned, CopyLast, Prediction
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


class Watching(CopyLast):
    """Waits until all earlier episodes are in the journal."""

    def __init__(self, journal: Path) -> None:
        self.journal = journal
        self.num_before = 0

    def predict(self, *arguments: Any) -> Prediction:
        deadline = time.monotonic() + 30
        while self.num_before and self._num_in_journal() < self.num_before:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self._num_in_journal()} of {self.num_before} in the journal")
            time.sleep(0.01)
        self.num_before += 1
        return super().predict(*arguments)

    def _num_in_journal(self) -> int:
        return self.journal.read_bytes().count(b"\n") - 1 if self.journal.exists() else 0


def test_a_slow_models_episodes_do_not_wait_for_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A diffusion model predicts for minutes; what it has done is not to be lost with the node."""
    monkeypatch.setattr("wbgpu.evaluation.module._MAX_SECONDS_UNTOLD", 0.0)
    write_suite(tmp_path, (6, 7, 6))
    journal = tmp_path / "journal"
    result = wbgpu.evaluate(
        tmp_path / "gt",
        model=Watching(journal),
        num_context=NUM_CONTEXT,
        overrides=[f"journal={journal}"],
    )
    assert result.failed_episodes == ()


def test_a_checkpoint_that_changed_is_not_resumed(suite: Path) -> None:
    """Half of the episodes would be of one model and half of another, under one name."""
    whole = evaluated(suite, f"journal={suite / 'journal'}")
    resumed = evaluated(suite, f"journal={suite / 'journal'}", "resume=true")
    assert resumed == whole
    shutil.copy(write_checkpoint(suite / "b.ckpt", seed=1), suite / "a.ckpt")
    with pytest.raises(JournalError, match="checkpoint has changed"):
        evaluated(suite, f"journal={suite / 'journal'}", "resume=true")
