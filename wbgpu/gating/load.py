"""Policies by name: the files of ``configs/gate``, or a file of the user's."""

from __future__ import annotations

import difflib
import importlib
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from wbgpu.errors import ConfigurationError
from wbgpu.gating.noninferiority import Noninferiority
from wbgpu.gating.thresholds import Thresholds
from wbgpu.records.yaml_file import read_yaml

Policy = Thresholds | Noninferiority
"""The settings of a policy; their type says which one it is."""

_SUFFIXES = (".yaml", ".yml")


def load_policy(name: str | Path, **overrides: Any) -> Policy:
    """Read a policy's settings.

    Args:
        name: an option of ``configs/gate``, such as ``noninferiority``, or the path of a YAML file,
            whose ``_target_`` is the dotted name of the settings' class.
        **overrides: settings that take the place of the file's.

    Raises:
        ConfigurationError: no such policy, or a setting is unknown or out of range.
    """
    path = Path(name)
    if path.suffix in _SUFFIXES:
        return _build(path, overrides)
    options = {
        entry.name.removesuffix(".yaml"): entry
        for entry in (files("wbgpu.configs") / "gate").iterdir()
        if entry.name.endswith(".yaml")
    }
    if str(name) not in options:
        near = difflib.get_close_matches(str(name), options, n=1, cutoff=0.0)
        raise ConfigurationError(
            f"policy: unknown policy {str(name)!r}; nearest: {near[0]!r}; known: "
            f"{', '.join(sorted(options))}, or the path of a YAML file"
        )
    with as_file(options[str(name)]) as file:
        return _build(file, overrides)


def _build(path: Path, overrides: dict[str, Any]) -> Policy:
    document = read_yaml(path)
    if not isinstance(document, dict) or not isinstance(document.get("_target_"), str):
        raise ConfigurationError(f"{path}: expected settings with a _target_, got {document!r}")
    target = document["_target_"]
    settings = {str(key): value for key, value in document.items() if key != "_target_"}
    module, _, attribute = target.rpartition(".")
    try:
        kind = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigurationError(f"{path}: _target_ {target!r} cannot be found ({error})") from None
    if not (isinstance(kind, type) and issubclass(kind, (Thresholds, Noninferiority))):
        raise ConfigurationError(
            f"{path}: _target_ {target!r} is no kind of Thresholds or Noninferiority"
        )
    known = list(kind.__dataclass_fields__)
    for key in (*settings, *overrides):
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1, cutoff=0.0)[0]
            raise ConfigurationError(
                f"policy {path.stem}: unknown setting {key!r}; nearest: {near!r}"
            )
    if isinstance(settings.get("required_metrics"), list):
        settings["required_metrics"] = tuple(settings["required_metrics"])
    try:
        policy: Policy = kind(**{**settings, **overrides})
    except ConfigurationError as error:
        raise ConfigurationError(f"policy {path.stem}: {error}") from None
    return policy
