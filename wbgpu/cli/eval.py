"""``wbgpu eval``: the Hydra application over the same configuration as the other commands."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wbgpu.cli.artifacts import save
from wbgpu.cli.eval_frames import command as frames_command
from wbgpu.cli.evaluating import (
    discard_journal,
    exit_code,
    project_values,
    quick_imports,
    run_request,
    save_throughput,
)
from wbgpu.cli.hydra_application import (
    Outcome,
    Run,
    checked_output,
    refuse_shared,
    run_application,
)
from wbgpu.cli.objective import checked_objective, objective_value
from wbgpu.records.project_file import load_project_file
from wbgpu.records.strict_json import to_text, write_text
from wbgpu.records.worldbench import batch_payload, evaluation_payload
from wbgpu.report.console import result_summary
from wbgpu.report.markdown import result_report

if TYPE_CHECKING:
    from omegaconf import DictConfig

_HYDRA_FLAGS_WITH_VALUE = {
    *("--cfg", "-c", "--info", "-i", "--config-dir", "-cd", "--config-name", "-cn"),
    *("--config-path", "-cp", "--experimental-rerun"),
}


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
    """Score a checkpoint with Hydra overrides; or, as ``worldbench eval``, a frame dataset."""
    if _names_dataset(arguments):
        given = [*arguments, *(["--json"] if as_json else [])]
        return int(frames_command.main(given, standalone_mode=False, obj=command_line) or 0)
    with quick_imports():
        importlib.import_module("wbgpu.evaluation.configuration")

    def job(config: DictConfig, run: Run) -> Outcome:
        return _evaluate(config, run, command_line, as_json)

    return run_application("eval", arguments, job, as_json=as_json)


def _names_dataset(arguments: Sequence[str]) -> bool:
    """Whether a path stands among the arguments, as in ``worldbench eval DATASET -p FOLDER``.

    Hydra's own arguments are flags, their values and overrides.
    """
    return any(
        not argument.startswith(("-", "+", "~"))
        and "=" not in argument
        and before not in _HYDRA_FLAGS_WITH_VALUE
        and Path(argument).exists()
        for before, argument in pairwise(["", *arguments])
    ) or any(argument in ("-p", "--predictions") for argument in arguments)


def _evaluate(config: DictConfig, run: Run, command_line: str | None, as_json: bool) -> Outcome:
    from wbgpu.evaluation.configuration import apply_defaults, check_metric_names, request_from
    from wbgpu.evaluation.logger import configured_logger, log_result

    project = load_project_file()
    apply_defaults(config, project_values(project), run.overrides)
    check_metric_names(config, run.overrides)
    output = checked_output(config, run)
    if config.save_predictions is not None:
        refuse_shared(run, "save_predictions", config.save_predictions)
    if config.journal not in (None, "auto"):
        refuse_shared(run, "journal", config.journal)
    request = request_from(config, project.path, command_line=command_line, run_folder=run.folder)
    objective = checked_objective(config, run.overrides, request)
    logger = configured_logger(config, request.checkpoint_name)
    result, timeline = run_request(request, show_progress=run.is_here and not as_json)
    with timeline.span("write"):
        if result.result_type == "evaluation":
            name, payload = "result.json", evaluation_payload(result, gate=project.gate)
        else:
            name, payload = "batch.json", batch_payload(result, gate=project.gate)
        text = to_text(payload)
        saved = save(run.folder, {name: text, "report.md": result_report(result)})
        if output is not None:
            write_text(output, text)
        if logger is not None:
            log_result(logger, result, config.logger_step)
    discard_journal(request)
    lines = [result_summary(result)]
    if project.path is not None:
        lines.append(f"Configuration: {project.path}")
    lines += [f"Saved result: {output or saved[name]}", f"Saved report: {saved['report.md']}"]
    throughput = save_throughput(timeline, run.folder)
    if throughput is not None and as_json:
        click.echo(throughput, err=True)
    return Outcome(
        exit_code=exit_code(result),
        value=objective_value(result, objective),
        result=name,
        text="\n".join(lines if throughput is None else [*lines, throughput]),
        document={key: value for key, value in payload.items() if key != "episodes"},
    )
