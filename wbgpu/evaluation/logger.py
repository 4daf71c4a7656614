"""Give a result's numbers to one of Lightning's loggers, beside the curves of the training."""

from __future__ import annotations

import warnings
from typing import Any

from hydra.errors import HydraException
from hydra.utils import instantiate
from lightning.pytorch.loggers import Logger
from omegaconf import DictConfig

from wbgpu.aggregate.logged_values import logged_values
from wbgpu.errors import ConfigurationError
from wbgpu.records.suite import SuiteResult


def configured_logger(config: DictConfig, checkpoint_name: str) -> Logger | None:
    """The logger that the configuration names, if it names one; nothing is written yet.

    Args:
        config: composed; its ``logger`` is a Lightning logger's ``_target_`` and arguments.
        checkpoint_name: the curve's name, where the configuration has none.

    Raises:
        ConfigurationError: it is no logger, cannot be made, or its package is not installed.
    """
    settings = config.get("logger")
    if settings is None:
        return None
    if not isinstance(settings, DictConfig) or "_target_" not in settings:
        raise ConfigurationError(
            f"logger: expected csv, tensorboard, or a _target_ with its arguments, got {settings!r}"
        )
    step = config.logger_step
    if not isinstance(step, int) or isinstance(step, bool) or step < 0:
        raise ConfigurationError(f"logger_step: expected a step, 0 or above, got {step!r}")
    named: dict[str, Any] = {}
    if "name" in settings and settings.name is None:
        named["name"] = checkpoint_name
    try:
        logger = instantiate(settings, **named)
    except (HydraException, ImportError) as error:
        raise ConfigurationError(f"logger: cannot make it: {error.__cause__ or error}") from error
    if not isinstance(logger, Logger):
        raise ConfigurationError(
            f"logger: {settings._target_} makes a {type(logger).__name__}, no logger of Lightning's"
        )
    return logger


def log_result(logger: Logger, result: SuiteResult, step: int) -> None:
    """Log what the callback logs during training, under the same names.

    Args:
        logger: of Lightning's.
        result: of the checkpoint.
        step: training steps that the checkpoint has behind it.
    """
    values = {f"wbgpu/{name}": value for name, value in logged_values(result).items()}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"lightning\.")
        logger.log_metrics(values, step)
        logger.finalize("success")
