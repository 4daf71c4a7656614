"""A contestant for a world of which a server tells the names only. Imports no torch by itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from wbgpu.contestants import Contestant
from wbgpu.errors import ConfigurationError
from wbgpu.evaluation.composition import composed, explain
from wbgpu.evaluation.prequential import answer_key
from wbgpu.evaluation.regret_configuration import made_contestant
from wbgpu.records.world import Schema
from wbgpu.worlds import load_world

_CONFIG = "regret"
_FILLED_IN = {"contestant.schema", "contestant.answer_key"}


def contestant_for(
    schema: Schema, sha256: str, overrides: Sequence[str], world_file: Path | None = None
) -> Contestant:
    """Compose and build a contestant.

    Args:
        schema: of the server's world.
        sha256: of the server's world.
        overrides: Hydra's, such as ``contestant=kt``.
        world_file: the world, for contestants that are given the truth; the shipped one of that
            name by default.

    Raises:
        ConfigurationError: the overrides cannot be composed, a value is missing, what they name
            cannot be made, or the world here is not the server's.
    """
    try:
        config = composed(_CONFIG, tuple(overrides))
    except (HydraException, OmegaConfBaseException) as error:
        raise explain(error, overrides, _CONFIG) from error
    own = OmegaConf.create({"contestant": config.contestant})
    if missing := sorted(OmegaConf.missing_keys(own) - _FILLED_IN):
        raise ConfigurationError(f"missing value for {missing[0]}; add {missing[0]}=...")
    plain: Any = OmegaConf.to_container(config.contestant, resolve=True)
    given: dict[str, Any] = {"schema": schema}
    if "answer_key" in plain:
        world = load_world(world_file or schema.world)
        if world.sha256 != sha256:
            raise ConfigurationError(
                f"world-file: the server's {schema.world!r} is another world than the one here"
            )
        given["answer_key"] = answer_key(world)
    return made_contestant(plain, given)
