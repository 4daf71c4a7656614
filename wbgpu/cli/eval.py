"""``wbgpu eval``: the Hydra application over the same configuration as the other commands."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wbgpu.cli.artifacts import check_file, save
from wbgpu.cli.evaluating import exit_code, quick_imports
from wbgpu.errors import WbgpuError
from wbgpu.records.strict_json import write_text
from wbgpu.records.worldbench import batch_payload
from wbgpu.report.console import result_summary
from wbgpu.report.markdown import result_report

if TYPE_CHECKING:
    from omegaconf import DictConfig


@click.command(
    "eval",
    short_help="The same through Hydra: key=value overrides, --multirun, --cfg job.",
    context_settings={"ignore_unknown_options": True},
    add_help_option=False,
)
@click.option("--json", "as_json", is_flag=True)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(as_json: bool, arguments: tuple[str, ...]) -> int:
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
            codes.append(_evaluate(config, folder, as_json))
        except WbgpuError as error:
            # The other jobs of a sweep go on.
            click.echo(f"Error: {error}", err=True)
            codes.append(2)

    # Hydra prints its own abridged errors and exits with 1, the code of a gate's FAIL.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    sys.argv = ["wbgpu eval", *arguments]
    application = hydra.main(
        config_path="pkg://wbgpu.configs", config_name="eval", version_base="1.3"
    )
    try:
        application(job)()
    except (HydraException, OmegaConfBaseException) as error:
        raise explain(error) from error
    return max(codes, default=0)


def _evaluate(config: DictConfig, folder: Path, as_json: bool) -> int:
    from wbgpu.evaluation.configuration import request_from
    from wbgpu.evaluation.run import run

    output = None if config.output is None else Path(config.output)
    if output is not None:
        check_file(output, "output")
    result = run(request_from(config), show_progress=not as_json)
    payload = batch_payload(result)
    text = json.dumps(payload, indent=2, allow_nan=False) + "\n"
    saved = save(folder, {"batch.json": text, "report.md": result_report(result)})
    if output is not None:
        write_text(output, text)
    if as_json:
        document = {key: value for key, value in payload.items() if key != "episodes"}
        click.echo(json.dumps(document, indent=2, allow_nan=False))
    else:
        click.echo(result_summary(result))
        click.echo(f"Saved batch result: {output or saved['batch.json']}")
        click.echo(f"Saved report: {saved['report.md']}")
    return exit_code(result)
