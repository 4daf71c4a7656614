"""Tables and lists of the pages say what the code does; links lead somewhere."""

from __future__ import annotations

import json
import re
import shlex

import pytest
import yaml
from markdown_it import MarkdownIt

from tests.conftest import REPOSITORY
from tests.episodes.lerobot.datasets import write_dataset
from wbgpu.cli.main import run
from wbgpu.gating.thresholds import Thresholds
from wbgpu.records.comparison import GATE_DEFAULTS
from wbgpu.records.project_file import load_project_file

DOCS = REPOSITORY / "docs"
PAGES = [REPOSITORY / "README.md", *sorted(DOCS.glob("**/*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(REPOSITORY).as_posix())
def test_links_lead_somewhere(page):
    for token in MarkdownIt().parse(page.read_text("utf-8")):
        for child in token.children or []:
            target = str(child.attrs.get("href") or child.attrs.get("src") or "").split("#")[0]
            if target and "://" not in target:
                assert (page.parent / target).exists(), target


def test_the_states_of_a_job_are_all_explained():
    """A state that the page does not know is a riddle."""
    text = (DOCS / "how-to/sweep.md").read_text("utf-8")
    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == [
        "done",
        "incomplete",
        "failed",
        "interrupted",
        "running",
    ]


def test_the_table_of_slurm_settings():
    """Defaults that the page states are the configuration's."""
    text = (DOCS / "how-to/slurm.md").read_text("utf-8")
    stated = dict(re.findall(r"^\| `hydra\.launcher\.(\w+)` \| (\d+) \|", text, re.MULTILINE))
    file = REPOSITORY / "configs/hydra/launcher/slurm.yaml"
    settings = {k: str(v) for k, v in yaml.safe_load(file.read_text("utf-8")).items()}
    settings.pop("defaults")
    assert stated.pop("array_parallelism") == "256"
    assert stated == settings


def test_the_example_of_a_project_file_has_all_keys_of_the_gate(tmp_path):
    text = (DOCS / "how-to/gate.md").read_text("utf-8")
    (example,) = re.findall(r'```yaml title="wbgpu\.yml"\n(.*?)```', text, re.DOTALL)
    (tmp_path / "wbgpu.yml").write_text(example)
    project = load_project_file(folder=tmp_path)
    assert project.gate.keys() == GATE_DEFAULTS.keys()
    assert project.profile.required_metrics == ("visual_similarity",)
    Thresholds(**project.gate)


def test_the_statistics_of_clusters_are_those_of_the_simulation():
    """A rate without a row behind it was once stated there."""
    text = (DOCS / "statistics-of-the-gate.md").read_text("utf-8")
    file = REPOSITORY / "artifacts/simulations/gate.json"
    for row in json.loads(file.read_text("utf-8"))["clustered"]:
        sizes, own, *rates = row.values()
        cells = [sizes.replace("/", ", "), str(own), *(f"{rate:.3f}" for rate in rates)]
        assert f"| {' | '.join(cells)} |" in text


def test_the_keys_of_a_lerobot_suite(tmp_path, monkeypatch):
    """As they stand in a shell, quotes and all."""
    monkeypatch.chdir(tmp_path)
    write_dataset(tmp_path / "datasets/pusht", num_frames=(6, 5, 7))
    text = (DOCS / "how-to/lerobot.md").read_text("utf-8")
    camera, episodes = re.findall(r"^\| `('?suite\.layout.*?)`", text, re.MULTILINE)
    base = (
        "eval suite=lerobot suite.ground_truth=datasets/pusht model=copy_last suite.num_context=2"
    )
    assert run([*base.split(), *shlex.split(camera)]) == 0
    assert run([*base.split(), *shlex.split(episodes.replace("7,2", "2"))]) == 0
