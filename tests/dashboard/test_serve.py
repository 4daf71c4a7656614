"""``wbgpu dashboard``: addresses, and the settings that its verdicts follow."""

from __future__ import annotations

import pytest
import uvicorn

from tests.dashboard.test_app import AFTER, BEFORE, Client
from wbgpu import sdk
from wbgpu.cli.main import run
from wbgpu.dashboard.serve import address_of


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "http://127.0.0.1:8765/"),
        ("::1", "http://[::1]:8765/"),
        ("0.0.0.0", "http://localhost:8765/"),
        ("::", "http://localhost:8765/"),
    ],
)
def test_the_printed_address_can_be_opened(host, address):
    """An IPv6 address without brackets is none."""
    assert address_of(host, 8765) == address


@pytest.fixture
def served(tmp_path, monkeypatch):
    """The application that uvicorn would run, and a folder with two runs."""
    monkeypatch.chdir(tmp_path)
    sdk.save_result(BEFORE, "runs/before.json")
    sdk.save_result(AFTER, "runs/after.json")
    apps = []
    monkeypatch.setattr(uvicorn, "run", lambda app, **_: apps.append(app))
    return apps


PAIR = {"run": "after.json", "against": "before.json"}
LOCAL = {"Host": "localhost:8765"}


def test_a_project_file_counts_as_it_does_for_the_gate(served, tmp_path, capsys):
    """One folder must not say FAIL in CI and PASS in the browser."""
    command = ["dashboard", "runs", "--no-open", "--films", "0", "--port", "18766"]
    assert run(command) == 0
    limits = "{max_metric_drop: 50, max_horizon_drop: 50, min_composite_improvement: -50}"
    (tmp_path / "wbgpu.yml").write_text(f"gate: {limits}\n")
    (tmp_path / "loose.yaml").write_text(
        "_target_: wbgpu.gating.thresholds.Thresholds\nmax_overall_drop: 50\n"
    )
    assert run([*command, "--policy", "loose.yaml"]) == 0
    assert "Configuration: wbgpu.yml" in capsys.readouterr().out
    pages = [Client(app).get("/report", params=PAIR, headers=LOCAL).text for app in served]
    assert 'class="badge FAIL"' in pages[0]
    assert 'class="badge PASS"' in pages[1]
    assert "wbgpu.yml" in pages[1]
    sides = ["--baseline", "runs/before.json", "--candidate", "runs/after.json"]
    assert run(["gate", *sides, "--policy", "loose.yaml"]) == 0


def test_a_folder_that_is_not_there_is_not_announced(served, capsys):
    assert run(["dashboard", "none", "--no-open"]) == 2
    found = capsys.readouterr()
    assert "none: there is no such folder or file" in found.err
    assert not found.out


def test_a_wrong_project_file_is_said_before_anything_is_served(served, tmp_path, capsys):
    (tmp_path / "wbgpu.yml").write_text("gate: {max_metric_drp: 1}\n")
    assert run(["dashboard", "runs", "--no-open"]) == 2
    assert "nearest: 'max_metric_drop'" in capsys.readouterr().err
    assert not served
