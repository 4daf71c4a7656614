"""Models from checkpoints; nothing in a file is executed unless its user says that it may be."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from wbgpu.errors import ConfigurationError, InputError
from wbgpu.models.world_model import WorldModel

_ARGUMENTS = ("arguments", "hyper_parameters")
_MAX_REASON = 800


def load_model(
    module: str,
    checkpoint: str | Path | None = None,
    *,
    arguments: Mapping[str, Any] | None = None,
    prefix: str = "",
    trust_checkpoint: bool = False,
) -> WorldModel:
    """Make a model of a class, and fill it with a checkpoint's weights, on the CPU.

    Args:
        module: where the class stands, such as ``package.file.Class``; it has ``predict``.
        checkpoint: see `load_state`; its arguments of the class are used, if it has any. Without a
            checkpoint the model is as the class makes it.
        arguments: of the class; they go before those of the checkpoint.
        prefix: weights are those whose names begin so, without it; ``model.`` for what a
            LightningModule calls ``self.model``.
        trust_checkpoint: see `load_state`.

    Raises:
        ConfigurationError: there is no such class, it cannot be made, or it does not predict.
        InputError: the checkpoint is missing, cannot be read, or does not fit.
    """
    given: dict[str, Any] = dict(arguments or {})
    if checkpoint is None:
        return _made(module, given)
    path = Path(checkpoint)
    state, saved = load_state(path, prefix=prefix, trust_checkpoint=trust_checkpoint)
    try:
        model = _made(module, {**saved, **given})
    except ConfigurationError as error:
        # Arguments of a LightningModule, when the model is a part of it.
        raise ConfigurationError(f"{error}{_prefix_hint(state)}") from error
    if not isinstance(model, nn.Module):
        raise ConfigurationError(
            f"model.module: {module} is no torch.nn.Module, so it cannot take the weights of {path}"
        )
    try:
        model.load_state_dict(state)
    # Of torch, or of what the class does to be loaded.
    except Exception as error:
        reason = str(error)
        if len(reason) > _MAX_REASON:
            reason = f"{reason[:_MAX_REASON]} ..."
        raise InputError(
            f"model.checkpoint: {path} does not fit {module}: {reason}{_prefix_hint(state)}"
        ) from error
    return model


def load_state(
    path: Path, *, prefix: str = "", trust_checkpoint: bool = False
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Weights by name, and arguments of the model's class where the file has them.

    Weights are tensors, but for what modules keep as their ``_extra_state``.

    Args:
        path: ``.safetensors``, or what ``torch.save`` wrote: a state_dict, or a mapping with
            ``state_dict`` in it as Lightning writes it. ``arguments`` beside it, or Lightning's
            ``hyper_parameters`` where there is no prefix, are arguments of the class.
        prefix: only names that begin so, without it.
        trust_checkpoint: let the file run code, which some need to be read. It can do anything
            that you can, so say so only of files from people you trust.

    Raises:
        InputError: missing, unreadable, without weights, or in need of trust that it does not have;
            the message says what it would run.
    """
    if not path.is_file():
        raise InputError(f"model.checkpoint: there is no file {path}")
    content = _content(path, trust_checkpoint)
    state: Any = content
    arguments: dict[str, Any] = {}
    if isinstance(content, Mapping) and isinstance(content.get("state_dict"), Mapping):
        state = content["state_dict"]
        for key in _ARGUMENTS[: 1 if prefix else 2]:
            if isinstance(content.get(key), Mapping):
                arguments.update({str(name): value for name, value in content[key].items()})
    if not isinstance(state, Mapping) or not all(
        isinstance(value, Tensor) or str(name).endswith("_extra_state")
        for name, value in state.items()
    ):
        raise InputError(
            f"model.checkpoint: {path} holds no weights; expected a state_dict, or a mapping with "
            f"'state_dict' in it, got {_described(content)}; save the model's state_dict alone"
        )
    chosen = {
        str(name).removeprefix(prefix): tensor
        for name, tensor in state.items()
        if str(name).startswith(prefix)
    }
    if prefix and not chosen:
        names = ", ".join(map(str, list(state)[:3]))
        raise InputError(
            f"model.prefix: no weight of {path} has a name that begins with {prefix!r}; they are "
            f"called {names or 'nothing'} ..."
        )
    return chosen, arguments


def _content(path: Path, trust_checkpoint: bool) -> Any:
    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        return torch.load(path, map_location="cpu", weights_only=not trust_checkpoint)
    # Whatever is unpickled may raise anything.
    except Exception as error:
        if trust_checkpoint:
            raise InputError(
                f"model.checkpoint: cannot read {path}: {type(error).__name__}: {error}"
            ) from error
        if needed := _unsafe_names(path):
            raise InputError(
                f"model.checkpoint: {path} holds more than weights: to read it, code would have to "
                f"be run ({', '.join(needed)}). Save its state_dict alone, or, if you trust "
                "whoever made the file, set model.trust_checkpoint=true."
            ) from error
        # Without torch's advice to allow what we do not.
        reason = str(error).partition("\n")[0].partition(" In PyTorch")[0]
        raise InputError(
            f"model.checkpoint: cannot read {path} ({type(error).__name__}: {reason}); expected a "
            "whole .safetensors file, or what torch.save wrote"
        ) from error


def _prefix_hint(state: Mapping[str, Any]) -> str:
    """What to do where one part holds all weights, as DDP's ``module.`` does."""
    parts = {name.partition(".")[0] for name in state if "." in name}
    if len(parts) != 1 or not all("." in name for name in state):
        return ""
    part = parts.pop()
    return f"\nAll its weights are those of {part!r}; if that is the model: model.prefix={part}."


def _unsafe_names(path: Path) -> list[str]:
    """What the file would run; empty where it cannot be known."""
    try:
        return sorted(torch.serialization.get_unsafe_globals_in_checkpoint(path))
    # An old format, or no checkpoint at all.
    except Exception:
        return []


def _made(module: str, arguments: Mapping[str, Any]) -> WorldModel:
    package, _, name = module.rpartition(".")
    try:
        made_by = getattr(importlib.import_module(package), name)
        if not callable(made_by):
            raise TypeError(f"{name} is no class")
        made = made_by(**arguments)
    except ConfigurationError:
        raise
    # The user's own code, which may raise anything, or read the command line and exit.
    except (Exception, SystemExit) as error:
        raise ConfigurationError(
            f"model.module: cannot make {module!r} with the arguments {dict(arguments)}: "
            f"{type(error).__name__}: {error}"
        ) from error
    if not isinstance(made, WorldModel):
        raise ConfigurationError(
            f"model.module: {module} has no method predict(context_frames, actions, num_frames); "
            "docs/models.md says what it is given and gives"
        )
    return made


def _described(content: Any) -> str:
    if isinstance(content, Mapping):
        return f"a mapping with {', '.join(map(repr, list(content)[:5])) or 'nothing in it'}"
    kind = type(content)
    return f"{'an' if kind.__name__[0] in 'aeiouAEIOU' else 'a'} {kind.__name__}"
