"""A click command that is a Hydra application: overrides, ``--multirun``, ``--cfg job``."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wbgpu.cli.artifacts import check_file
from wbgpu.cli.own_modules import modules_of_this_folder
from wbgpu.cli.sweep_jobs import end_of_sweep, run_sweep_job
from wbgpu.errors import ConfigurationError, WbgpuError
from wbgpu.records.strict_json import to_text

if TYPE_CHECKING:
    from omegaconf import DictConfig


@dataclass(frozen=True)
class Run:
    """One job of an application.

    Attributes:
        folder: for its files.
        arguments: of the command line, as Hydra has them; those of a sweep name several values.
        overrides: of this job.
        is_sweep: whether it is one of several.
        is_here: whether it runs in the command's process, where no other job does meanwhile.
    """

    folder: Path
    arguments: tuple[str, ...]
    overrides: tuple[str, ...]
    is_sweep: bool
    is_here: bool = True


@dataclass(frozen=True)
class Outcome:
    """What a job says at its end.

    Attributes:
        exit_code: 0, or 2 where its result lacks something.
        value: what an optimising sweeper is given; ``None`` where the result does not have it.
        result: its result's file name in its folder.
        text: for a person.
        document: for ``--json``.
    """

    exit_code: int
    value: float | None
    result: str
    text: str
    document: Mapping[str, Any]


Job = Callable[["DictConfig", Run], Outcome]


def run_application(
    config_name: str, arguments: tuple[str, ...], job: Job, *, as_json: bool
) -> int:
    """Run ``job`` for the configuration, or for each of a sweep; returns the highest exit code.

    Args:
        config_name: of ``configs/``, which is also the command's name.
        arguments: as Hydra's command line has them.
        job: is given the composed configuration. Whatever it raises in a sweep is that job's
            failure and does not stop the others.
        as_json: print one JSON document and nothing else.

    Raises:
        ConfigurationError: the configuration cannot be composed.
        WbgpuError, OSError: raised by the job, where it is the only one.
    """
    import hydra
    from hydra.core.hydra_config import HydraConfig
    from hydra.errors import HydraException
    from hydra.types import RunMode
    from omegaconf.errors import OmegaConfBaseException

    from wbgpu.evaluation.composition import explain
    from wbgpu.evaluation.sweep_folder import sweep_folders

    codes: list[int] = []
    num_processes = os.environ.get("WORLD_SIZE", "1")
    sweep_id = secrets.token_hex(8)
    is_composed = False

    # Launchers pickle it for other processes, where `codes` is a copy.
    def task(config: DictConfig) -> float | None:
        nonlocal is_composed
        is_composed = True
        hydra_config = HydraConfig.get()
        run = Run(
            folder=Path(hydra_config.runtime.output_dir),
            arguments=arguments,
            overrides=tuple(hydra_config.overrides.task),
            is_sweep=hydra_config.mode == RunMode.MULTIRUN,
            is_here=str(hydra_config.launcher._target_).endswith(".BasicLauncher"),
        )
        if run.is_sweep:
            if num_processes != "1":
                raise ConfigurationError(
                    f"WORLD_SIZE={num_processes}: each of these processes would run the whole "
                    "sweep; start it as one, and let its jobs start theirs: trainer.devices=N"
                )
            return run_sweep_job(config, run, job, config_name, sweep_id)
        codes.append(_run_alone(config, run, job, as_json=as_json))
        return None

    application = hydra.main(
        config_path="pkg://wbgpu.configs", config_name=config_name, version_base="1.3"
    )
    with sweep_folders() as folders:
        try:
            with modules_of_this_folder(), _as_hydra_expects(f"wbgpu {config_name}", arguments):
                application(task)()
        except (HydraException, OmegaConfBaseException) as error:
            raise explain(error, arguments, config_name) from error
        except WbgpuError:
            raise
        except Exception as error:
            if folders:
                # Of the launcher: a worker was killed, or a sweeper was given no number.
                codes.append(2)
                click.echo(f"Error: the sweep has ended early: {_described(error)}", err=True)
            elif isinstance(error, ValueError) and not is_composed:
                # So Hydra refuses `group=null`, for one; in a job it would be a fault.
                raise explain(error, arguments, config_name) from error
            else:
                raise
        finally:
            if folders:
                codes.append(end_of_sweep(folders[-1], sweep_id, as_json=as_json))
    return max(codes, default=0)


def checked_output(config: DictConfig, run: Run) -> Path | None:
    """The job's ``output``, where its result is written besides its run folder.

    Raises:
        ConfigurationError: every job of a sweep would write it, or it cannot be written.
    """
    if config.output is None:
        return None
    output = Path(config.output)
    refuse_shared(run, "output", output)
    check_file(output, "output")
    return output


def refuse_shared(run: Run, key: str, path: str | Path) -> None:
    """Refuse a path that every job of a sweep would write.

    Raises:
        ConfigurationError: this is a sweep, which gives ``key`` the same value in each job.
    """
    if run.is_sweep and not _differs_by_job(run, key):
        raise ConfigurationError(
            f"{key}: every job of the sweep would write {path}; leave it out, each job's files are "
            f"in its folder, such as {run.folder}, or name it by the job: "
            f"'{key}=${{hydra:runtime.output_dir}}/NAME'"
        )


def _run_alone(config: DictConfig, run: Run, job: Job, *, as_json: bool) -> int:
    try:
        outcome = job(config, run)
    finally:
        # Also when it was interrupted: Hydra has made the folder already.
        if run.folder.is_dir() and not any(run.folder.iterdir()):
            run.folder.rmdir()
    click.echo(to_text(outcome.document) if as_json else outcome.text, nl=not as_json)
    return outcome.exit_code


def _differs_by_job(run: Run, key: str) -> bool:
    """Whether the sweep gives ``key`` another value in each job."""
    given = next((o for o in run.overrides if o.startswith(f"{key}=")), "")
    return any(o.startswith(f"{key}=") and o != given for o in run.arguments) or "${" in given


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


@contextmanager
def _as_hydra_expects(program: str, arguments: tuple[str, ...]) -> Iterator[None]:
    """Hydra reads sys.argv, and unless told otherwise abridges errors and exits with 1."""
    theirs, full_error = sys.argv, os.environ.get("HYDRA_FULL_ERROR")
    sys.argv = [program, *arguments]
    os.environ["HYDRA_FULL_ERROR"] = "1"
    try:
        yield
    finally:
        sys.argv = theirs
        if full_error is None:
            del os.environ["HYDRA_FULL_ERROR"]
        else:
            os.environ["HYDRA_FULL_ERROR"] = full_error
