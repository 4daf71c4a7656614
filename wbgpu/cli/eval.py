"""``wbgpu eval``: the Hydra application over the same configuration as the other commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wbgpu.cli.artifacts import check_file, save
from wbgpu.cli.evaluating import (
    exit_code,
    project_values,
    quick_imports,
    report_throughput,
    run_request,
)
from wbgpu.errors import ConfigurationError, WbgpuError
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
        import hydra
        from hydra.core.hydra_config import HydraConfig
        from hydra.errors import HydraException
        from omegaconf.errors import OmegaConfBaseException

        from wbgpu.evaluation.configuration import explain

    codes: list[int] = []

    def job(config: DictConfig) -> None:
        folder = Path(HydraConfig.get().runtime.output_dir)
        try:
            codes.append(_evaluate(config, folder, command_line, as_json))
        except (WbgpuError, OSError) as error:
            # The other jobs of a sweep go on.
            click.echo(f"Error: {error}", err=True)
            codes.append(2)
            if not any(folder.iterdir()):
                folder.rmdir()

    application = hydra.main(
        config_path="pkg://wbgpu.configs", config_name="eval", version_base="1.3"
    )
    try:
        with _as_hydra_expects(arguments):
            application(job)()
    except (HydraException, OmegaConfBaseException) as error:
        raise explain(error, arguments) from error
    return max(codes, default=0)


def _evaluate(config: DictConfig, folder: Path, command_line: str | None, as_json: bool) -> int:
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    from wbgpu.evaluation.configuration import apply_defaults, check_metric_names, request_from

    hydra_config = HydraConfig.get()
    overrides = list(hydra_config.overrides.task)
    project = load_project_file()
    apply_defaults(config, project_values(project), overrides)
    check_metric_names(config, overrides)
    output = None if config.output is None else Path(config.output)
    if output is not None:
        if hydra_config.mode == RunMode.MULTIRUN and not _differs_by_job(overrides, "output"):
            raise ConfigurationError(
                f"output: every job of the sweep would write {output}; leave it out, each job's "
                f"result is in its folder, such as {folder}"
            )
        check_file(output, "output")
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


def _differs_by_job(overrides: Sequence[str], key: str) -> bool:
    """Whether the sweep gives ``key`` another value in each job."""
    given = next((o for o in overrides if o.startswith(f"{key}=")), "")
    return any(o.startswith(f"{key}=") and o != given for o in sys.argv) or "${" in given


@contextmanager
def _as_hydra_expects(arguments: tuple[str, ...]) -> Iterator[None]:
    """Hydra reads sys.argv, and unless told otherwise abridges errors and exits with 1."""
    theirs, full_error = sys.argv, os.environ.get("HYDRA_FULL_ERROR")
    sys.argv = ["wbgpu eval", *arguments]
    os.environ["HYDRA_FULL_ERROR"] = "1"
    try:
        yield
    finally:
        sys.argv = theirs
        if full_error is None:
            del os.environ["HYDRA_FULL_ERROR"]
        else:
            os.environ["HYDRA_FULL_ERROR"] = full_error
