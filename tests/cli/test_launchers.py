"""configs/hydra/launcher: sweeps in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import yaml

from tests.cli.sweeping import statuses
from tests.conftest import REPOSITORY

SWEEP = ("regret", "-m", "world=markov_chain", "seeds=4", "hydra.sweep.dir=sweep")
"""Without torch, whose import takes seconds in every process."""


@pytest.mark.parametrize("launcher", ["parallel", "slurm_local"])
def test_jobs_run_in_processes_of_their_own_and_one_that_fails_stops_none(launcher, tmp_path):
    """submitit's local executor does with processes what SLURM does with nodes."""
    outcome = wbgpu(tmp_path, *SWEEP, "steps=0,5,6", f"hydra/launcher={launcher}", "--json")
    assert outcome.returncode == 2, outcome.stderr
    jobs = json.loads(outcome.stdout)["jobs"]
    assert [job["state"] for job in jobs] == ["failed", "done", "done"]
    kept = statuses(tmp_path / "sweep")
    assert jobs == [{"folder": f"sweep/{job}", **status} for job, status in enumerate(kept)]
    assert len({job["pid"] for job in jobs}) > 1
    assert all((tmp_path / f"sweep/{job}/result.json").is_file() for job in (1, 2))


def test_without_slurm_it_says_so_and_starts_nothing(tmp_path):
    """A sweep that silently ran on the login node would block it."""
    outcome = wbgpu(tmp_path, *SWEEP, "steps=5,6", "hydra/launcher=slurm", path="")
    assert outcome.returncode == 2
    assert 'Could not detect "srun"' in outcome.stderr
    assert statuses(tmp_path / "sweep") == []


def test_slurm_is_asked_for_what_the_configuration_says(tmp_path):
    """A job without a GPU would score on the CPU, ten times as slowly."""
    text = wbgpu(tmp_path, "eval", "--cfg", "hydra", "hydra/launcher=slurm").stdout
    launcher = yaml.safe_load(text)["hydra"]["launcher"]
    assert launcher["_target_"].endswith(".SlurmLauncher")
    asked = {key: launcher[key] for key in ("gpus_per_node", "cpus_per_task", "tasks_per_node")}
    assert asked == {"gpus_per_node": 1, "cpus_per_task": 8, "tasks_per_node": 1}
    assert yaml.safe_load(text)["hydra"]["job"]["name"] == "wbgpu-eval"


def test_every_launcher_is_tested_here():
    """A configuration that nothing composes may be broken."""
    files = {path.stem for path in (REPOSITORY / "configs/hydra/launcher").glob("*.yaml")}
    assert files == {"parallel", "slurm", "slurm_local"}


def wbgpu(folder, *arguments, path=None):
    environment = dict(os.environ) if path is None else {**os.environ, "PATH": path}
    return subprocess.run(
        [sys.executable, "-m", "wbgpu", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
