"""Hydra's composition of our configurations, with errors a person can act on. Imports no torch."""

from __future__ import annotations

import difflib
import functools
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hydra import compose as hydra_compose
from hydra import initialize_config_module
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import MissingConfigException, OverrideParseException
from omegaconf import DictConfig, OmegaConf

from wbgpu.errors import ConfigurationError

CONFIG_MODULE = "wbgpu.configs"
_MAX_LISTED = 20
_hydra_lock = threading.RLock()


@functools.lru_cache(maxsize=16)
def composed(config_name: str, overrides: tuple[str, ...]) -> DictConfig:
    """One of our configurations, composed in process; kept, so copy it before it is changed."""
    # A callback or sweep composes the same configuration again and again, at 80 ms each.
    with _own_hydra():
        return hydra_compose(config_name, overrides=list(overrides))


def explain(error: Exception, overrides: Sequence[str], config_name: str) -> ConfigurationError:
    """Turn a composition error of Hydra or OmegaConf into one that names the nearest valid name."""
    if (twice := metrics_given_twice(overrides)) is not None:
        return twice
    text = str(error).strip()
    if isinstance(error, OverrideParseException):
        given = error.override or " ".join(overrides)
        return ConfigurationError(
            f"cannot read the override {given!r}: {text.partition(chr(10))[0]}; "
            "quote values with special characters: key='\\'a b=c\\''"
        )
    if match := re.search(r"Could not override '([^']+)'", text):
        if "No match in the defaults list" in text and _options(match[1]):
            return ConfigurationError(
                f"{match[1]!r} is chosen within another key here, not by itself; say within which: "
                f"+{match[1]}@KEY=OPTION, such as +tracker@metrics.track_error.tracker=flow"
            )
        known = _keys(composed(config_name, _choices(overrides)))
        if match[1] in known:
            return ConfigurationError(
                f"cannot set {match[1]!r} so: it is given a key that it lacks; add new keys by "
                f"++{match[1]}=..."
            )
        return _unknown(match[1], "configuration key", known)
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        group, _, option = str(error.missing_cfg_file).rpartition("/")
        # Hydra lists the options of a group itself, but not where a list was chosen from.
        return _unknown(option, f"option of {group!r}", _options(group))
    return ConfigurationError(text)


def metrics_given_twice(overrides: Sequence[str]) -> ConfigurationError | None:
    """A list of metrics and an addition to it: Hydra then keeps the list and drops the addition."""
    keys = [override.partition("=")[0] for override in overrides]
    if "metrics" in keys and "+metrics@metrics" in keys:
        return ConfigurationError(
            "metrics is given twice, as metrics=... and as +metrics@metrics=...; give one list: "
            "metrics=[psnr,lpips]"
        )
    return None


def is_named(overrides: Sequence[str], key: str) -> bool:
    """Whether an override names a dotted key or something above it."""
    named = [override.partition("=")[0].lstrip("+~") for override in overrides]
    return any(key == name or key.startswith(f"{name}.") for name in named)


def without_options(overrides: Sequence[str]) -> list[str]:
    """The overrides that do not choose an option of a group."""
    return [override for override in overrides if override not in _choices(overrides)]


def set_value(config: DictConfig, key: str, value: Any) -> None:
    """Set a dotted key verbatim, free of interpolation."""
    if isinstance(value, str):
        value = value.replace("${", "\\${")
    OmegaConf.update(config, key, value, force_add=False)


def _unknown(name: str, kind: str, known: Iterable[str]) -> ConfigurationError:
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.0)
    hint = f"; nearest: {near[0]!r}" if near else ""
    listed = f"; known: {', '.join(names)}" if len(names) <= _MAX_LISTED else ""
    return ConfigurationError(f"unknown {kind} {name!r}{hint}{listed}")


def _choices(overrides: Sequence[str]) -> tuple[str, ...]:
    """Overrides that choose an option which there is: other options have other keys."""
    pairs = [override.partition("=") for override in overrides]
    return tuple(f"{key}={option}" for key, _, option in pairs if option in _options(key))


def _options(group: str) -> list[str]:
    with _own_hydra():
        return GlobalHydra.instance().config_loader().get_group_options(group)


def _keys(node: DictConfig, prefix: str = "") -> list[str]:
    keys = []
    for key in map(str, node):
        name = f"{prefix}{key}"
        keys.append(name)
        child = node._get_node(key)
        if isinstance(child, DictConfig) and not child._is_missing():
            keys.extend(_keys(child, f"{name}."))
    return keys


@contextmanager
def _own_hydra() -> Iterator[None]:
    """A Hydra of our own, also inside somebody else's Hydra application."""
    with _hydra_lock:
        theirs = GlobalHydra.instance().hydra
        GlobalHydra.instance().clear()
        try:
            with initialize_config_module(CONFIG_MODULE, version_base="1.3"):
                yield
        finally:
            # Not the instance from above: Hydra replaces it when its context ends.
            GlobalHydra.instance().hydra = theirs
