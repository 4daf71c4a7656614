"""A click command that is a Hydra application: overrides, ``--multirun``, ``--cfg job``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wbgpu.cli.artifacts import check_file
from wbgpu.errors import ConfigurationError, WbgpuError

if TYPE_CHECKING:
    from omegaconf import DictConfig

Job = Callable[["DictConfig", Path], int]


def run_application(config_name: str, arguments: tuple[str, ...], job: Job) -> int:
    """Run ``job`` for the configuration, or for each of a sweep; returns the highest exit code.

    Args:
        config_name: of ``configs/``, which is also the command's name.
        arguments: as Hydra's command line has them.
        job: is given the composed configuration and its run folder. An error that it raises is
            printed, counts as exit code 2, and does not stop the other jobs of a sweep.

    Raises:
        ConfigurationError: the configuration cannot be composed.
    """
    import hydra
    from hydra.core.hydra_config import HydraConfig
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    from wbgpu.evaluation.composition import explain

    codes: list[int] = []
    is_composed = False

    def guarded(config: DictConfig) -> None:
        nonlocal is_composed
        is_composed = True
        folder = Path(HydraConfig.get().runtime.output_dir)
        try:
            codes.append(job(config, folder))
        except (WbgpuError, OSError) as error:
            click.echo(f"Error: {error}", err=True)
            codes.append(2)
        finally:
            # Also when it was interrupted: Hydra has made the folder already.
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()

    application = hydra.main(
        config_path="pkg://wbgpu.configs", config_name=config_name, version_base="1.3"
    )
    try:
        with _as_hydra_expects(f"wbgpu {config_name}", arguments):
            application(guarded)()
    except (HydraException, OmegaConfBaseException) as error:
        raise explain(error, arguments, config_name) from error
    except ValueError as error:
        # So Hydra refuses `group=null`, for one; in a job it would be a fault.
        if is_composed:
            raise
        raise explain(error, arguments, config_name) from error
    return max(codes, default=0)


def checked_output(config: DictConfig, folder: Path) -> Path | None:
    """The job's ``output``, where its result is written besides its run folder.

    Raises:
        ConfigurationError: every job of a sweep would write it, or it cannot be written.
    """
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    if config.output is None:
        return None
    output, hydra_config = Path(config.output), HydraConfig.get()
    overrides = list(hydra_config.overrides.task)
    if hydra_config.mode == RunMode.MULTIRUN and not _differs_by_job(overrides, "output"):
        raise ConfigurationError(
            f"output: every job of the sweep would write {output}; leave it out, each job's "
            f"result is in its folder, such as {folder}"
        )
    check_file(output, "output")
    return output


def _differs_by_job(overrides: Sequence[str], key: str) -> bool:
    """Whether the sweep gives ``key`` another value in each job."""
    given = next((o for o in overrides if o.startswith(f"{key}=")), "")
    return any(o.startswith(f"{key}=") and o != given for o in sys.argv) or "${" in given


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
