"""``wbgpu report``: a readable report of a result file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click
from click.core import ParameterSource

from wbgpu import sdk
from wbgpu.cli.artifacts import check_report
from wbgpu.cli.policy_options import policy_from
from wbgpu.errors import ConfigurationError
from wbgpu.gating.noninferiority import Noninferiority
from wbgpu.records.project_file import load_project_file
from wbgpu.records.regret import RegretResult
from wbgpu.records.strict_json import write_text
from wbgpu.report.told_apart import told_apart
from wbgpu.reporting.html import DEFAULT_NUM_FILMS


@click.command("report", short_help="A readable report of a result file, as Markdown or HTML.")
@click.argument("result_json", type=click.Path(path_type=Path))
@click.option(
    "--against", type=click.Path(path_type=Path), help="Baseline result to show changes against."
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help="FILE.md, or FILE.html for one page with charts, frames and videos. "
    "[default: Markdown beside the result: report.md in a run's folder, else its name]",
)
@click.option(
    "--policy",
    default="worldbench",
    show_default=True,
    metavar="NAME|FILE.yaml",
    help="HTML with --against: policy of the verdict, as of wbgpu gate.",
)
@click.option(
    "--margin",
    type=float,
    help="HTML, noninferiority: allowed drop of the composite, or increase of the regret.",
)
@click.option(
    "--films",
    "num_films",
    type=click.IntRange(0),
    default=DEFAULT_NUM_FILMS,
    show_default=True,
    help="HTML: worst and best episodes shown with frames and a video, of each.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report's path as JSON.")
def command(
    result_json: Path,
    against: Path | None,
    output: Path | None,
    policy: str,
    margin: float | None,
    num_films: int,
    as_json: bool,
) -> None:
    """Write a report of a result of videos or of regret.

    \b
    Example:
      wbgpu report candidate.json --against baseline.json -o report.html
    """
    if result_json.is_dir():
        default = result_json / "report.md"
    elif result_json.name in sdk.RESULT_FILES:
        default = result_json.with_name("report.md")
    else:
        default = result_json.with_suffix(".md")
    path = output or default
    check_report(path, "--output")
    if path.suffix.lower() in sdk.PAGE_SUFFIXES:
        write_text(path, _page(result_json, against, policy, margin, num_films))
    else:
        _refuse_given(("policy", "margin", "num_films"))
        sdk.write_report(result_json, path, against)
    if as_json:
        click.echo(json.dumps({"report": str(path)}))
    else:
        click.echo(f"Saved report: {path}")


def _page(
    result_json: Path, against: Path | None, policy: str, margin: float | None, num_films: int
) -> str:
    result = sdk.load_result(result_json)
    baseline = None if against is None else sdk.load_result(against)
    if against is not None and baseline is not None:
        baseline, result = told_apart(baseline, result, (against, result_json))
    project = load_project_file()
    is_regret = isinstance(result, RegretResult)
    flags = {
        "regret_margin" if is_regret else "margin": margin,
        "required_metrics": project.profile.required_metrics,
    }
    limits = policy_from(policy, {} if is_regret else project.gate, flags)
    if margin is not None and not isinstance(limits, Noninferiority):
        raise ConfigurationError(f"--margin: the policy {policy} has no margins")
    used = None if is_regret or project.path is None else str(project.path)
    return sdk.report_page(
        result,
        baseline,
        policy=limits,
        num_films=num_films,
        video_folders=[
            path if path.is_dir() else path.parent
            for path in (result_json, against)
            if path is not None
        ],
        configuration_file=used,
    )


def _refuse_given(names: Sequence[str]) -> None:
    """Refuse options that Markdown does not follow, instead of ignoring them."""
    context = click.get_current_context()
    flags = {p.name: p.opts[0] for p in context.command.params}
    for name in names:
        if context.get_parameter_source(name) == ParameterSource.COMMANDLINE:
            raise ConfigurationError(f"{flags[name]} needs a page: --output FILE.html")
