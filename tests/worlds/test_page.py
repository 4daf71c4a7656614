"""docs/worlds.md: what it shows must work as shown."""

from __future__ import annotations

import math
import re

import pytest
import yaml

from tests.conftest import REPOSITORY
from wbgpu.worlds import check_world, load_world, world_names

TEXT = (REPOSITORY / "docs/worlds.md").read_text("utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("index", range(len(blocks("python"))))
def test_code_runs(index, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks("python")[index], "docs/worlds.md", "exec"), {})


def test_the_example_is_a_sound_world():
    """The first thing that a reader copies."""
    world, picture = (yaml.safe_load(block) for block in blocks("yaml"))
    check_world(load_world(world | picture))


@pytest.mark.parametrize("name", world_names())
def test_sizes_in_the_table(name):
    schema = load_world(name).schema
    (row,) = (line for line in TEXT.splitlines() if line.startswith(f"| `{name}` |"))
    num_states = math.prod(variable.num_outcomes for variable in schema.variables)
    matters = "yes" if load_world(name).action_matters else "no"
    assert row.endswith(f"| {num_states} | {len(schema.actions)} | {matters} |")
