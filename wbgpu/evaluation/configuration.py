"""From Hydra configuration to an :class:`EvaluationRequest`, with errors a person can act on."""

from __future__ import annotations

import copy
import difflib
import functools
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hydra import compose as hydra_compose
from hydra import initialize_config_module
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from wbgpu.errors import ConfigurationError
from wbgpu.evaluation.request import EvaluationRequest
from wbgpu.records.profile import MetricSetting, Profile

CONFIG_MODULE = "wbgpu.configs"
_MAX_LISTED = 20
_hydra_lock = threading.RLock()


def compose(
    overrides: Sequence[str] = (),
    values: Mapping[str, Any] | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> DictConfig:
    """Compose wbgpu's configuration in process.

    Args:
        overrides: Hydra overrides, such as ``metrics=[psnr]``.
        values: dotted keys set verbatim, free of Hydra's grammar (paths with spaces, commas,
            quotes, ``${``).
        defaults: dotted keys set verbatim unless an override names them.

    Raises:
        ConfigurationError: unknown key or option (the message names the nearest valid one), or a
            key both in ``overrides`` and in ``values``.
    """
    try:
        config = copy.deepcopy(_composed(tuple(overrides)))
    except (HydraException, OmegaConfBaseException) as error:
        raise explain(error, overrides) from error
    check_metric_names(config, overrides)
    apply_defaults(config, defaults or {}, overrides)
    for key, value in (values or {}).items():
        if _names(overrides, key):
            raise ConfigurationError(
                f"{key} is given twice: as an override and as {value!r} by a flag or argument; "
                "keep one"
            )
        _set(config, key, value)
    return config


def apply_defaults(
    config: DictConfig, defaults: Mapping[str, Any], overrides: Sequence[str]
) -> None:
    """Set each dotted key unless an override names it or something above it."""
    for key, value in defaults.items():
        if not _names(overrides, key):
            _set(config, key, value)


def check_metric_names(config: DictConfig, overrides: Sequence[str]) -> None:
    """Refuse two variants of one metric.

    Raises:
        ConfigurationError: fewer metrics than options were chosen.
    """
    for override in overrides:
        key, _, chosen = override.partition("=")
        options = [name for name in re.split(r"[\[\],\s]+", chosen) if name]
        if key == "metrics" and len(options) != len(config.get("metrics") or {}):
            raise ConfigurationError(
                f"metrics: {', '.join(options)} define {len(config.get('metrics') or {})} "
                "metric(s); two of them are variants of one metric, choose one"
            )


def request_from(
    config: DictConfig,
    configuration_file: Path | None = None,
    notes: tuple[str, ...] = (),
    command_line: str | None = None,
) -> EvaluationRequest:
    """Check a composed configuration and build the objects it names.

    Args:
        config: as composed.
        configuration_file: the project file whose values are in it.
        notes: remarks that go into the result.
        command_line: the command that is running, kept with the result.

    Raises:
        ConfigurationError: a value is missing or wrong; the message names the key.
    """
    try:
        return _request_from(config, configuration_file, notes, command_line)
    except OmegaConfBaseException as error:
        raise ConfigurationError(f"the configuration is incomplete or wrong: {error}") from error


def _request_from(
    config: DictConfig,
    configuration_file: Path | None,
    notes: tuple[str, ...],
    command_line: str | None,
) -> EvaluationRequest:
    missing = sorted(OmegaConf.missing_keys(config))
    if missing:
        raise ConfigurationError(f"missing value for {', '.join(missing)}; set {missing[0]}=...")
    plain = OmegaConf.to_container(config, resolve=True)
    assert isinstance(plain, dict)
    # Not what only watches the run: a result does not depend on it.
    unkept = ("hydra", "profile")
    configuration = {str(key): value for key, value in plain.items() if key not in unkept}
    measures_stages = config.get("profile", False)
    if not isinstance(measures_stages, bool):
        raise ConfigurationError(f"profile: expected true or false, got {measures_stages!r}")
    suite, loader = config.suite, config.loader
    if config.trainer != {"devices": 1}:
        raise ConfigurationError(
            "trainer: this version evaluates on one device, so only devices=1 is known, got "
            f"{dict(config.trainer)}"
        )
    try:
        decoder = instantiate(config.decoder)
        metrics = {
            str(name): instantiate(entry) for name, entry in (config.get("metrics") or {}).items()
        }
    except Exception as error:
        raise ConfigurationError(f"cannot build what the configuration names: {error}") from error
    return EvaluationRequest(
        ground_truth=Path(_of_type(suite, "ground_truth", str, "suite")),
        predictions=Path(_of_type(suite, "predictions", str, "suite")),
        decoder=decoder,
        metrics=metrics,
        num_context=_of_type(suite, "num_context", int, "suite"),
        alignment=suite.alignment,
        max_mismatch_ratio=float(
            _of_type(suite, "max_frame_mismatch_ratio", (int, float), "suite")
        ),
        max_mismatch_frames=_of_type(suite, "max_frame_mismatch_frames", int, "suite"),
        profile=_profile(config.composite),
        name=None if config.name is None else str(config.name),
        device=str(config.device),
        statistics_path=str(config.statistics),
        window_frames=_optional_int(loader, "window_frames"),
        num_workers=_optional_int(loader, "num_workers"),
        measures_stages=measures_stages,
        configuration=configuration,
        configuration_file=configuration_file,
        notes=notes,
        command_line=command_line,
    )


def explain(error: Exception, overrides: Sequence[str] = ()) -> ConfigurationError:
    """Turn a composition error of Hydra or OmegaConf into one that names the nearest valid name."""
    text = str(error).strip()
    if isinstance(error, OverrideParseException):
        given = error.override or " ".join(overrides)
        return ConfigurationError(
            f"cannot read the override {given!r}: {text.partition(chr(10))[0]}; "
            "quote values with special characters: key='\\'a b=c\\''"
        )
    if match := re.search(r"Could not override '([^']+)'", text):
        return _unknown(match[1], "configuration key", _keys(_composed(())))
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        group, _, option = str(error.missing_cfg_file).rpartition("/")
        # Hydra lists the options of a group itself, but not where a list was chosen from.
        return _unknown(option, f"option of {group!r}", _options(group))
    return ConfigurationError(text)


@functools.lru_cache(maxsize=16)
def _composed(overrides: tuple[str, ...]) -> DictConfig:
    # A callback or sweep composes the same configuration again and again, at 80 ms each.
    with _own_hydra():
        return hydra_compose("eval", overrides=list(overrides))


def _names(overrides: Sequence[str], key: str) -> bool:
    named = [override.partition("=")[0].lstrip("+~") for override in overrides]
    return any(key == name or key.startswith(f"{name}.") for name in named)


def _set(config: DictConfig, key: str, value: Any) -> None:
    if isinstance(value, str):
        value = value.replace("${", "\\${")
    OmegaConf.update(config, key, value, force_add=False)


def _profile(composite: DictConfig) -> Profile:
    settings = {}
    for name, entry in ((str(name), entry) for name, entry in composite.items()):
        if not isinstance(entry, DictConfig):
            raise ConfigurationError(
                f"composite.{name}: expected enabled, required and weight, got {entry!r}"
            )
        try:
            settings[name] = MetricSetting(**{str(key): value for key, value in entry.items()})
        except ConfigurationError as error:
            raise ConfigurationError(f"composite.{name}.{error}") from None
    return Profile(settings)


def _optional_int(node: DictConfig, key: str) -> int | None:
    return None if node[key] is None else int(_of_type(node, key, int, "loader"))


def _unknown(name: str, kind: str, known: Iterable[str]) -> ConfigurationError:
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.0)
    hint = f"; nearest: {near[0]!r}" if near else ""
    listed = f"; known: {', '.join(names)}" if len(names) <= _MAX_LISTED else ""
    return ConfigurationError(f"unknown {kind} {name!r}{hint}{listed}")


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


def _of_type(node: DictConfig, key: str, kind: Any, section: str) -> Any:
    value = node[key]
    if not isinstance(value, kind) or isinstance(value, bool):
        names = kind.__name__ if isinstance(kind, type) else "number"
        raise ConfigurationError(f"{section}.{key}: expected {names}, got {value!r}")
    return value


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
