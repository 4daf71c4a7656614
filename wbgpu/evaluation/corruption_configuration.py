"""From Hydra configuration to a `CorruptionRequest`."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from wbgpu.corruptions import Corruption
from wbgpu.errors import ConfigurationError, WbgpuError
from wbgpu.evaluation.configuration import request_from
from wbgpu.evaluation.corruption_study import CorruptionRequest
from wbgpu.metrics import TrackMetric
from wbgpu.tracking import EpisodeTracker

# Of ``wbgpu eval`` only: the request is made with these, and its result never says so.
_NOT_HERE = {"name": None, "composite": {}, "live": {"batch_size": 1, "seed": 0}, "model": None}


def corruption_request_from(
    config: DictConfig, configuration_file: Path | None = None, command_line: str | None = None
) -> CorruptionRequest:
    """Check a composed configuration and build the objects it names.

    Args:
        config: as composed.
        configuration_file: the project file whose values are in it.
        command_line: the command that is running, kept with the result.

    Raises:
        ConfigurationError: a value is missing or wrong; the message names the key.
    """
    severities = _severities(OmegaConf.to_container(config.severities, resolve=True))
    seed = config.seed
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise ConfigurationError(f"seed: expected an integer >= 0, got {seed!r}")
    entries = config.get("corruption") or {}
    if not entries:
        raise ConfigurationError("corruption: at least one must be chosen: corruption=[freeze]")
    corruptions = {str(name): _corruption(str(name), entry) for name, entry in entries.items()}
    evaluation = request_from(_as_evaluation(config), configuration_file, (), command_line)
    for name, metric in evaluation.metrics.items():
        if isinstance(metric, TrackMetric) and isinstance(metric.tracker, EpisodeTracker):
            # It would not see a corruption at all, and the metric would pass for blind.
            raise ConfigurationError(
                f"metrics.{name}.tracker: tracks that were made before are not those of corrupted "
                "frames; use a tracker that looks at frames, or leave the metric out"
            )
    return CorruptionRequest(
        evaluation=evaluation,
        corruptions=corruptions,
        severities=severities,
        seed=seed,
    )


def _as_evaluation(config: DictConfig) -> DictConfig:
    merged = OmegaConf.create({**_NOT_HERE, **OmegaConf.to_container(config, resolve=False)})  # type: ignore[dict-item]
    merged.loader.setdefault("num_workers", None)
    return merged


def _corruption(name: str, entry: Any) -> Corruption:
    try:
        made = instantiate(entry)
    except InstantiationException as error:
        if isinstance(error.__cause__, WbgpuError):
            raise ConfigurationError(f"corruption.{name}.{error.__cause__}") from error
        raise ConfigurationError(f"corruption.{name}: cannot be made: {error}") from error
    if not isinstance(made, Corruption):
        raise ConfigurationError(
            f"corruption.{name}: expected a wbgpu.corruptions.Corruption, got {type(made).__name__}"
        )
    return made


def _severities(given: Any) -> tuple[float, ...]:
    numbers = given if isinstance(given, list) else []
    are_numbers = all(isinstance(s, (int, float)) and not isinstance(s, bool) for s in numbers)
    is_rising = are_numbers and all(a < b for a, b in pairwise([0, *numbers]))
    if not numbers or not is_rising or numbers[-1] > 1:
        raise ConfigurationError(
            f"severities: expected rising numbers above 0, at most 1, such as [0.25,0.5,1], got "
            f"{given!r}"
        )
    return tuple(map(float, numbers))
