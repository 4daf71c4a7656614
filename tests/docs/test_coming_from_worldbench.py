"""docs/coming-from-worldbench.md against both tools: what is not there is not forgotten."""

from __future__ import annotations

import importlib
import re

import click
import pytest

from tests.conftest import REPOSITORY
from wbgpu.cli.main import group

worldbench = pytest.importorskip("worldbench")
TEXT = (REPOSITORY / "docs/coming-from-worldbench.md").read_text("utf-8")
OWN_NAMES = {"construct", "copy", "dict", "from_orm", "json", "populate_compatibility_fields"}
"""Of pydantic's base class, and validators."""


def rows(heading: str) -> list[list[str]]:
    """Cells of the table in a section."""
    section = TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def commands(of: click.Group) -> dict[str, click.Command]:
    found = {name: of.get_command(click.Context(of), name) for name in of.list_commands(None)}
    return {name: command for name, command in found.items() if command is not None}


def flags(command: click.Command) -> set[str]:
    return {
        flag
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for flag in (*parameter.opts, *parameter.secondary_opts)
    }


def theirs() -> dict[str, click.Command]:
    from worldbench import cli

    return cli.app.commands


@pytest.mark.parametrize("name", theirs())
def test_every_command_has_a_row_that_names_every_flag(name):
    """A flag that is not ours is named as such."""
    command = theirs()[name]
    (row,) = [r for r in rows("Commands") if re.search(rf"(`worldbench |, `){name}(?![\w-])", r[0])]
    if row[1] == "none":
        assert command.hidden, f"{name} is a public command of worldbench's"
        return
    shared, _, lacking = row[-1].partition("not ours:")
    missing = set(re.findall(r"--?[\w-]+", lacking))
    named = set(re.findall(r"`(--?[\w-]+)", shared.partition("ours besides")[0]))
    ours = commands(group)["eval-frames" if name == "eval" else name]
    if not command.hidden:
        assert flags(command) == named | missing
        assert flags(command) - flags(ours) == missing


def members(kind: type) -> set[str]:
    """Public attributes and methods that a user of worldbench meets."""
    fields = set(getattr(kind, "model_fields", ()))
    own = {name for name in vars(kind) if not name.startswith(("_", "model_"))}
    return (fields | own) - OWN_NAMES


def test_every_public_name_of_the_sdk_has_a_row():
    first = " ".join(row[0] for row in rows("Python"))
    for name in worldbench.__all__:
        kind = getattr(worldbench, name)
        assert re.search(rf"`{name}\b", first), name
        if isinstance(kind, type):
            for member in members(kind):
                assert re.search(rf"`(?:{name})?\.{member}\b|\b{member}\b", first), (
                    f"{name}.{member}"
                )


def test_what_stands_for_it_is_there():
    """Dotted names can be imported, attributes are attributes."""
    second = " ".join(row[1] for row in rows("Python"))
    names = set(re.findall(r"`(wbgpu(?:\.\w+)+)", second))
    assert len(names) > 10
    for name in names:
        parts = name.split(".")
        for split in range(len(parts), 0, -1):
            try:
                found = importlib.import_module(".".join(parts[:split]))
            except ImportError:
                continue
            for part in parts[split:]:
                found = getattr(found, part)
            break


def test_attributes_of_results_are_there():
    import dataclasses

    from wbgpu.records.metric import MetricOutcome
    from wbgpu.records.suite import Provenance, SuiteResult
    from wbgpu.records.summary import SuiteSummary

    def names(kind: type) -> set[str]:
        return {field.name for field in dataclasses.fields(kind)}

    second = " ".join(row[1] for row in rows("Python"))
    for chain in set(re.findall(r"`result\.([\w.]+)", second)):
        first, *rest = chain.split(".")
        assert first in names(SuiteResult), chain
        inner = {"summary": SuiteSummary, "provenance": Provenance}.get(first)
        assert not rest or (inner is not None and rest[0] in names(inner)), chain
    assert {"value", "prefix_details", "status", "reason", "issues"} <= names(MetricOutcome)
    same = {"enabled_metrics", "required_metrics", "configuration_hash", "schema_version"}
    assert same | {"result_type", "created_at"} <= names(SuiteResult)


def test_the_example_gives_worldbenchs_score(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    exec(compile(example, "coming-from-worldbench.md", "exec"), {})
    expected = worldbench.evaluate("dataset", "good_model").score
    ours = worldbench.EvaluationResult.model_validate_json(
        (tmp_path / "result.json").read_text("utf-8")
    )
    assert ours.score == pytest.approx(expected, abs=1e-5)
    assert (tmp_path / "report.md").is_file()
