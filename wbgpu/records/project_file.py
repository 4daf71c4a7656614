"""``wbgpu.yml``: a project's composite and gate settings, in worldbench's format."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wbgpu.errors import ConfigurationError
from wbgpu.records.comparison import GATE_DEFAULTS
from wbgpu.records.profile import COMPOSITE_METRICS, MetricSetting, Profile
from wbgpu.records.yaml_file import read_yaml

FILE_NAMES = ("wbgpu.yml", "worldbench.yml")
"""Looked for in the current folder, in this order, when no file is named."""


@dataclass(frozen=True)
class ProjectFile:
    """Settings read from a file, or worldbench's defaults when there is none.

    Attributes:
        profile: the composite.
        gate: thresholds that the file sets, by worldbench's key; the gate checks their values.
        path: the file, or ``None``.
    """

    profile: Profile = field(default_factory=Profile)
    gate: Mapping[str, Any] = field(default_factory=dict)
    path: Path | None = None


def load_project_file(path: Path | None = None, folder: Path | None = None) -> ProjectFile:
    """Read ``path``, or the first of :data:`FILE_NAMES` in ``folder`` (default: the current one).

    Raises:
        ConfigurationError: the named file is missing or unreadable, is not YAML, has a key twice,
            an unknown key or a metric setting that is wrong; the message names file and key.
    """
    if path is None:
        here = folder or Path()
        path = next((here / name for name in FILE_NAMES if (here / name).is_file()), None)
        if path is None:
            return ProjectFile()
    if not path.exists():
        raise ConfigurationError(f"configuration file does not exist: {path}")
    document = read_yaml(path)
    try:
        sections = _mapping(document or {}, "the file", ("metrics", "gate", "output"))
        gate = _mapping(sections.get("gate") or {}, "gate", tuple(GATE_DEFAULTS))
        # worldbench accepts these two switches and does nothing with them.
        _mapping(sections.get("output") or {}, "output", ("json", "markdown"))
        profile = Profile(_settings(sections.get("metrics") or {}))
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from None
    return ProjectFile(profile=profile, gate=gate, path=path)


def _settings(section: Any) -> dict[str, MetricSetting]:
    settings = {}
    for name, entry in _mapping(section, "metrics", COMPOSITE_METRICS).items():
        values = _mapping(entry or {}, f"metrics.{name}", ("enabled", "required", "weight"))
        try:
            # worldbench: a metric that is mentioned without a weight weighs nothing.
            settings[name] = MetricSetting(**{"weight": 0.0, **values})
        except ConfigurationError as error:
            raise ConfigurationError(f"metrics.{name}.{error}") from None
    return settings


def _mapping(value: Any, where: str, known: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigurationError(f"{where}: expected key: value pairs, got {type(value).__name__}")
    for key in value:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1, cutoff=0.0)[0]
            raise ConfigurationError(
                f"{where}: unknown key {key!r}; nearest: {near!r}; known: {', '.join(known)}"
            )
    return value
