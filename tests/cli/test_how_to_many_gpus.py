"""docs/how-to/many_gpus.md: its commands are run as they stand, on the CPU."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.evaluation.small_suites import write_small_suite
from wbgpu.cli.main import run


def test_the_pages_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a user copies first; each prints and writes one result, whoever started its ranks."""
    monkeypatch.chdir(tmp_path)
    page = (REPOSITORY / "docs/how-to/many_gpus.md").read_text("utf-8")
    commands = re.findall(r"```bash\n(.*?)```", page, re.DOTALL)
    assert len(commands) == 3
    started = [command for command in commands if command.startswith("torchrun ")]
    assert len(started) == 1
    write_small_suite(tmp_path, lengths=(5, 6, 7))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command in commands:
        if command not in started:
            assert run(shlex.split(command)[1:]) == 0
            assert capsys.readouterr().out.count("Episodes evaluated: 3") == 1
            continue
        ended = subprocess.run(
            ["bash", "-ec", command],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout.count("Episodes evaluated: 3") == 1
    assert len(list(tmp_path.glob(".wbgpu/evals/*/batch.json"))) == 3
    assert len(list(tmp_path.glob(".wbgpu/evals/*"))) == 3
