"""Distances of distributions through gate and compare."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.records.results import simple_suite
from wbgpu import save_result
from wbgpu.cli.main import run
from wbgpu.records.distribution_distance import DistributionDistance

FVD = DistributionDistance("fvd", "fvd/1", 120.0, None, 3, 3, 2)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two results of the same composite, the second 20 further from the truth."""
    monkeypatch.chdir(tmp_path)
    for name, value in (("a", 120.0), ("b", 140.0)):
        scores = {f"{i}.mp4": [50.0 + i] for i in range(3)}
        distances = (replace(FVD, value=value),)
        result = simple_suite(scores, checkpoint_name=name, distribution_distances=distances)
        save_result(result, tmp_path / f"{name}.json")
    return tmp_path


@pytest.mark.parametrize("policy", [[], ["--policy", "noninferiority"]])
def test_the_gate_has_its_limits_as_flags(
    folder: Path, capsys: pytest.CaptureFixture[str], policy: list[str]
) -> None:
    """A limit that is dropped on its way would pass everything."""
    command = ["gate", "--baseline", "a.json", "--candidate", "b.json", *policy]
    assert run(command) == 0
    assert "fvd: 120 -> 140 (+20, lower is better)" in capsys.readouterr().out
    assert run([*command, "--distance-margin", "fvd=30"]) == 1
    assert "fvd: not judged by 3 episodes; at least 256 required" in capsys.readouterr().out
    few = ["--min-distance-episodes", "3"]
    assert run([*command, *few, "--distance-margin", "fvd=30"]) == 0
    assert run([*command, *few, "--distance-margin", "fvd=10"]) == 1
    assert "fvd: 120 -> 140 (+20); margin 10" in capsys.readouterr().out
    written = json.loads((folder / ".wbgpu/gates/latest/gate.json").read_text())
    assert written["failure_reasons"][0]["kind"] == "distance_increase"
    sides = written["wbgpu"]["distribution_distances"]
    assert (sides["baseline"][0]["value"], sides["candidate"][0]["value"]) == (120.0, 140.0)


def test_a_wrong_margin_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By its flag."""
    command = ["gate", "--baseline", "a.json", "--candidate", "b.json", "--distance-margin"]
    assert run([*command, "fvd"]) == 2
    assert "expected NAME=NUMBER" in capsys.readouterr().err
    assert run([*command, "fvd=-1"]) == 2
    assert "distance_margins.fvd" in capsys.readouterr().err


def test_compare_lists_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In text, report and file; results without any have no such key."""
    assert run(["compare", "b.json", "a.json"]) == 0
    text = capsys.readouterr().out
    assert text.index("fvd of a: 120") < text.index("fvd of b: 140")
    latest = folder / ".wbgpu/comparisons/latest"
    assert "## Distances of distributions" in (latest / "comparison.md").read_text()
    written = json.loads((latest / "comparison.json").read_text())["wbgpu"]
    assert written["distribution_distances"]["b"][0]["value"] == 140.0
    for name in ("a", "b"):
        save_result(simple_suite({"0.mp4": [50.0]}, checkpoint_name=name), f"{name}.json")
    assert run(["compare", "a.json", "b.json"]) == 0
    assert "istances of distributions" not in capsys.readouterr().out
