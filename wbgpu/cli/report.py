"""``wbgpu report``: a readable report of a result file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from wbgpu import sdk
from wbgpu.cli.artifacts import check_report
from wbgpu.cli.cluster_options import CLUSTERS, cluster_options, clusters_from
from wbgpu.cli.gate_files import PAGE_PROGRESS
from wbgpu.cli.given_options import refuse_given
from wbgpu.cli.policy_options import (
    config_option,
    margin_option,
    policy_from,
    policy_option,
    regret_margin_option,
)
from wbgpu.gating.noninferiority import Noninferiority
from wbgpu.records.project_file import load_project_file
from wbgpu.records.regret import RegretResult
from wbgpu.records.strict_json import write_text
from wbgpu.report.told_apart import told_apart
from wbgpu.reporting.html import DEFAULT_NUM_FILMS

_MARGINS = ("margin", "regret_margin")
_AGAINST_ONLY = ("policy", *_MARGINS, *CLUSTERS, "config_path")
"""Options of the verdict and of tests, on the page of two results."""


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
@policy_option
@margin_option
@regret_margin_option
@cluster_options
@config_option
@click.option(
    "--films",
    "num_films",
    type=click.IntRange(0),
    default=DEFAULT_NUM_FILMS,
    show_default=True,
    help="Of a page: worst and best episodes shown with frames and a video, of each.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the report's path as JSON and nothing else."
)
def command(
    result_json: Path,
    against: Path | None,
    output: Path | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Write a report of a result of videos or of regret.

    The options from --policy to --config are of a page with --against, and as of wbgpu gate;
    clusters count in its tests over horizons under any policy. All other limits of a verdict are
    options of wbgpu gate, whose --html writes the same page. Frames and videos take most of the
    time: --films 0 leaves them out.

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
        if against is None:
            refuse_given(_AGAINST_ONLY, "needs a baseline: --against FILE")
        if flags["num_films"]:
            click.echo(f"{PAGE_PROGRESS.format(path)} (--films 0: without)", err=True)
        write_text(path, _page(result_json, against, flags))
    else:
        refuse_given((*_AGAINST_ONLY, "num_films"), "needs a page: --output FILE.html")
        sdk.write_report(result_json, path, against)
    if as_json:
        click.echo(json.dumps({"report": str(path)}))
    else:
        click.echo(f"Saved report: {path}")


def _page(result_json: Path, against: Path | None, flags: Mapping[str, Any]) -> str:
    result = sdk.load_result(result_json)
    baseline = None if against is None else sdk.load_result(against)
    if against is not None and baseline is not None:
        baseline, result = told_apart(baseline, result, (against, result_json))
    project = load_project_file(flags["config_path"])
    margins = {name: flags[name] for name in _MARGINS}
    required = project.profile.required_metrics
    policy = policy_from(flags["policy"], project.gate, {**margins, "required_metrics": required})
    if not isinstance(policy, Noninferiority):
        refuse_given(_MARGINS, f"does not apply under the policy {flags['policy']}")
    if isinstance(result, RegretResult):
        refuse_given(("margin", *CLUSTERS, "config_path"), "does not apply to results of regret")
        episode_ids = []
    else:
        episode_ids = [episode.episode_id for episode in result.episodes]
    clusters = clusters_from(
        flags["clusters"], flags["cluster_column"], flags["cluster_pattern"], episode_ids
    )
    return sdk.report_page(
        result,
        baseline,
        policy=policy,
        clusters=clusters,
        num_films=flags["num_films"],
        video_folders=[
            path if path.is_dir() else path.parent
            for path in (result_json, against)
            if path is not None
        ],
        configuration_file=None if project.path is None else str(project.path),
    )
