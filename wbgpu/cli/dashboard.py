"""``wbgpu dashboard``: a folder of runs in the browser."""

from __future__ import annotations

from pathlib import Path

import click

from wbgpu.cli.listening import check_address
from wbgpu.cli.policy_options import config_option, policy_from, policy_option
from wbgpu.errors import ConfigurationError, InputError
from wbgpu.records.project_file import load_project_file

_EXTRA = {"starlette", "uvicorn"}


@click.command("dashboard", short_help="Serve the reports of a folder of runs, always fresh.")
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", default=8765, show_default=True, type=click.IntRange(1, 65535))
@click.option("--no-open", is_flag=True, help="Do not open a browser.")
@policy_option
@config_option
@click.option(
    "--films",
    "num_films",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    help="Of a page: worst and best episodes shown with frames and a video, of each.",
)
def command(
    target: Path,
    host: str,
    port: int,
    no_open: bool,
    policy: str,
    config_path: Path | None,
    num_films: int,
) -> None:
    """Serve the runs below TARGET until Ctrl-C; TARGET may also be one result.

    Whoever reaches the address can read the runs; by default only this machine can. Verdicts are
    those of wbgpu gate in the current folder: its wbgpu.yml counts as it is at the start.
    """
    if not target.exists():
        raise InputError(f"{target}: there is no such folder or file")
    project = load_project_file(config_path)
    required = {"required_metrics": project.profile.required_metrics}
    settings = policy_from(policy, project.gate, required)
    try:
        from wbgpu.dashboard.serve import address_of, serve
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        raise ConfigurationError(
            f"wbgpu dashboard needs the package {error.name}: pip install 'wbgpu[dashboard]'"
        ) from error
    check_address(host, port)
    click.echo(f"Dashboard of {target}: {address_of(host, port)} (Ctrl-C ends it)")
    if project.path is not None:
        click.echo(f"Configuration: {project.path}")
    serve(
        target,
        host=host,
        port=port,
        open_browser=not no_open,
        num_films=num_films,
        policy=settings,
        configuration_file=None if project.path is None else str(project.path),
    )
