"""From the configuration's ``model`` to a `LiveModel`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from hydra.errors import HydraException
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf
from torch import nn

from wbgpu.errors import ConfigurationError, WbgpuError
from wbgpu.evaluation.live_model import LiveModel
from wbgpu.models import WorldModel


@dataclass(frozen=True)
class ConfiguredModel:
    """Makes the model that a configuration names; can be sent to another process.

    Attributes:
        settings: ``_target_`` and its arguments.
    """

    settings: Mapping[str, Any]

    def __call__(self) -> WorldModel:
        """A new model, on the CPU.

        Raises:
            ConfigurationError, InputError: it cannot be made, or does not predict.
        """
        try:
            model = instantiate(dict(self.settings), _convert_="all")
        except (HydraException, ImportError) as error:
            if isinstance(error.__cause__, WbgpuError):
                raise error.__cause__ from error
            raise ConfigurationError(f"model: cannot be made: {error}") from error
        if not isinstance(model, WorldModel):
            raise ConfigurationError(
                f"model: {self.settings.get('_target_')} made {type(model).__name__}, which has no "
                "method predict(context_frames, actions, num_frames)"
            )
        return model


def live_from(config: DictConfig, given: WorldModel | None = None) -> LiveModel | None:
    """The model of a composed configuration; ``None`` where predictions are saved ones.

    Args:
        config: as composed.
        given: a model that there is already, instead of a configured one. A module is evaluated
            where it is when the device is ``auto``.

    Raises:
        ConfigurationError: a value is wrong, or only makes sense with a model; the message names
            the key.
    """
    model = config.get("model")
    actions = actions_from(config)
    save = _path(config, "save_predictions", "save_predictions")
    if given is not None:
        return _live_object(config, given, actions, save)
    if model is None:
        if save is not None:
            raise ConfigurationError(
                "save_predictions: there are saved predictions already; it is for a model that "
                "predicts (model=...)"
            )
        return None
    if not isinstance(model, DictConfig) or "_target_" not in model:
        raise ConfigurationError(f"model: expected an option of configs/model, got {model!r}")
    settings = OmegaConf.to_container(model, resolve=True)
    assert isinstance(settings, dict)
    checkpoint = _path(model, "checkpoint", "model.checkpoint")
    target = str(settings.get("module") or settings["_target_"])
    return LiveModel(
        make=ConfiguredModel({str(key): value for key, value in settings.items()}),
        name=_snake_case(target.rpartition(".")[2]) if checkpoint is None else checkpoint.stem,
        checkpoint=checkpoint,
        actions=actions,
        save_predictions=save,
        batch_size=_int(config, "batch_size", 1),
        seed=_int(config, "seed", 0),
    )


def actions_from(config: DictConfig) -> Path | None:
    """The folder of saved actions of a composed configuration, if it names one."""
    return _path(config.suite, "actions", "suite.actions")


def _live_object(
    config: DictConfig, model: WorldModel, actions: Path | None, save: Path | None
) -> LiveModel:
    if config.get("model") is not None:
        raise ConfigurationError("model: given twice, as an object and in the configuration")
    if not isinstance(model, WorldModel):
        raise ConfigurationError(
            f"model: {type(model).__name__} has no method predict(context_frames, actions, "
            "num_frames)"
        )
    if isinstance(model, nn.Module) and config.device == "auto":
        tensor = next(chain(model.parameters(), model.buffers()), None)
        config.device = "auto" if tensor is None else str(tensor.device)
    return LiveModel(
        make=lambda: model,
        name=_snake_case(type(model).__name__),
        actions=actions,
        save_predictions=save,
        batch_size=_int(config, "batch_size", 1),
        seed=_int(config, "seed", 0),
    )


def _path(node: DictConfig, key: str, name: str) -> Path | None:
    value = node.get(key)
    if value is not None and not isinstance(value, str):
        raise ConfigurationError(f"{name}: expected a path, got {value!r}")
    return None if value is None else Path(value)


def _int(config: DictConfig, key: str, default: int) -> int:
    value = (config.get("live") or {}).get(key, default)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ConfigurationError(f"live.{key}: expected a whole number, got {value!r}")
    return value


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
