"""``wbgpu dashboard``: a folder of runs in the browser."""

from __future__ import annotations

from pathlib import Path

import click

from wbgpu import sdk
from wbgpu.cli.listening import check_address
from wbgpu.errors import ConfigurationError

_EXTRA = {"starlette", "uvicorn"}


@click.command("dashboard", short_help="Serve the reports of a folder of runs, always fresh.")
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", default=8765, show_default=True, type=click.IntRange(1, 65535))
@click.option("--no-open", is_flag=True, help="Do not open a browser.")
@click.option(
    "--policy",
    default="worldbench",
    show_default=True,
    metavar="NAME|FILE.yaml",
    help="Policy of verdicts on comparisons, as of wbgpu gate.",
)
@click.option(
    "--films",
    "num_films",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    help="Worst and best episodes shown with frames and a video, of each.",
)
def command(target: Path, host: str, port: int, no_open: bool, policy: str, num_films: int) -> None:
    """Serve the runs below TARGET until Ctrl-C; TARGET may also be one result.

    Whoever reaches the address can read the runs; by default only this machine can.
    """
    sdk.load_policy(policy)
    try:
        from wbgpu.dashboard.serve import serve
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        raise ConfigurationError(
            f"wbgpu dashboard needs the package {error.name}: pip install 'wbgpu[dashboard]'"
        ) from error
    check_address(host, port)
    click.echo(f"Dashboard of {target}: http://{host}:{port}/ (Ctrl-C ends it)")
    serve(
        target,
        host=host,
        port=port,
        open_browser=not no_open,
        num_films=num_films,
        policy=policy,
    )
