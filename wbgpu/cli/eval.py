"""``wbgpu eval``: the Hydra application over the same configuration as the other commands."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wbgpu.cli.artifacts import save
from wbgpu.cli.evaluating import (
    exit_code,
    project_values,
    quick_imports,
    report_throughput,
    run_request,
)
from wbgpu.cli.hydra_application import checked_output, run_application
from wbgpu.records.project_file import load_project_file
from wbgpu.records.strict_json import to_text, write_text
from wbgpu.records.worldbench import batch_payload, evaluation_payload
from wbgpu.report.console import result_summary
from wbgpu.report.markdown import result_report

if TYPE_CHECKING:
    from omegaconf import DictConfig


@click.command(
    "eval",
    short_help="Score a checkpoint through Hydra: key=value overrides, --multirun, --cfg job.",
    context_settings={"ignore_unknown_options": True},
    add_help_option=False,
)
@click.option("--json", "as_json", is_flag=True)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def command(command_line: str | None, as_json: bool, arguments: tuple[str, ...]) -> int:
    """Score a checkpoint with Hydra overrides."""
    with quick_imports():
        importlib.import_module("wbgpu.evaluation.configuration")

    def job(config: DictConfig, folder: Path) -> int:
        return _evaluate(config, folder, command_line, as_json)

    return run_application("eval", arguments, job)


def _evaluate(config: DictConfig, folder: Path, command_line: str | None, as_json: bool) -> int:
    from hydra.core.hydra_config import HydraConfig

    from wbgpu.evaluation.configuration import apply_defaults, check_metric_names, request_from

    overrides = list(HydraConfig.get().overrides.task)
    project = load_project_file()
    apply_defaults(config, project_values(project), overrides)
    check_metric_names(config, overrides)
    output = checked_output(config, folder)
    request = request_from(config, project.path, command_line=command_line)
    result, timeline = run_request(request, show_progress=not as_json)
    with timeline.span("write"):
        if result.result_type == "evaluation":
            name, payload = "result.json", evaluation_payload(result, gate=project.gate)
        else:
            name, payload = "batch.json", batch_payload(result, gate=project.gate)
        text = to_text(payload)
        saved = save(folder, {name: text, "report.md": result_report(result)})
        if output is not None:
            write_text(output, text)
    if as_json:
        document = {key: value for key, value in payload.items() if key != "episodes"}
        click.echo(to_text(document), nl=False)
        report_throughput(timeline, folder, as_json=True)
        return exit_code(result)
    click.echo(result_summary(result))
    if project.path is not None:
        click.echo(f"Configuration: {project.path}")
    click.echo(f"Saved result: {output or saved[name]}")
    click.echo(f"Saved report: {saved['report.md']}")
    report_throughput(timeline, folder, as_json=False)
    return exit_code(result)
