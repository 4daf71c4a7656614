"""From Hydra configuration to a game of a contestant in a world. Imports no torch by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from wbgpu.contestants import Contestant
from wbgpu.errors import ConfigurationError, WbgpuError
from wbgpu.evaluation.prequential import answer_key
from wbgpu.worlds import WorldDefinition, load_world

MAX_SEEDS = 10_000_000
"""More episodes than any result holds; their seeds alone would fill memory."""

_GIVEN = ("schema", "answer_key")
"""Keys of a contestant's configuration that are filled in here, where they are asked for."""


@dataclass(frozen=True)
class RegretRequest:
    """One run of :func:`wbgpu.evaluation.prequential.run_regret`; attributes are its arguments."""

    world: WorldDefinition
    contestant: Contestant
    seeds: Sequence[int]
    num_steps: int
    batch_size: int
    configuration: dict[str, Any]


def regret_request_from(config: DictConfig) -> RegretRequest:
    """Check a composed configuration and build what it names.

    Raises:
        ConfigurationError: a value is missing or wrong; the message names the key.
        InputError: a checkpoint cannot be loaded.
    """
    if not isinstance(config.get("world"), DictConfig):
        raise ConfigurationError("world: expected a world, such as world=block_to_bowl")
    if not isinstance(config.get("contestant"), DictConfig):
        raise ConfigurationError("contestant: expected a contestant, such as contestant=kt")
    missing = [key for key in sorted(OmegaConf.missing_keys(config)) if not _is_given(key)]
    if missing:
        raise ConfigurationError(f"missing value for {', '.join(missing)}; set {missing[0]}=...")
    plain = OmegaConf.to_container(config, resolve=True)
    assert isinstance(plain, dict)
    world = load_world(plain["world"])
    seeds = _seeds(plain["seeds"], _integer(plain, "first_seed", 0))
    return RegretRequest(
        world=world,
        contestant=contestant_from(plain["contestant"], world),
        seeds=seeds,
        num_steps=_integer(plain, "steps", 1),
        batch_size=_integer(plain, "batch_size", 1),
        configuration={
            "contestant": _without_given(plain["contestant"]),
            "batch_size": plain["batch_size"],
        },
    )


def contestant_from(config: Mapping[str, Any], world: WorldDefinition) -> Contestant:
    """Build a contestant, and give it the schema or the answer key if its configuration asks so.

    Raises:
        ConfigurationError: what the configuration names cannot be made, or is no contestant.
        InputError: a checkpoint cannot be loaded.
    """
    return made_contestant(config, {"schema": world.schema, "answer_key": answer_key(world)})


def made_contestant(config: Mapping[str, Any], given: Mapping[str, Any]) -> Contestant:
    """As :func:`contestant_from`; ``given`` is what a contestant may ask for, by key."""
    asked = {key: value for key, value in given.items() if key in config}
    own = _without_given(config)
    try:
        # Not as arguments of instantiate, which would make mappings of dataclasses.
        made = instantiate({**own, "_partial_": True})(**asked)
    except WbgpuError:
        raise
    except Exception as error:
        cause = error.__cause__
        if isinstance(error, InstantiationException) and isinstance(cause, WbgpuError):
            raise cause from None
        raise ConfigurationError(f"contestant: cannot build what it names: {error}") from error
    if not isinstance(made, Contestant):
        raise ConfigurationError(
            f"contestant: expected reset, predict and learn, which {type(made).__name__} lacks"
        )
    return made


def _without_given(config: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in config.items() if key not in _GIVEN}


def _is_given(key: str) -> bool:
    return key in {f"contestant.{name}" for name in _GIVEN}


def _seeds(value: Any, first_seed: int) -> Sequence[int]:
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 1:
            raise ConfigurationError(f"seeds: expected at least 1, got {value}")
        if value > MAX_SEEDS:
            raise ConfigurationError(f"seeds: expected at most {MAX_SEEDS:,}, got {value:,}")
        return range(first_seed, first_seed + value)
    if not isinstance(value, list) or not all(type(seed) is int for seed in value):
        raise ConfigurationError(
            f"seeds: expected a number of episodes or a list of seeds, got {value!r}"
        )
    if first_seed:
        raise ConfigurationError("first_seed: seeds are listed, so leave first_seed out")
    return value


def _integer(plain: dict[Any, Any], key: str, minimum: int) -> int:
    value = plain[key]
    if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
        raise ConfigurationError(f"{key}: expected an integer >= {minimum}, got {value!r}")
    return value
