"""Options that say which episodes belong together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from wbgpu.errors import ConfigurationError
from wbgpu.records.episode_clusters import clusters_by_pattern, read_clusters

_Command = TypeVar("_Command", bound=Callable[..., Any])

CLUSTERS = ("clusters", "cluster_column", "cluster_pattern")
"""Names of the parameters."""


def cluster_options(command: _Command) -> _Command:
    """Add the options."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def clusters_from(
    path: Path | None, column: str | None, pattern: str | None, episode_ids: Sequence[str]
) -> Mapping[str, str] | None:
    """Cluster by episode id as the options say, or ``None``.

    Raises:
        ConfigurationError: options that contradict each other, or as
            :mod:`wbgpu.records.episode_clusters` says.
    """
    if path is not None and pattern is not None:
        raise ConfigurationError("--clusters and --cluster-pattern: give one of them")
    if column is not None and path is None:
        raise ConfigurationError("--cluster-column needs --clusters, whose column it names")
    if path is not None:
        return read_clusters(path, column)
    return None if pattern is None else clusters_by_pattern(pattern, episode_ids)


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--clusters",
        type=click.Path(path_type=Path),
        help="CSV or JSON file that names each episode_id's scene or task; episodes of one are not "
        "independent.",
    ),
    click.option("--cluster-column", help="Column of --clusters. [default: the only other one]"),
    click.option(
        "--cluster-pattern",
        metavar="REGEX",
        help="Instead of --clusters: the first group in the episode id, such as '^([^/]+)/'.",
    ),
)
