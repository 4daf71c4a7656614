"""Log-loss and regret of categorical forecasts over many predictions, by horizon, in nats.

Formula: means over predictions of `prediction_losses`; sums and counts are pooled, in float64, so
a prefix weighs each of its predictions alike. A mean over predictions of which one is infinitely
wrong is infinite; how many are is counted, and the mean over the others stands beside it.
Reference: docs/metrics/log_loss_regret.md. ``exp(log_loss_nats)`` matches torchmetrics'
``Perplexity`` where that does not underflow; bits are ``nats / ln 2``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np
import torch
from torch import Tensor

from wbgpu.errors import ConfigurationError
from wbgpu.metrics.episode_metric import state_key
from wbgpu.metrics.exact_state import ExactStateMetric
from wbgpu.metrics.loss_means import NUM_COUNTS, QUANTITIES, loss_columns, loss_means
from wbgpu.metrics.prediction_losses import prediction_losses
from wbgpu.statistics.dispatch import PATHS
from wbgpu.statistics.log_loss import ForecastKind

METRIC_ID = "log_loss_regret/wbgpu-1.0"

OfVariables = Tensor | Sequence[Tensor] | Mapping[str, Tensor]
"""A tensor or, with several variables, one for each, by name or in order."""


class LogLossRegret(ExactStateMetric):
    """Mean log-loss, reference loss, regret and top-1 accuracy, by horizon and by variable.

    ``update`` takes logits of a batch of episodes, ``[B, T, ..., K]``; horizon t is step t of the
    second dimension, and what follows, such as the tokens of a frame, are predictions of that
    step. A forecast of several variables at once, independent given what was known, is one tensor
    for each::

        metric = LogLossRegret(num_horizons=8, variables=("block", "gripper"))
        metric.update({"block": a, "gripper": b}, {"block": i, "gripper": j})

    Losses of a prediction's variables add. Numbers of single variables have keys such as
    ``block/log_loss_nats``.

    Args:
        num_horizons: the most steps that predictions may be ahead.
        variables: names, where there are several.
        forecast: whether `update` is given ``logits``, ``log_probs`` or ``probabilities``.
        statistics_path: see `wbgpu.statistics.resolve_path`.

    Raises:
        ConfigurationError: an argument is none of these; the message names it.
    """

    is_differentiable = False
    full_state_update = False
    higher_is_better = False

    def __init__(
        self,
        num_horizons: int = 16,
        variables: Sequence[str] = (),
        forecast: ForecastKind = "logits",
        statistics_path: str = "auto",
        **torchmetrics_arguments: Any,
    ) -> None:
        super().__init__(**torchmetrics_arguments)
        if type(num_horizons) is not int or num_horizons < 1:
            raise ConfigurationError(
                f"num_horizons: expected an integer of at least 1, got {num_horizons!r}"
            )
        if not _are_names(variables):
            raise ConfigurationError(f"variables: expected distinct names, got {variables!r}")
        for name, chosen, known in (
            ("forecast", forecast, get_args(ForecastKind)),
            ("statistics_path", statistics_path, PATHS),
        ):
            if chosen not in known:
                raise ConfigurationError(
                    f"{name}: expected one of {', '.join(known)}, got {chosen!r}"
                )
        self.num_horizons = num_horizons
        self.variables = tuple(variables)
        self.forecast = forecast
        self.statistics_path = statistics_path
        key = state_key(METRIC_ID)
        self._sum_name, self._count_name = f"{key}_sum", f"{key}_count"
        # The first dimension: the whole prediction, then each variable.
        shape = (1 + len(self.variables), len(QUANTITIES), num_horizons)
        zeros = torch.zeros(shape, dtype=torch.float64, device=self._device)
        counts = torch.zeros(
            (shape[0], NUM_COUNTS, num_horizons), dtype=torch.int64, device=self._device
        )
        self.add_state(self._sum_name, zeros, dist_reduce_fx="sum")
        self.add_state(self._count_name, counts, dist_reduce_fx="sum")

    def update(
        self,
        logits: OfVariables,
        target: OfVariables,
        *,
        valid: Tensor | None = None,
        step: Tensor | int | None = None,
        reference_log_probs: OfVariables | None = None,
        reference_probabilities: OfVariables | None = None,
        reference_logits: OfVariables | None = None,
        reference_loss_nats: OfVariables | None = None,
    ) -> None:
        """Add a batch of predictions.

        Args:
            logits: ``[B, T, ..., K]`` of each variable; see ``forecast``. float32, bfloat16,
                float16 or float64.
            target: what happened, integers ``[B, T, ...]``, 0 to K - 1.
            valid: bool, predictions that count: ``[B, T, ...]`` or its first dimensions; all by
                default. Logits and targets of others are not looked at.
            step: horizons from 1, of the shape of the target or its first dimensions, or one for
                all; then logits may be of any shape ``[..., K]``.
            reference_log_probs: of the answer key, ``[B, T, ..., K]``.
            reference_probabilities: likewise.
            reference_logits: of another model, ``[B, T, ..., K]``.
            reference_loss_nats: losses of another model, ``[B, T, ...]``; without the whole
                distribution there is no expected regret.

        Raises:
            TypeError: tensors of the wrong type.
            ValueError: shapes or variables that do not fit, a horizon outside 1 to
                ``num_horizons``, or a prediction or reference that is not legal (see
                `wbgpu.statistics.log_loss.log_losses`); the message names the variable and row.
                Nothing has been counted then.
        """
        forecasts, targets = (
            self._by_variable(logits, "logits"),
            self._by_variable(target, "target"),
        )
        references = {
            "reference_log_probs": reference_log_probs,
            "reference_probabilities": reference_probabilities,
            "reference_logits": reference_logits,
            "reference_loss_nats": reference_loss_nats,
        }
        given = {
            key: self._by_variable(value, key)
            for key, value in references.items()
            if value is not None
        }
        shape = targets[0].shape
        for variable, other in zip(self.variables, targets, strict=bool(self.variables)):
            if other.shape != shape:
                raise ValueError(
                    f"target of {variable!r} {tuple(other.shape)}: expected the shape of the "
                    f"others, {tuple(shape)}"
                )
        mask = None if valid is None else _expanded(valid, shape, "valid", torch.bool)
        horizon = self._horizons(step, targets[0], mask)
        parts = [
            prediction_losses(
                forecast,
                targets[index],
                valid=mask,
                forecast=self.forecast,
                name=self.variables[index] if self.variables else "",
                statistics_path=self.statistics_path,
                **{key: value[index] for key, value in given.items()},
            )
            for index, forecast in enumerate(forecasts)
        ]
        whole = parts[0]
        for part in parts[1:]:
            whole = whole + part
        rows = [loss_columns(losses) for losses in ([whole, *parts] if self.variables else [whole])]
        sums = torch.stack([self._by_horizon(values, horizon) for values, _ in rows])
        counts = torch.stack([self._by_horizon(values, horizon) for _, values in rows])
        total, count = self._totals()
        # New tensors, never in place: one made under inference_mode cannot be updated outside it.
        setattr(self, self._sum_name, total + sums.to(total.device))
        setattr(self, self._count_name, count + counts.to(count.device))

    def compute(self) -> dict[str, Tensor]:
        """Means over predictions, in nats.

        Returns:
            Over all predictions, float64 ``[]``: `QUANTITIES`, infinite where one prediction's is;
            ``finite_*`` of the first, third and fourth, over the other predictions;
            ``top1_accuracy``, 0 to 1, of the whole prediction; and int64 ``count``,
            ``reference_count``, ``expected_count`` (predictions with a whole reference
            distribution), ``num_infinite`` (log-losses) and ``num_infinite_expected``. The same
            ``[num_horizons]`` under ``prefix_*``, over predictions of steps 1..t, and ``step_*``,
            over those of step t. With variables, all of them once more as ``variable/*``. NaN
            exactly where there is nothing to average.
        """
        total, count = self._totals()
        out: dict[str, Tensor] = {}
        for index, name in enumerate(("", *(f"{variable}/" for variable in self.variables))):
            sums, counts = total[index], count[index]
            for view, (s, c) in {
                "": (sums.sum(-1), counts.sum(-1)),
                "prefix_": (sums.cumsum(-1), counts.cumsum(-1)),
                "step_": (sums, counts),
            }.items():
                out |= {f"{name}{view}{key}": value for key, value in loss_means(s, c).items()}
        return out

    def _by_variable(self, given: OfVariables, name: str) -> list[Tensor]:
        if not self.variables:
            if not isinstance(given, Tensor):
                raise TypeError(
                    f"{name}: expected a tensor, got {type(given).__name__}; a forecast of several "
                    "variables needs their names in LogLossRegret(variables=...)"
                )
            return [given]
        if isinstance(given, Mapping):
            if set(given) != set(self.variables):
                raise ValueError(
                    f"{name}: expected the variables {list(self.variables)}, got {list(given)}"
                )
            tensors = [given[variable] for variable in self.variables]
        elif isinstance(given, Tensor) or len(given) != len(self.variables):
            found = "one tensor" if isinstance(given, Tensor) else f"{len(given)}"
            raise ValueError(
                f"{name}: expected a tensor for each of {len(self.variables)} variables, got "
                f"{found}"
            )
        else:
            tensors = list(given)
        for variable, tensor in zip(self.variables, tensors, strict=True):
            if not isinstance(tensor, Tensor):
                raise TypeError(
                    f"{name} of {variable!r}: expected a tensor, got {type(tensor).__name__}"
                )
        return tensors

    def _horizons(self, step: Tensor | int | None, target: Tensor, valid: Tensor | None) -> Tensor:
        """Horizon of each prediction, int64 of the target's shape, checked."""
        if step is None:
            if target.ndim < 2:
                raise ValueError(
                    f"target {tuple(target.shape)}: expected [B, T, ...], whose second dimension "
                    "says the horizon; say it by step for others"
                )
            index = torch.arange(1, target.shape[1] + 1, device=target.device)
            horizon = index.reshape(-1, *[1] * (target.ndim - 2)).expand(target.shape)
        elif isinstance(step, Tensor):
            horizon = _expanded(step, target.shape, "step", None).to(target.device).long()
        elif isinstance(step, (int, np.integer)) and not isinstance(step, bool):
            self._check_horizon(step)
            horizon = torch.full(target.shape, int(step), dtype=torch.int64, device=target.device)
        else:
            raise TypeError(
                f"step: expected an integer or a tensor of integers, got {type(step).__name__}"
            )
        is_bad = (horizon < 1) | (horizon > self.num_horizons)
        is_bad = is_bad if valid is None else is_bad & valid
        if bool(is_bad.any()):
            self._check_horizon(int(horizon[is_bad][0]))
        return horizon

    def _check_horizon(self, horizon: int) -> None:
        if not 1 <= horizon <= self.num_horizons:
            raise ValueError(
                f"horizon {horizon}: LogLossRegret(num_horizons={self.num_horizons}) takes 1 to "
                f"{self.num_horizons}; make the metric with more, or give fewer steps"
            )

    def _by_horizon(self, columns: Tensor, horizon: Tensor) -> Tensor:
        """Sums of ``[n, ...]`` over the predictions of each horizon, ``[n, num_horizons]``."""
        flat, index = columns.reshape(len(columns), -1), horizon.reshape(-1)
        out = flat.new_zeros((len(flat), self.num_horizons))
        # Not index_add, whose order is any on a GPU.
        for present in torch.unique(index[(index >= 1) & (index <= self.num_horizons)]).tolist():
            out[:, present - 1] = flat[:, index == present].sum(dim=1)
        return out

    def _totals(self) -> tuple[Tensor, Tensor]:
        return getattr(self, self._sum_name), getattr(self, self._count_name)


def _are_names(variables: Any) -> bool:
    return (
        isinstance(variables, Sequence)
        and not isinstance(variables, str)
        and all(isinstance(name, str) and name for name in variables)
        and len(set(variables)) == len(variables)
    )


def _expanded(given: Tensor, shape: torch.Size, name: str, dtype: torch.dtype | None) -> Tensor:
    """``[B, T]``, say, as ``[B, T, ...]``."""
    if not isinstance(given, Tensor):
        raise TypeError(f"{name}: expected a tensor, got {type(given).__name__}")
    if dtype is not None and given.dtype != dtype:
        raise TypeError(f"{name}: expected {dtype}, got {given.dtype}")
    if dtype is None and (
        given.is_floating_point() or given.is_complex() or given.dtype == torch.bool
    ):
        raise TypeError(f"{name}: expected integers, got {given.dtype}")
    if given.shape != shape[: given.ndim]:
        raise ValueError(
            f"{name} {tuple(given.shape)}: expected the target's shape {tuple(shape)}, or its "
            "first dimensions"
        )
    return given.reshape(*given.shape, *[1] * (len(shape) - given.ndim)).expand(shape)
