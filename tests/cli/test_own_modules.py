"""Configurations and classes of the user's own, which lie in the current folder."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.cli.sweeping import write_suite
from wbgpu.cli.main import run
from wbgpu.cli.own_modules import modules_of_this_folder

METRIC = """
from wbgpu.metrics import Mse


class Own(Mse):
    name = "own"
    metric_id = "own/test-1.0"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p not in ("", str(tmp_path))])
    write_suite(tmp_path)
    Path("metric_of_a_test.py").write_text(METRIC)
    Path("own_configs/metrics").mkdir(parents=True)
    Path("own_configs/metrics/own.yaml").write_text("own:\n  _target_: metric_of_a_test.Own\n")
    yield tmp_path
    sys.modules.pop("metric_of_a_test", None)


def measured(path: str) -> set[str]:
    return set(json.loads(Path(path).read_text("utf-8"))["wbgpu"]["metrics"])


def test_a_folder_of_configurations_is_no_dataset(folder: Path) -> None:
    """`wbgpu eval DATASET` is worldbench's; the value of a flag of Hydra's is not a DATASET."""
    suite = ["suite.ground_truth=gt", "suite.predictions=good"]
    for flags in (["--config-dir", "own_configs"], ["--config-dir=own_configs"]):
        own = [*flags, "metrics=[visual_similarity,own]", *suite, "output=own.json"]
        assert run(["eval", *own]) == 0
        assert "own" in measured("own.json")
    Path("job").mkdir()
    assert run(["eval", "--cfg", "job", *suite]) == 0


def test_every_command_finds_them(folder: Path) -> None:
    """eval-batch once found the configuration and then not the class."""
    before = list(sys.path)
    own = ["hydra.searchpath=[file://own_configs]", "+metrics@metrics=own"]
    folders = ["--ground-truth", "gt", "--predictions", "good"]
    assert run(["eval-batch", *folders, "--output", "batch.json", *own]) == 0
    assert "own" in measured("batch.json")
    assert sys.path == before


def test_packages_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file json.py in a folder of data hides no module."""
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)
    with modules_of_this_folder():
        assert sys.path == [*before, str(tmp_path)]
    assert sys.path == before
