"""Which episodes belong together, such as those of one scene or one task: given by the user."""

from __future__ import annotations

import csv
import difflib
import re
from collections.abc import Sequence
from pathlib import Path

from wbgpu.errors import ConfigurationError, InputError
from wbgpu.records.node import Node
from wbgpu.records.strict_json import read_json

ID_COLUMN = "episode_id"


def read_clusters(path: Path, column: str | None = None) -> dict[str, str]:
    """Read the cluster of each episode by its id.

    Args:
        path: a CSV file with a header, of which one column is ``episode_id``; or a JSON object
            ``{"episode id": "cluster"}``, or a list of objects that have ``episode_id``.
        column: the cluster's column (or key of the objects); ``None`` where there is only one
            besides ``episode_id``.

    Raises:
        InputError: the file is missing or unreadable, or an episode stands twice or has no cluster.
        ConfigurationError: no such column, or several to choose from.
    """
    if path.suffix.lower() == ".json":
        return _from_json(Node(read_json(path), "$", path), column)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file, restkey="", strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read as CSV ({error})") from error
    return _by_episode(path, rows, column)


def clusters_by_pattern(pattern: str, episode_ids: Sequence[str]) -> dict[str, str]:
    """The first group of a regular expression (or its whole match) in each episode id.

    Args:
        pattern: searched for, such as ``^([^/]+)/`` for the top folder.
        episode_ids: all of them.

    Raises:
        ConfigurationError: not a regular expression, or it does not match every id.
    """
    try:
        expression = re.compile(pattern)
    except re.error as error:
        raise ConfigurationError(
            f"cluster pattern: not a regular expression: {pattern!r} ({error})"
        ) from None
    found = {}
    for episode_id in episode_ids:
        match = expression.search(episode_id)
        name = None if match is None else match[1 if expression.groups else 0]
        if name is None:
            raise ConfigurationError(
                f"cluster pattern: {pattern!r} does not match the episode {episode_id!r}"
            )
        found[episode_id] = name
    return found


def _from_json(root: Node, column: str | None) -> dict[str, str]:
    if isinstance(root.value, dict):
        if column is not None:
            raise ConfigurationError(
                f"cluster column: {root.file} is one object of episode ids and has no columns"
            )
        return {
            episode_id: str(node.value) if _is_name(node) else node.string()
            for episode_id, node in root.items()
        }
    rows = [
        {key: str(node.value) for key, node in entry.items() if _is_name(node)}
        for entry in root.elements()
    ]
    return _by_episode(Path(root.file), rows, column)


def _is_name(node: Node) -> bool:
    """Whether it can name a cluster; other columns may hold anything. Tasks are often numbered."""
    return isinstance(node.value, (str, int)) and not isinstance(node.value, bool)


def _by_episode(path: Path, rows: Sequence[dict[str, str]], column: str | None) -> dict[str, str]:
    if not rows or ID_COLUMN not in rows[0]:
        columns = ", ".join(repr(name) for name in rows[0]) if rows else "no row"
        raise InputError(f"{path}: expected rows with a column {ID_COLUMN!r}, found {columns}")
    others = [name for name in rows[0] if name not in (ID_COLUMN, "", None)]
    if column is None:
        if len(others) != 1:
            raise ConfigurationError(
                f"cluster column: {path} has {len(others)} columns besides {ID_COLUMN!r} "
                f"({', '.join(others) or 'none'}); name one"
            )
        column = others[0]
    if column not in others:
        near = difflib.get_close_matches(column, others, n=1, cutoff=0.0)
        hint = f"; nearest: {near[0]!r}" if near else ""
        raise ConfigurationError(f"cluster column: {path} has no column {column!r}{hint}")
    found: dict[str, str] = {}
    for number, row in enumerate(rows, start=1):
        episode_id, name = row.get(ID_COLUMN), row.get(column)
        if not episode_id or not name:
            raise InputError(f"{path}: row {number} has no {column if episode_id else ID_COLUMN}")
        if episode_id in found:
            raise InputError(f"{path}: the episode {episode_id!r} stands twice")
        found[episode_id] = name
    return found
