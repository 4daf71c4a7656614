"""``wbgpu``: the command group and what its exit codes mean.

0 done or PASS; 1 FAIL of a gate, or of verify-run, and nothing else; 2 wrong usage or bad input,
also when some episodes could not be scored; 3 a gate that could not decide, or a run that could be
verified in part only; 70 a fault in wbgpu itself; 130 interrupted; 141 the reader of the output has
gone.
"""

from __future__ import annotations

import importlib
import shlex
import sys
import traceback
from collections.abc import Sequence

import click

from wbgpu.errors import WbgpuError
from wbgpu.version import __version__

_COMMANDS = {
    "eval": "wbgpu.cli.eval",
    "eval-batch": "wbgpu.cli.eval_batch",
    "eval-video": "wbgpu.cli.eval_video",
    "eval-videos": "wbgpu.cli.eval_videos",
    "eval-frames": "wbgpu.cli.eval_frames",
    "validate": "wbgpu.cli.validate",
    "import-lerobot": "wbgpu.cli.import_lerobot",
    "regret": "wbgpu.cli.regret",
    "bench": "wbgpu.cli.bench",
    "corrupt": "wbgpu.cli.corrupt",
    "gate": "wbgpu.cli.gate",
    "compare": "wbgpu.cli.compare",
    "verify-run": "wbgpu.cli.verify_run",
    "report": "wbgpu.cli.report",
    "sweep-report": "wbgpu.cli.sweep_report",
    "dashboard": "wbgpu.cli.dashboard",
    "demo": "wbgpu.cli.demo",
    "conformance": "wbgpu.cli.conformance",
}


class _LazyGroup(click.Group):
    """Imports a command's module when the command is looked up, not before."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = _COMMANDS.get(cmd_name)
        if module is None:
            return None
        command: click.Command = importlib.import_module(module).command
        return command


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="wbgpu")
def group() -> None:
    """Did this world-model checkpoint get better or worse, where, and are we sure?"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit the process with one of the codes above."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        outcome = group.main(
            given, prog_name="wbgpu", standalone_mode=False, obj=shlex.join(["wbgpu", *given])
        )
    except click.ClickException as error:
        error.show()
        return 2
    except WbgpuError as error:
        click.echo(f"Error: {error}", err=True)
        return 2
    except (KeyboardInterrupt, click.Abort):
        click.echo("Interrupted.", err=True)
        return 130
    except SystemExit as ended:
        # click ends so, with 1, when the reader of a pipe has gone; 1 is FAIL and nothing else.
        return 141 if ended.code == 1 else ended.code if isinstance(ended.code, int) else 0
    except OSError as error:
        click.echo(f"Error: {error}", err=True)
        return 2
    except Exception:
        traceback.print_exc()
        click.echo("Error: this is a fault in wbgpu, not a verdict.", err=True)
        return 70
    return outcome if isinstance(outcome, int) else 0


if __name__ == "__main__":
    main()
