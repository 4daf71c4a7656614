"""``wbgpu corrupt``: which metrics see which faults on a suite's own videos, through Hydra."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import click

from wbgpu.cli.artifacts import save
from wbgpu.cli.evaluating import quick_imports
from wbgpu.cli.hydra_application import Outcome, Run, checked_output, run_application
from wbgpu.records.corruption_file import corruption_payload
from wbgpu.records.strict_json import to_text, write_text
from wbgpu.report.corruption_markdown import corruption_report, corruption_summary
from wbgpu.report.corruption_plots import ordering_plot, response_plot

if TYPE_CHECKING:
    from omegaconf import DictConfig

_PICTURES = {
    "responses.png": ("Every metric against severity", response_plot),
    "ordering.png": ("Where metrics get worse as they should", ordering_plot),
}


@click.command(
    "corrupt",
    short_help="Which metrics see which faults on your videos: key=value overrides.",
    context_settings={"ignore_unknown_options": True},
    add_help_option=False,
)
@click.option("--json", "as_json", is_flag=True)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def command(command_line: str | None, as_json: bool, arguments: tuple[str, ...]) -> int:
    """Measure every metric against the severity of faults, with Hydra overrides."""
    with quick_imports():
        importlib.import_module("wbgpu.evaluation.corruption_configuration")

    def job(config: DictConfig, run: Run) -> Outcome:
        return _study(config, run, command_line, as_json)

    return run_application("corrupt", arguments, job, as_json=as_json)


def _study(config: DictConfig, run: Run, command_line: str | None, as_json: bool) -> Outcome:
    from wbgpu.evaluation.configuration import check_metric_names
    from wbgpu.evaluation.corruption_configuration import corruption_request_from
    from wbgpu.evaluation.corruption_study import run_study

    output = checked_output(config, run)
    check_metric_names(config, run.overrides)
    request = corruption_request_from(config, command_line=command_line)
    study = run_study(request, show_progress=run.is_here and not as_json)
    payload = corruption_payload(study)
    text = to_text(payload)
    report = corruption_report(study, [(title, file) for file, (title, _) in _PICTURES.items()])
    saved = save(run.folder, {"corruptions.json": text, "corruptions.md": report})
    for file, (_, draw) in _PICTURES.items():
        (run.folder / file).write_bytes(draw(study))
    if output is not None:
        write_text(output, text)
    for episode_id, failure in study.failures.items():
        click.echo(f"Error: {episode_id}: {failure.message}", err=True)
    return Outcome(
        exit_code=2 if study.failures else 0,
        value=None,
        result="corruptions.json",
        text=f"{corruption_summary(study)}\n\nSaved result: {output or saved['corruptions.json']}\n"
        f"Saved report: {saved['corruptions.md']}",
        document={key: value for key, value in payload.items() if key != "configuration"},
    )
