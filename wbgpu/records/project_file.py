"""``wbgpu.yml``: a project's composite and gate settings, in worldbench's format."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from wbgpu.errors import ConfigurationError
from wbgpu.records.profile import COMPOSITE_METRICS, MetricSetting, Profile

FILE_NAMES = ("wbgpu.yml", "worldbench.yml")
"""Looked for in the current folder, in this order, when no file is named."""

GATE_KEYS = (
    "min_composite_improvement",
    "max_episode_regressions",
    "max_metric_drop",
    "max_horizon_drop",
    "min_metric_coverage",
    "min_metric_count",
    "min_configured_weight_coverage",
    "strict_config_match",
)


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
        ConfigurationError: the named file is missing, is not YAML, or has an unknown key or a
            value of the wrong kind; the message names file and key.
    """
    if path is None:
        here = folder or Path()
        path = next((here / name for name in FILE_NAMES if (here / name).is_file()), None)
        if path is None:
            return ProjectFile()
    if not path.is_file():
        raise ConfigurationError(f"configuration file does not exist: {path}")
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: not valid YAML: {error}") from error
    sections = _mapping(document or {}, path, "the file", ("metrics", "gate", "output"))
    gate = _mapping(sections.get("gate") or {}, path, "gate", GATE_KEYS)
    # worldbench accepts these two switches and does nothing with them.
    _mapping(sections.get("output") or {}, path, "output", ("json", "markdown"))
    try:
        profile = Profile(_settings(sections.get("metrics") or {}, path))
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from None
    return ProjectFile(profile=profile, gate=gate, path=path)


def _settings(section: Any, path: Path) -> dict[str, MetricSetting]:
    settings = {}
    for name, entry in _mapping(section, path, "metrics", COMPOSITE_METRICS).items():
        values = _mapping(entry or {}, path, f"metrics.{name}", ("enabled", "required", "weight"))
        for key in ("enabled", "required"):
            if not isinstance(values.get(key, True), bool):
                raise ConfigurationError(
                    f"metrics.{name}.{key}: expected true or false, got {values[key]!r}"
                )
        # worldbench: a metric that is mentioned without a weight weighs nothing.
        settings[name] = MetricSetting(**{"weight": 0.0, **values})
    return settings


def _mapping(value: Any, path: Path, where: str, known: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigurationError(
            f"{path}: {where}: expected key: value pairs, got {type(value).__name__}"
        )
    for key in value:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1, cutoff=0.0)[0]
            raise ConfigurationError(
                f"{path}: {where}: unknown key {key!r}; nearest: {near!r}; "
                f"known: {', '.join(known)}"
            )
    return value
