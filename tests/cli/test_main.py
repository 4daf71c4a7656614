from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from wbgpu.cli import main as main_module
from wbgpu.cli.main import run


def modules_after(*arguments: str, cwd: Path) -> set[str]:
    """Top-level modules in the process after a command, whatever its exit code."""
    program = (
        "import sys; from wbgpu.cli.main import run; "
        f"code = run({list(arguments)!r}); print('MODULES', *sorted(sys.modules))"
    )
    output = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=cwd
    ).stdout
    return {name.partition(".")[0] for name in output.rpartition("MODULES ")[2].split()}


HEAVY = {"torch", "torchvision", "torchmetrics", "lightning", "hydra", "omegaconf", "decord", "av"}


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    """Asking what a tool can do must not cost the seconds of importing torch."""
    assert not HEAVY & modules_after("--help", cwd=tmp_path)


def test_gate_imports_neither_torch_nor_hydra(shared: Path, tmp_path: Path) -> None:
    folder = shared / "data/worldbench_artifacts/checkpoint_validation"
    baseline, candidate = (
        folder / "baseline_batch_result.json",
        folder / "candidate_batch_result.json",
    )
    modules = modules_after(
        "gate", "--baseline", str(baseline), "--candidate", str(candidate), cwd=tmp_path
    )
    assert (tmp_path / ".wbgpu/gates/latest/gate.json").is_file()
    assert not HEAVY & modules


def test_every_command_has_help_that_names_its_flags(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    overview = capsys.readouterr().out
    for name in (
        "eval",
        "eval-batch",
        "eval-video",
        "eval-videos",
        "regret",
        "bench",
        "gate",
        "compare",
        "verify-run",
        "report",
        "sweep-report",
        "demo",
    ):
        assert f"\n  {name} " in overview
    for name in ("eval-batch", "eval-video", "eval-videos", "gate"):
        assert run([name, "--help"]) == 0
        assert "--config" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [["no-such-command"], ["gate"], ["gate", "--no-such-flag"], ["report", "none.json"]],
)
def test_wrong_usage_exits_with_2_and_says_why(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    assert "Error: " in capsys.readouterr().err


def test_a_fault_of_ours_is_not_mistaken_for_fail(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1 means that a gate said FAIL; a Python traceback would exit with 1 as well."""

    def explode(*_: object, **__: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(main_module.group, "main", explode)
    assert run(["gate"]) == 70
    assert "boom" in capsys.readouterr().err
