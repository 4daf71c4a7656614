"""Any torch module that returns logits, from a checkpoint. Imports torch when one is made."""

from __future__ import annotations

import importlib
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from wbgpu.contestants.contestant import Forecast, Indices
from wbgpu.errors import ConfigurationError, InputError
from wbgpu.records.regret import MAX_LOSS_NATS
from wbgpu.records.world import Schema

if TYPE_CHECKING:
    import torch


class LogitsModule:
    """A trained model: ``module(state, action)`` returns logits ``[B, K]`` for each variable.

    With ``encoding="index"``, ``state`` is int64 ``[B, V]`` and ``action`` int64 ``[B]``; with
    ``"one_hot"`` they are float32 ``[B, sum of all K]`` (the variables side by side) and
    ``[B, A]``. The module is put into eval mode and learns nothing while it plays. Losses are those
    of a float64 log-softmax of its logits, whatever their type. A row's logits may depend in their
    last bits on the batch, as matrix products in torch do.

    Args:
        schema: of the world.
        checkpoint: a file of ``torch.export.save``, a TorchScript file, or a ``state_dict`` of
            ``module``, on its own or under the key ``state_dict``, saved by ``torch.save`` and
            loaded with ``weights_only=True``. The first two bring their code along: load only files
            that you trust.
        module: dotted path of the class whose ``state_dict`` it is.
        arguments: of the class.
        encoding: ``index`` or ``one_hot``.
        device: ``cpu``, ``cuda`` or ``cuda:N``.

    Raises:
        ConfigurationError: ``module`` cannot be imported or made, or a setting is wrong.
        InputError: the checkpoint is missing or cannot be loaded.

    Forecasts raise ConfigurationError where the module raises, or returns no logits; the message
    names the module and what it was given, or the variable.
    """

    def __init__(
        self,
        schema: Schema,
        checkpoint: str | Path,
        module: str | None = None,
        arguments: Mapping[str, Any] | None = None,
        encoding: Literal["index", "one_hot"] = "index",
        device: str = "cpu",
    ) -> None:
        import torch

        if encoding not in ("index", "one_hot"):
            raise ConfigurationError(f"encoding: expected 'index' or 'one_hot', got {encoding!r}")
        self._variables = schema.variables
        self._num_actions = len(schema.actions)
        self._encoding = encoding
        self._name = module or str(checkpoint)
        try:
            self._device = torch.device(device)
            torch.zeros(1, device=self._device)
        # AssertionError: torch built without CUDA.
        except (RuntimeError, AssertionError) as error:
            raise ConfigurationError(f"device: cannot use {device!r}: {error}") from error
        loaded = _load(Path(checkpoint), module, arguments or {}, self._device)
        self._module: torch.nn.Module = loaded.to(self._device)

    def reset(self, batch_size: int) -> None:
        """There is nothing to forget."""
        del batch_size

    def predict(self, state: Indices, action: Indices) -> Forecast:
        """See :class:`~wbgpu.contestants.Contestant`."""
        return tuple(np.exp(logs) for logs in self.predict_log(state, action))

    def predict_log(self, state: Indices, action: Indices) -> Forecast:
        """See :class:`~wbgpu.contestants.LogContestant`."""
        import torch

        with torch.inference_mode():
            logits = self._called(*self._encoded(torch.tensor(state), torch.tensor(action)))
            self._check(logits, len(state))
            return tuple(rows.double().log_softmax(-1).cpu().numpy() for rows in logits)

    def learn(self, state: Indices, action: Indices, outcome: Indices) -> None:
        """There is nothing to learn."""
        del state, action, outcome

    def _called(self, state: torch.Tensor, action: torch.Tensor) -> Any:
        try:
            return self._module(state, action)
        # The user's own code, which may raise anything.
        except Exception as error:
            given = ", ".join(
                f"{name} {str(tensor.dtype).removeprefix('torch.')} {[*tensor.shape]}"
                for name, tensor in (("state", state), ("action", action))
            )
            raise ConfigurationError(
                f"module {self._name!r} was given {given} (encoding={self._encoding}, "
                f"batch_size={len(state)}) and raised {type(error).__name__}: {error}"
            ) from error

    def _encoded(
        self, state: torch.Tensor, action: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        import torch

        state, action = state.to(self._device), action.to(self._device)
        if self._encoding == "index":
            return state, action
        one_hot = torch.nn.functional.one_hot
        columns = [
            one_hot(state[:, v], variable.num_outcomes)
            for v, variable in enumerate(self._variables)
        ]
        return torch.cat(columns, 1).float(), one_hot(action, self._num_actions).float()

    def _check(self, logits: Any, batch_size: int) -> None:
        import torch

        names = ", ".join(variable.name for variable in self._variables)
        if not isinstance(logits, (list, tuple)) or len(logits) != len(self._variables):
            got = f"{len(logits)}" if isinstance(logits, (list, tuple)) else type(logits).__name__
            raise ConfigurationError(
                f"module: expected a list of logits for each of {names}, got {got}"
            )
        for variable, rows in zip(self._variables, logits, strict=True):
            if not isinstance(rows, torch.Tensor) or not rows.is_floating_point():
                got = str(getattr(rows, "dtype", type(rows).__name__))
                raise ConfigurationError(
                    f"module: expected logits of {variable.name!r}, a tensor of floats, got {got}"
                )
            wanted = (batch_size, variable.num_outcomes)
            if tuple(rows.shape) != wanted:
                raise ConfigurationError(
                    f"module: expected logits of {variable.name!r} of the shape {[*wanted]}, got "
                    f"{[*rows.shape]}"
                )
            is_far = rows.isfinite() & (rows.abs().double() > MAX_LOSS_NATS / 2)
            if bool(is_far.any()):
                row, outcome = is_far.nonzero()[0].tolist()
                raise ConfigurationError(
                    f"module: logits of {variable.name!r}, row {row}, outcome {outcome}: expected "
                    f"at most {MAX_LOSS_NATS / 2:g} in magnitude, or -inf, got "
                    f"{float(rows[row, outcome]):g}"
                )


def _load(
    checkpoint: Path, module: str | None, arguments: Mapping[str, Any], device: torch.device
) -> torch.nn.Module:
    import torch

    if not checkpoint.is_file():
        raise InputError(f"checkpoint: there is no file {checkpoint}")
    kind = _kind(checkpoint)
    if kind == "weights":
        return _with_weights(checkpoint, module, arguments, device)
    if module is not None:
        raise ConfigurationError(
            f"module: {checkpoint} brings its own code along, so leave module out"
        )
    try:
        if kind == "export":
            return torch.export.load(checkpoint).module()
        with warnings.catch_warnings():
            # TorchScript's end is announced; files that people have must be read until then.
            warnings.simplefilter("ignore", FutureWarning)
            loaded: torch.nn.Module = torch.jit.load(  # type: ignore[no-untyped-call]
                checkpoint, map_location=device
            )
        return loaded.eval()
    except Exception as error:
        raise InputError(f"checkpoint: cannot load {checkpoint}: {error}") from error


def _kind(checkpoint: Path) -> Literal["export", "script", "weights"]:
    try:
        with zipfile.ZipFile(checkpoint) as archive:
            members = {name.partition("/")[2] for name in archive.namelist()}
    except zipfile.BadZipFile:
        return "weights"
    if "archive_format" in members:
        return "export"
    return "script" if "constants.pkl" in members else "weights"


def _with_weights(
    checkpoint: Path, module: str | None, arguments: Mapping[str, Any], device: torch.device
) -> torch.nn.Module:
    import torch

    if module is None:
        raise ConfigurationError(
            f"module: {checkpoint} holds weights only; name the class, as in "
            "module=package.file.Class"
        )
    made = _made(module, arguments)
    try:
        state = torch.load(checkpoint, map_location=device, weights_only=True)
    except Exception as error:
        raise InputError(f"checkpoint: cannot load {checkpoint}: {error}") from error
    if isinstance(state, dict) and isinstance(state.get("state_dict"), dict):
        state = state["state_dict"]
    try:
        made.load_state_dict(state)
    except (RuntimeError, TypeError) as error:
        raise InputError(f"checkpoint: {checkpoint} does not fit {module}: {error}") from error
    return made.eval()


def _made(module: str, arguments: Mapping[str, Any]) -> torch.nn.Module:
    import torch

    package, _, name = module.rpartition(".")
    try:
        made = getattr(importlib.import_module(package), name)(**arguments)
    # The user's own code, which may raise anything.
    except Exception as error:
        raise ConfigurationError(f"module: cannot make {module!r}: {error}") from error
    if not isinstance(made, torch.nn.Module):
        raise ConfigurationError(f"module: expected {module!r} to be a torch.nn.Module")
    return made
