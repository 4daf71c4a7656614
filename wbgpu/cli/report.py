"""``wbgpu report``: a readable report of a result file."""

from __future__ import annotations

import json
from pathlib import Path

import click

from wbgpu import sdk
from wbgpu.cli.artifacts import check_report


@click.command("report", short_help="A readable Markdown report of a result file.")
@click.argument("result_json", type=click.Path(path_type=Path))
@click.option(
    "--against", type=click.Path(path_type=Path), help="Baseline result to show changes against."
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help="Markdown file. [default: beside the result: report.md in a run's folder, else its name]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report's path as JSON.")
def command(result_json: Path, against: Path | None, output: Path | None, as_json: bool) -> None:
    """Write a Markdown report of a result of videos or of regret.

    Example: wbgpu report candidate.json --against baseline.json -o report.md
    """
    if result_json.is_dir():
        default = result_json / "report.md"
    elif result_json.name in sdk.RESULT_FILES:
        default = result_json.with_name("report.md")
    else:
        default = result_json.with_suffix(".md")
    path = output or default
    check_report(path, "--output")
    sdk.write_report(result_json, path, against)
    if as_json:
        click.echo(json.dumps({"report": str(path)}))
    else:
        click.echo(f"Saved report: {path}")
