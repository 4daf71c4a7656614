"""``wbgpu bench``: serve worlds to external models over HTTP, and play them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from wbgpu.cli.artifacts import check_file
from wbgpu.cli.listening import check_address
from wbgpu.errors import ConfigurationError
from wbgpu.records.strict_json import to_text, write_text

_EXTRA = {"starlette", "uvicorn", "sqlalchemy", "httpx", "jinja2"}


@click.group("bench", short_help="Grade external models over HTTP without showing them the truth.")
def command() -> None:
    """Grade external models over HTTP without showing them the truth."""


@command.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", default=8088, show_default=True, type=click.IntRange(0, 65535))
@click.option(
    "--store",
    default="bench.sqlite",
    show_default=True,
    help="SQLite file, made where there is none, or postgresql://user@host/database.",
)
@click.option(
    "--world",
    "worlds",
    multiple=True,
    help="Name, or path of a YAML file; may be repeated. All shipped worlds by default.",
)
@click.option(
    "--paired-episodes",
    is_flag=True,
    help="One seed is one episode for all: pairs can be compared, by contestants you trust.",
)
@click.option("--max-open-sessions", default=256, show_default=True, help="Per client.")
@click.option("--session-hours", default=24.0, show_default=True, help="How long one may last.")
@click.option("--min-steps", default=1, show_default=True, help="Of a scored session.")
@click.option("--max-body-bytes", default=2**20, show_default=True)
@click.option("--max-requests-per-second", default=10_000.0, show_default=True, help="Per client.")
def serve_command(
    host: str,
    port: int,
    store: str,
    worlds: tuple[str, ...],
    paired_episodes: bool,
    session_hours: float,
    **limits: Any,
) -> None:
    """Serve worlds until SIGINT or SIGTERM."""

    def work() -> None:
        from wbgpu.bench.limits import Limits
        from wbgpu.bench.serve import open_bench, serve

        check_address(host, port)
        bench = open_bench(
            store,
            worlds or None,
            Limits(session_seconds=session_hours * 3600, **limits),
            paired_episodes=paired_episodes,
        )
        serve(bench, host, port)

    _with_extra(work)


@command.command("play")
@click.option("--url", default="http://127.0.0.1:8088", show_default=True, help="Of the server.")
@click.option("--world", default="block_to_bowl", show_default=True, help="One of the server's.")
@click.option("--contestant", default="kt", show_default=True, help="As of wbgpu regret.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0))
@click.option("--steps", type=click.IntRange(1), help="The world's own number by default.")
@click.option("--name", help="On the leaderboard; the contestant's by default.")
@click.option("--practice", is_flag=True, help="Nothing counts.")
@click.option(
    "--world-file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Of the server's world, for contestants that need the answer key.",
)
@click.option("--output", type=click.Path(path_type=Path), help="Write the result here as well.")
@click.argument("overrides", nargs=-1)
def play_command(
    url: str,
    world: str,
    contestant: str,
    seed: int,
    steps: int | None,
    name: str | None,
    practice: bool,
    world_file: Path | None,
    output: Path | None,
    overrides: tuple[str, ...],
) -> None:
    """Play a contestant over HTTP and print its result.

    The result is the server's answer; wbgpu gate compares results of wbgpu regret, and not these.

    OVERRIDES are Hydra's, such as contestant.checkpoint=step900.pt2 for an exported module. A
    file of weights needs its class as well: contestant.module=package.file.Class.
    """
    if output is not None:
        check_file(output, "output")

    def work() -> None:
        from wbgpu.bench.client import BenchClient
        from wbgpu.bench.play import play
        from wbgpu.evaluation.remote_contestant import contestant_for

        # One try: a wrong address should be told at once.
        with BenchClient(url, num_tries=1) as client:
            schema = client.schema(world)
            sha256 = client.worlds()[world]["sha256"]
        chosen = (f"contestant={contestant}", *overrides)
        player = contestant_for(schema, sha256, chosen, world_file)
        with BenchClient(url) as client:
            session = client.create_session(
                world, seed, max_steps=steps, practice=practice, name=name or contestant
            )
            result = play(client, session, schema, player)
        text = to_text(result)
        if output is not None:
            write_text(output, text)
        click.echo(text, nl=False)
        pages = url.rstrip("/")
        # Beside the JSON, which programs read.
        click.echo(f"Replay: {pages}/replay?run={result['run_id']}", err=True)
        if not practice:
            click.echo(f"Leaderboard: {pages}/leaderboard", err=True)

    _with_extra(work)


def _with_extra(work: Callable[[], None]) -> None:
    try:
        work()
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        raise ConfigurationError(
            f"wbgpu bench needs the package {error.name}: pip install 'wbgpu[bench]'"
        ) from error
