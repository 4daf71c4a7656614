"""Ranks that a launcher such as torchrun has started."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.evaluation.small_suites import write_small_suite
from wbgpu.errors import ConfigurationError
from wbgpu.evaluation.ranks import ALONE, environment_ranks, is_started_by_others, rank_device

ROOT = Path(__file__).resolve().parents[2]


def started(command: list[str], cwd: Path) -> list[tuple[int, str, str]]:
    """Exit code, output and errors of the command as ranks 0 and 1."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = {
        **os.environ,
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "PYTHONPATH": str(ROOT),
    }
    processes = [
        subprocess.Popen(
            command,
            cwd=cwd,
            env={**common, "RANK": rank, "LOCAL_RANK": rank},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in "01"
    ]
    said = [process.communicate() for process in processes]
    return [(p.returncode, out, err) for p, (out, err) in zip(processes, said)]


def test_one_process_is_alone() -> None:
    assert ALONE.together(lambda: 5) == [5]
    with pytest.raises(ZeroDivisionError):
        ALONE.together(lambda: 1 // 0)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, False),
        ({"RANK": "0", "WORLD_SIZE": "1"}, False),
        ({"RANK": "1", "WORLD_SIZE": "2"}, True),
        # An interactive SLURM allocation of four tasks: this process is not one of four.
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, False),
    ],
)
def test_only_torchruns_variables_say_that_there_are_others(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: bool
) -> None:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert is_started_by_others() is expected


def test_a_launcher_that_does_not_say_where_to_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    with pytest.raises(ConfigurationError, match=r"MASTER_ADDR.*unset both"):
        environment_ranks()


def test_two_ranks_see_the_same(tmp_path: Path) -> None:
    """Errors of one reach both, so nobody waits; a rank that is gone is named; one episode is
    evaluated once; and a training's own group is left as it was."""
    suite = write_small_suite(tmp_path, lengths=(6,))
    program = [sys.executable, str(ROOT / "tests/evaluation/rank_scenarios.py"), str(suite)]
    (code0, out0, err0), (code1, out1, err1) = started(program, tmp_path)
    assert (code0, code1) == (0, 7), err0 + err1
    ranks = json.loads(out0), json.loads(out1)
    for rank, seen in enumerate(ranks):
        assert (seen["rank"], seen["size"]) == (rank, 2)
        assert seen["together"] == ["from 0", "from 1"]
        assert seen["in inference mode"] == [0, 1]
        assert seen["afterwards"] == [0, 1]
        assert seen["of a training"] == [0, 1]
        assert seen["the training's group"] == 2
        assert seen["one episode as alone"] is True
        assert seen["environment is kept"] == "2"
        assert seen["devices"] == "ConfigurationError"
    assert ranks[0]["one fails"] == "RankError: rank 1 of 2 failed with ValueError: no room"
    assert ranks[1]["one fails"] == "ValueError: no room"
    assert ranks[0]["one is no pickle"] == "RankError"
    assert ranks[1]["one is no pickle"] != "nothing"
    assert "rank 1 of 2 is gone" in ranks[0]["the other is gone"]


def test_each_process_has_a_gpu_of_its_own_unless_one_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert [rank_device("auto", rank, 2) for rank in (0, 1)] == [
        torch.device("cuda", 0),
        torch.device("cuda", 1),
    ]
    assert rank_device("cuda:0", 1, 2) == torch.device("cuda", 0)
    assert rank_device("cuda", 0, 1) == torch.device("cuda", 0)
    assert rank_device("cpu", 1, 8) == torch.device("cpu")
    with pytest.raises(ConfigurationError, match=r"3 processes.*2.*device=cuda:0"):
        rank_device("auto", 2, 3)
