"""From Hydra configuration to an :class:`EvaluationRequest`, with errors a person can act on."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.errors import HydraException
from hydra.utils import instantiate
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from wbgpu.episodes.layout import Layout
from wbgpu.episodes.video_folders import VideoFolders
from wbgpu.errors import ConfigurationError
from wbgpu.evaluation.composition import (
    composed,
    explain,
    is_named,
    metrics_given_twice,
    set_value,
    without_options,
)
from wbgpu.evaluation.journal import journal_in
from wbgpu.evaluation.live_configuration import actions_from, live_from
from wbgpu.evaluation.request import EvaluationRequest, resolve_device
from wbgpu.metrics import FrechetDistance
from wbgpu.models import WorldModel
from wbgpu.records.profile import MetricSetting, Profile

CONFIG_NAME = "eval"
AUTO = "auto"
"""Of ``journal``: commands put it in the run's folder, and there is none in Python."""

# What only says how a run goes on and who is told: a result does not depend on it.
_UNKEPT = (
    "logger",
    "logger_step",
    "hydra",
    "trainer",
    "resume",
    "journal",
    "profile",
    "objective",
    "objective_if_failed",
)

# What a kept configuration says of processes: nothing.
_ONE_PROCESS = OmegaConf.create({"devices": 1, "backend": "gloo"})


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
        config = copy.deepcopy(composed(CONFIG_NAME, tuple(overrides)))
    except (HydraException, OmegaConfBaseException) as error:
        raise explain(error, overrides, CONFIG_NAME) from error
    check_metric_names(config, overrides)
    apply_defaults(config, defaults or {}, overrides)
    for key, value in (values or {}).items():
        # An option of a group, such as suite=frames, only says where the key's default comes from.
        if is_named(without_options(overrides), key):
            raise ConfigurationError(
                f"{key} is given twice: as an override and as {value!r} by a flag or argument; "
                "keep one"
            )
        set_value(config, key, value)
    return config


def apply_defaults(
    config: DictConfig, defaults: Mapping[str, Any], overrides: Sequence[str]
) -> None:
    """Set each dotted key unless an override names it or something above it."""
    for key, value in defaults.items():
        if not is_named(overrides, key):
            set_value(config, key, value)


def check_metric_names(config: DictConfig, overrides: Sequence[str]) -> None:
    """Refuse two variants of one metric, and additions that Hydra would drop without a word.

    Raises:
        ConfigurationError: fewer metrics than options were chosen, or metrics in two ways.
    """
    if (twice := metrics_given_twice(overrides)) is not None:
        raise twice
    for override in overrides:
        key, _, chosen = override.partition("=")
        options = [name for name in re.split(r"[\[\],\s]+", chosen) if name]
        # Others may have been added: +metrics.mine={_target_: ...}.
        if key == "metrics" and len(options) > len(config.get("metrics") or {}):
            raise ConfigurationError(
                f"metrics: {', '.join(options)} define {len(config.get('metrics') or {})} "
                "metric(s); two of them are variants of one metric, choose one"
            )


def request_from(
    config: DictConfig,
    configuration_file: Path | None = None,
    notes: tuple[str, ...] = (),
    command_line: str | None = None,
    model: WorldModel | None = None,
    *,
    run_folder: Path | None = None,
) -> EvaluationRequest:
    """Check a composed configuration and build the objects it names.

    Args:
        config: as composed.
        configuration_file: the project file whose values are in it.
        notes: remarks that go into the result.
        command_line: the command that is running, kept with the result.
        model: predicts, instead of saved predictions or a model that the configuration names. It
            is set to ``eval()``, see `wbgpu.evaluation.undisturbed`.
        run_folder: where ``journal=auto`` puts the journal; without one there is none.

    Raises:
        ConfigurationError: a value is missing or wrong; the message names the key.
    """
    try:
        return _request_from(config, configuration_file, notes, command_line, model, run_folder)
    except OmegaConfBaseException as error:
        raise ConfigurationError(f"the configuration is incomplete or wrong: {error}") from error


def _request_from(
    config: DictConfig,
    configuration_file: Path | None,
    notes: tuple[str, ...],
    command_line: str | None,
    model: WorldModel | None,
    run_folder: Path | None,
) -> EvaluationRequest:
    has_model = model is not None or config.get("model") is not None
    if has_model and OmegaConf.is_missing(config.suite, "predictions"):
        config.suite.predictions = None
    if config.get("action_adapter") is not None:
        raise ConfigurationError(
            "action_adapter: say whose it is: +action_adapter@metrics.action_following.adapter=..."
        )
    missing = sorted(OmegaConf.missing_keys(config))
    if missing:
        instead = ", or model=..." if missing == ["suite.predictions"] else ""
        raise ConfigurationError(
            f"missing value for {', '.join(missing)}; set {missing[0]}=...{instead}"
        )
    live = live_from(config, model)
    plain = OmegaConf.to_container(config, resolve=True)
    assert isinstance(plain, dict)
    unkept = (*_UNKEPT, "save_predictions") if live else (*_UNKEPT, "save_predictions", "live")
    configuration = {str(key): value for key, value in plain.items() if key not in unkept}
    suite, loader, trainer = config.suite, config.loader, config.get("trainer", _ONE_PROCESS)
    if unknown := sorted(map(str, set(trainer) - set(_ONE_PROCESS))):
        raise ConfigurationError(
            f"trainer: unknown key {unknown[0]!r}; known: {', '.join(map(str, _ONE_PROCESS))}"
        )
    resume, journal, is_automatic = _flag(config, "resume"), None, config.get("journal") == AUTO
    if not is_automatic and config.get("journal") is not None:
        journal = Path(str(config.journal))
    elif is_automatic and run_folder is not None:
        journal = journal_in(run_folder, resume=resume)
    resolve_device(str(config.device))  # before a decoder asks for it, in its own words
    try:
        decoder = instantiate(config.decoder)
        layout = _layout(suite)
        metrics = {
            str(name): instantiate(entry) for name, entry in (config.get("metrics") or {}).items()
        }
        distances = _distances(config)
    except Exception as error:
        if isinstance(error.__cause__, ConfigurationError):
            raise ConfigurationError(str(error.__cause__)) from error
        raise ConfigurationError(f"cannot build what the configuration names: {error}") from error
    return EvaluationRequest(
        ground_truth=Path(_of_type(suite, "ground_truth", str, "suite")),
        predictions=None
        if suite.predictions is None
        else Path(_of_type(suite, "predictions", str, "suite")),
        layout=layout,
        live=live,
        decoder=decoder,
        metrics=metrics,
        distances=distances,
        actions=None if live is not None else actions_from(config),
        logits=None
        if suite.get("logits") is None
        else Path(_of_type(suite, "logits", str, "suite")),
        float_range=_float_range(suite),
        num_context=_of_type(suite, "num_context", int, "suite"),
        alignment=suite.alignment,
        max_mismatch_ratio=float(
            _of_type(suite, "max_frame_mismatch_ratio", (int, float), "suite")
        ),
        max_mismatch_frames=_of_type(suite, "max_frame_mismatch_frames", int, "suite"),
        resize=suite.get("resize", "bilinear"),
        whole_predictions=_flag(suite, "whole_predictions", "suite."),
        aggregation=suite.get("result_type"),
        profile=_profile(config.composite),
        name=None if config.name is None else str(config.name),
        device=str(config.device),
        statistics_path=str(config.statistics),
        window_frames=_optional_int(loader, "window_frames"),
        num_workers=_optional_int(loader, "num_workers"),
        num_processes=_of_type(trainer, "devices", int, "trainer"),
        process_backend=str(trainer.backend),
        journal=journal,
        keeps_journal=not is_automatic,
        resume=resume,
        measures_stages=_flag(config, "profile"),
        configuration=configuration,
        configuration_file=configuration_file,
        notes=notes,
        command_line=command_line,
    )


def _float_range(suite: DictConfig) -> tuple[float, float] | None:
    given = suite.get("float_range")
    if given is None:
        return None
    # Checked by the request.
    return tuple(given) if isinstance(given, ListConfig) else given


def _distances(config: DictConfig) -> dict[str, FrechetDistance]:
    distances = {}
    for name, entry in (config.get("distribution_metrics") or {}).items():
        distance = instantiate(entry)
        if not isinstance(distance, FrechetDistance):
            raise ConfigurationError(
                f"distribution_metrics.{name}: expected a FrechetDistance, got "
                f"{type(distance).__name__}; metrics of episodes belong under metrics"
            )
        distances[str(name)] = distance
    return distances


def _layout(suite: DictConfig) -> Layout:
    if suite.get("layout") is None:
        return VideoFolders()
    layout: Layout = instantiate(suite.layout)
    return layout


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


def _flag(config: DictConfig, key: str, section: str = "") -> bool:
    value = config.get(key, False)
    if not isinstance(value, bool):
        raise ConfigurationError(f"{section}{key}: expected true or false, got {value!r}")
    return value


def _optional_int(node: DictConfig, key: str) -> int | None:
    return None if node[key] is None else int(_of_type(node, key, int, "loader"))


def _of_type(node: DictConfig, key: str, kind: Any, section: str) -> Any:
    value = node[key]
    if not isinstance(value, kind) or isinstance(value, bool):
        names = kind.__name__ if isinstance(kind, type) else "number"
        raise ConfigurationError(f"{section}.{key}: expected {names}, got {value!r}")
    return value
