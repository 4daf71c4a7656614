"""``wbgpu regret``: what a contestant loses in a world, as a Hydra application."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from wbgpu.cli.artifacts import save
from wbgpu.cli.hydra_application import Outcome, Run, checked_output, run_application
from wbgpu.records.regret_file import regret_payload
from wbgpu.records.strict_json import to_text, write_text
from wbgpu.report.regret_console import regret_summary
from wbgpu.report.regret_markdown import regret_report

if TYPE_CHECKING:
    from omegaconf import DictConfig


_MODULE_ARGUMENTS = "contestant.arguments"
"""What is below belongs to the user's module, so we know no keys of it and every one is new."""


@click.command(
    "regret",
    short_help="Regret in nats of a contestant in a world: key=value overrides, --multirun.",
    context_settings={"ignore_unknown_options": True},
    add_help_option=False,
)
@click.option("--json", "as_json", is_flag=True)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def command(command_line: str | None, as_json: bool, arguments: tuple[str, ...]) -> int:
    """Play a contestant in a world with Hydra overrides."""

    def job(config: DictConfig, run: Run) -> Outcome:
        return _play(config, run, command_line)

    arguments = tuple(
        f"++{argument}" if re.match(rf"{re.escape(_MODULE_ARGUMENTS)}[.=]", argument) else argument
        for argument in arguments
    )
    return run_application("regret", arguments, job, as_json=as_json)


def _play(config: DictConfig, run: Run, command_line: str | None) -> Outcome:
    from hydra.core.hydra_config import HydraConfig

    from wbgpu.evaluation.prequential import run_regret
    from wbgpu.evaluation.regret_configuration import regret_request_from

    output = checked_output(config, run)
    request = regret_request_from(config)
    name = config.name or HydraConfig.get().runtime.choices["contestant"]
    result = run_regret(
        request.world,
        request.contestant,
        request.seeds,
        request.num_steps,
        name=str(name),
        batch_size=request.batch_size,
        configuration=request.configuration,
        command=command_line,
    )
    payload = regret_payload(result)
    text = to_text(payload)
    saved = save(run.folder, {"result.json": text, "report.md": regret_report(result)})
    if output is not None:
        write_text(output, text)
    return Outcome(
        exit_code=0,
        value=result.expected_regret_per_step.mean,
        result="result.json",
        text=f"{regret_summary(result)}\n\nSaved result: {output or saved['result.json']}\n"
        f"Saved report: {saved['report.md']}",
        document={key: value for key, value in payload.items() if key != "seeds"},
    )
