"""Find a world: by the name of one that is shipped, by path, or from a mapping."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from wbgpu.errors import ConfigurationError
from wbgpu.records.yaml_file import read_yaml
from wbgpu.worlds.definition import WorldDefinition, parse_world
from wbgpu.worlds.entry import unknown

_SUFFIXES = (".yaml", ".yml")


def world_names() -> list[str]:
    """Names of the worlds that are shipped, in alphabetical order."""
    return sorted(
        entry.name.removesuffix(".yaml")
        for entry in (files("wbgpu.configs") / "world").iterdir()
        if entry.name.endswith(".yaml")
    )


def load_world(world: str | Path | Mapping[str, Any]) -> WorldDefinition:
    """Load and check a world.

    Args:
        world: a name of :func:`world_names`; a path to a YAML file, which ends in ``.yaml`` or
            ``.yml`` or is a :class:`~pathlib.Path`; or the document itself as a mapping.

    Raises:
        ConfigurationError: there is no such world, or its document is wrong; the message names the
            file, the place in it, what was expected and what was found.
    """
    if isinstance(world, Mapping):
        return parse_world(dict(world), f"world {world.get('name', 'without a name')!r}")
    if not isinstance(world, (str, Path)):
        raise ConfigurationError(
            f"world: expected a name, a path or a mapping, got {world!r}; names: "
            f"{', '.join(world_names())}"
        )
    if isinstance(world, Path) or world.endswith(_SUFFIXES):
        path = Path(world)
        if not path.exists():
            raise ConfigurationError(f"world file does not exist: {path}")
        return parse_world(read_yaml(path), str(path))
    names = world_names()
    if world not in names:
        raise ConfigurationError(f"{unknown(world, 'world', names)}; or give the path of a file")
    with as_file(files("wbgpu.configs") / "world" / f"{world}.yaml") as path:
        return parse_world(read_yaml(path), f"world/{world}.yaml")
