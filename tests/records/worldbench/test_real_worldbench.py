"""Files of ours in worldbench 0.4.1 itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from worldbench.dashboard import build_dashboard_html, load_result_or_evaluate

from tests.records.golden import load, result
from tests.records.results import available, failed, simple_suite, suite
from wbgpu.records.strict_json import write_json
from wbgpu.records.suite import SuiteResult
from wbgpu.records.worldbench import batch_payload, evaluation_payload

PROGRAM = "from worldbench.cli import app; app()"


def worldbench(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def _write(folder: Path, name: str, batch: SuiteResult) -> Path:
    return write_json(folder / name, batch_payload(batch))


def test_its_gate_says_the_same_of_our_files_as_of_its_own(shared: Path, tmp_path: Path) -> None:
    """Rewriting a file must not change a verdict of worldbench."""
    raw = shared / "golden/raw"
    ours = [
        _write(tmp_path, f"{side}.json", result(raw / f"batch_pypi_{side}_skip0.json.gz"))
        for side in ("baseline", "candidate")
    ]
    done = worldbench(tmp_path, "gate", "--baseline", ours[0], "--candidate", ours[1])
    wanted = load(shared / "golden/expected/gate.json")[0]
    assert done.returncode == wanted["exit"] == 1, done.stderr
    gate = json.loads((tmp_path / ".worldbench/gates/latest/gate.json").read_text())
    assert {key: gate[key] for key in wanted["gate"]} == wanted["gate"]


def test_a_gate_across_the_two_tools(shared: Path, tmp_path: Path) -> None:
    """Baseline written by worldbench, candidate by us: nothing may count as a mismatch."""
    raw = shared / "golden/raw/batch_pypi_baseline_skip0.json.gz"
    theirs = write_json(tmp_path / "theirs.json", load(raw))
    ours = _write(tmp_path, "ours.json", result(raw))
    done = worldbench(tmp_path, "gate", "--baseline", theirs, "--candidate", ours)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Unchanged:  16" in done.stdout


def test_it_does_not_pass_a_result_with_a_failed_episode(tmp_path: Path) -> None:
    """worldbench knows no failed episodes; a score of 0 or a gap could pass there."""
    whole = simple_suite({"a": [50.0], "b": [60.0]})
    partial = suite([whole.episodes[0], failed("b")])
    better = _write(tmp_path, "partial.json", partial)
    done = worldbench(
        tmp_path, "gate", "--baseline", _write(tmp_path, "whole.json", whole), "--candidate", better
    )
    assert done.returncode != 0
    assert "PASS" not in done.stdout


def test_it_does_not_pass_a_result_without_any_composite(tmp_path: Path) -> None:
    """Two results that measured nothing are equal, and equal passes."""
    psnr = suite([_only_psnr("a")])
    file = _write(tmp_path, "psnr.json", psnr)
    done = worldbench(tmp_path, "gate", "--baseline", file, "--candidate", file)
    assert done.returncode != 0
    assert "PASS" not in done.stdout


def _only_psnr(episode_id: str):  # type: ignore[no-untyped-def]
    from tests.records.results import episode

    return episode(episode_id, [available("psnr", [30.0, 28.0])])


def test_its_report_compare_and_dashboard_read_our_evaluations(
    shared: Path, tmp_path: Path
) -> None:
    """They are the file format's other readers, and refuse what they do not know."""
    files = []
    for name in ("png_full_model_good", "png_full_model_bad"):
        found = result(shared / f"golden/raw/eval_pypi_{name}.json.gz")
        files.append(write_json(tmp_path / f"{name}.json", evaluation_payload(found)))
    batch = result(shared / "golden/raw/batch_pypi_baseline_skip0.json.gz")
    files.append(write_json(tmp_path / "one.json", evaluation_payload(batch, batch.episodes[0])))
    for file in files:
        done = worldbench(tmp_path, "report", file, "--output", tmp_path / "report.md")
        assert done.returncode == 0, done.stderr
        assert "Composite Score" in (tmp_path / "report.md").read_text()
        loaded = load_result_or_evaluate(file)
        assert "WorldBench" in build_dashboard_html(loaded, {})
    done = worldbench(tmp_path, "compare", files[0], files[1])
    assert done.returncode == 0, done.stderr
    assert "Winner: run_a" in done.stdout


@pytest.mark.parametrize("status", ["unsupported", "error"])
def test_its_loader_takes_metrics_without_a_value(tmp_path: Path, status: str) -> None:
    """It accepts no status but its own two."""
    from tests.records.results import episode, unsupported

    lost = unsupported("temporal_stability", status=status, error_type="E")
    found = suite(
        [episode("a", [available("visual_similarity", [60.0]), lost], num_steps=1)],
        result_type="evaluation",
    )
    file = write_json(tmp_path / "result.json", evaluation_payload(found))
    assert load_result_or_evaluate(file).metrics["temporal_stability"].score is None
