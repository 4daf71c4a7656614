"""``wbgpu report``: a readable report of a result file."""

from __future__ import annotations

import json
from pathlib import Path

import click

from wbgpu import sdk
from wbgpu.cli.artifacts import check_folder
from wbgpu.errors import ConfigurationError


@click.command("report", short_help="A readable Markdown report of a result file.")
@click.argument("result_json", type=click.Path(path_type=Path))
@click.option(
    "--against", type=click.Path(path_type=Path), help="Baseline result to show changes against."
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help="Markdown file. [default: report.md beside the result]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report's path as JSON.")
def command(result_json: Path, against: Path | None, output: Path | None, as_json: bool) -> None:
    """Write a Markdown report of a batch or single-video result.

    Example: wbgpu report candidate.json --against baseline.json -o report.md
    """
    folder = result_json if result_json.is_dir() else result_json.parent
    path = output or folder / "report.md"
    check_folder(path.absolute().parent, "--output")
    if path.is_dir() or path.suffix == ".json":
        raise ConfigurationError(f"--output: expected a Markdown file, got {path}")
    sdk.write_report(result_json, path, against)
    if as_json:
        click.echo(json.dumps({"report": str(path)}))
    else:
        click.echo(f"Saved report: {path}")
