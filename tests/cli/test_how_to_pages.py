"""docs/how-to/sweep.md and slurm.md, whose commands are run as they stand; settings in gate.md."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
import yaml

from tests.cli.sweeping import statuses, write_suite
from tests.conftest import REPOSITORY
from wbgpu.cli.main import run
from wbgpu.gating.thresholds import Thresholds
from wbgpu.records.comparison import GATE_DEFAULTS
from wbgpu.records.project_file import load_project_file

PAGES = REPOSITORY / "docs/how-to"


def commands(page):
    """Lines of the page's shell blocks, as arguments."""
    blocks = re.findall(r"```bash\n(.*?)```", (PAGES / page).read_text("utf-8"), re.DOTALL)
    return [shlex.split(line) for block in blocks for line in block.splitlines()]


@pytest.fixture
def suite(tmp_path, monkeypatch):
    """The folders that the pages name."""
    monkeypatch.chdir(tmp_path)
    write_suite(tmp_path)
    (tmp_path / "good").rename("step00900")
    (tmp_path / "bad").rename("step00060")
    (tmp_path / "broken").rename("copy_last")
    for video in Path("copy_last").iterdir():
        video.write_bytes(Path("step00060", video.name).read_bytes())
    return tmp_path


def test_the_page_on_sweeps(suite, capsys):
    """What a user copies first."""
    first, report, again, parallel = commands("sweep.md")
    assert run(first[1:]) == 0
    assert run(report[1:]) == 0
    assert Path("sweeps/nightly/sweep_report.png").is_file()
    capsys.readouterr()
    assert run(again[1:]) == 0
    assert capsys.readouterr().err.count("kept, as it was done") == 3
    assert "hydra/launcher=parallel" in parallel  # Runs in test_launchers.


def test_the_states_of_a_job_are_all_explained():
    """A state that the page does not know is a riddle."""
    text = (PAGES / "sweep.md").read_text("utf-8")
    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == [
        "done",
        "incomplete",
        "failed",
        "interrupted",
        "running",
    ]


@pytest.mark.slow
def test_the_page_on_slurm(suite):
    """On submitit's local executor, as there is no SLURM here."""
    install, sweep, report, trial = commands("slurm.md")
    assert install == ["pip", "install", ".[launchers]"]
    assert trial[3] == "hydra/launcher=slurm_local"
    assert sweep[3] == "hydra/launcher=slurm"
    assert run(["hydra/launcher=slurm_local" if a == sweep[3] else a for a in sweep[1:]]) == 0
    assert [status["state"] for status in statuses("sweeps/nightly")] == ["done", "done"]
    assert run(report[1:]) == 0
    document = json.loads(Path("sweeps/nightly/sweep_report.json").read_text("utf-8"))
    assert [job["checkpoint_name"] for job in document["ranking"]] == ["step00900", "step00060"]


def test_the_table_of_slurm_settings():
    """Defaults that the page states are the configuration's."""
    text = (PAGES / "slurm.md").read_text("utf-8")
    stated = dict(re.findall(r"^\| `hydra\.launcher\.(\w+)` \| (\d+) \|", text, re.MULTILINE))
    file = REPOSITORY / "configs/hydra/launcher/slurm.yaml"
    settings = {k: str(v) for k, v in yaml.safe_load(file.read_text("utf-8")).items()}
    settings.pop("defaults")
    assert stated.pop("array_parallelism") == "256"
    assert stated == settings


def test_the_example_of_a_project_file(tmp_path):
    """All keys of the gate, and values that it takes."""
    text = (PAGES / "gate.md").read_text("utf-8")
    (example,) = re.findall(r"```yaml\n(metrics:.*?)```", text, re.DOTALL)
    (tmp_path / "wbgpu.yml").write_text(example)
    project = load_project_file(folder=tmp_path)
    assert project.gate.keys() == GATE_DEFAULTS.keys()
    assert project.profile.required_metrics == ("visual_similarity",)
    Thresholds(**project.gate)


def test_the_statistics_of_clusters_are_those_of_the_simulation():
    """A rate without a row behind it was once stated there."""
    text = (REPOSITORY / "docs/statistics-of-the-gate.md").read_text("utf-8")
    file = REPOSITORY / "artifacts/simulations/gate.json"
    for row in json.loads(file.read_text("utf-8"))["clustered"]:
        sizes, own, *rates = row.values()
        cells = [sizes.replace("/", ", "), str(own), *(f"{rate:.3f}" for rate in rates)]
        assert f"| {' | '.join(cells)} |" in text
