"""docs/worlds.md: its table of worlds."""

from __future__ import annotations

import math

import pytest

from tests.conftest import REPOSITORY
from wbgpu.worlds import load_world, world_names

TEXT = (REPOSITORY / "docs/worlds.md").read_text("utf-8")


@pytest.mark.parametrize("name", world_names())
def test_sizes_in_the_table(name):
    schema = load_world(name).schema
    (row,) = (line for line in TEXT.splitlines() if line.startswith(f"| `{name}` |"))
    num_states = math.prod(variable.num_outcomes for variable in schema.variables)
    matters = "yes" if load_world(name).action_matters else "no"
    assert row.endswith(f"| {num_states} | {len(schema.actions)} | {matters} |")
