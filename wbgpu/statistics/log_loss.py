"""Log-losses of categorical forecasts, in nats, from logits or probabilities.

Formula: with logits x and target t, -ln softmax(x)[t] = ln(sum over k of exp(x[k])) - x[t], taken
relative to the largest logit. Exponentials are float32 or better, everything that is one number a
row is float64: within 1e-6 of the exact loss, relatively, or 1e-12 nats where that is more. No
intermediate has the size of the logits. Matches ``torch.nn.functional.cross_entropy`` in float64,
without a sum over rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NoReturn, get_args

import torch
from torch import Tensor

from wbgpu.errors import ConfigurationError
from wbgpu.records.regret import MAX_LOSS_NATS
from wbgpu.statistics.cpu_log_loss import cpu_log_losses
from wbgpu.statistics.cpu_workers import run_after_fork
from wbgpu.statistics.dispatch import resolve_path
from wbgpu.statistics.log_loss_reference import reference_log_losses
from wbgpu.statistics.logit_rows import RowError, first_row

ForecastKind = Literal["logits", "log_probs", "probabilities"]
"""What numbers say about the classes. ``logits`` are log-probabilities up to a constant."""

SUM_TOLERANCE = 1e-6
"""How far from 1 the probabilities of a row may sum; the rest is normalised away."""

_FAST_DTYPES = (torch.float32, torch.bfloat16, torch.float16)


@dataclass(frozen=True)
class LogLosses:
    """What rows of a forecast say about their targets.

    Attributes:
        loss_nats: float64 ``[...]``, at least 0; infinite where the target was ruled out, NaN where
            a row is not valid.
        log_sum_exp: float64 ``[...]``, what logits exceed log-probabilities by; NaN likewise.
        top_class: int64 ``[...]``, the most likely class, the first of equals; -1 likewise.
    """

    loss_nats: Tensor
    log_sum_exp: Tensor
    top_class: Tensor


def log_losses(
    forecast: Tensor,
    target: Tensor,
    valid: Tensor | None = None,
    *,
    kind: ForecastKind = "logits",
    name: str = "logits",
    target_name: str = "target",
    path: str = "auto",
) -> LogLosses:
    """Log-loss of every row.

    Args:
        forecast: ``[..., K]``, float32, bfloat16, float16 or float64, any strides. ``-inf`` is a
            legal logit.
        target: integers ``[...]`` of any width, 0 to K - 1, on the same device.
        valid: bool ``[...]``, rows to look at; all by default.
        kind: what ``forecast`` is.
        name: what to call it in errors.
        target_name: likewise.
        path: see `wbgpu.statistics.resolve_path`. ``cpu`` and ``triton`` take logits and
            log-probabilities, not in float64; ``auto`` is ``reference`` for the rest. On the CPU a
            row's bits do not depend on the others.

    Raises:
        TypeError: a forecast that is not floating point, a target that is not integers, or a mask
            that is not bool.
        ValueError: shapes or devices that do not fit together, or a valid row with a NaN or +inf,
            with nothing but -inf, with finite logits beyond ``MAX_LOSS_NATS / 2`` of
            `wbgpu.records.regret` in magnitude that its loss depends on, with a target outside 0
            to K - 1, or that is no distribution; it is then a `RowError`, and names the first row.
        ConfigurationError: a path that cannot take the forecast.
    """
    forecast, target = forecast.detach(), target.detach()
    _check(forecast, target, valid, kind, (name, target_name))
    resolved = _resolve(path, forecast, kind)
    num_classes = forecast.shape[-1]
    wanted = torch.ones_like(target, dtype=torch.bool) if valid is None else valid
    # Narrow types cannot hold num_classes, and wide unsigned ones have no comparisons. What is
    # beyond int64 becomes negative.
    classes = target.long()
    is_known = (classes >= 0) & (classes < num_classes)
    index = torch.where(wanted & is_known, classes, -1).reshape(-1)
    nothing = torch.full(index.shape, torch.nan, dtype=torch.float64, device=forecast.device)
    out = (nothing, nothing.clone(), torch.full_like(index, -1))
    if resolved == "cpu":
        cpu_log_losses(forecast, index, out)
    elif resolved == "triton":
        # Where there is no Triton, this module must still load.
        from wbgpu.statistics.triton_log_loss import triton_log_losses  # noqa: PLC0415

        triton_log_losses(forecast, index, out)
    elif forecast.device.type == "cpu":
        run_after_fork(lambda: reference_log_losses(forecast, index, kind == "probabilities", out))
    else:
        reference_log_losses(forecast, index, kind == "probabilities", out)
    result = LogLosses(*(column.reshape(target.shape) for column in out))
    # Not so for NaN and infinities either.
    is_legal = result.log_sum_exp.abs() <= MAX_LOSS_NATS / 2
    is_legal &= (result.loss_nats <= MAX_LOSS_NATS) | result.loss_nats.isinf()
    if kind != "logits":
        is_legal &= result.log_sum_exp.expm1().abs() <= SUM_TOLERANCE
    unknown, illegal = wanted & ~is_known, wanted & is_known & ~is_legal
    if bool((unknown | illegal).any()):  # one wait for the device
        if bool(unknown.any()):
            row = first_row(unknown)
            raise RowError(
                target_name,
                row,
                f"expected 0 to {num_classes - 1}, got {target[row].cpu().numpy()}",
                "rows to leave out are said by valid",
            )
        row = first_row(illegal)
        _refuse_row(forecast[row], row, kind, name)
    return result


def _check(
    forecast: Tensor, target: Tensor, valid: Tensor | None, kind: str, names: tuple[str, str]
) -> None:
    name, target_name = names
    if kind not in get_args(ForecastKind):
        raise ConfigurationError(
            f"forecast kind: expected one of {get_args(ForecastKind)}, got {kind!r}"
        )
    if not forecast.is_floating_point():
        raise TypeError(f"{name}: expected floating point [..., K], got {forecast.dtype}")
    if target.is_floating_point() or target.is_complex() or target.dtype == torch.bool:
        raise TypeError(f"{target_name}: expected integers, got {target.dtype}")
    if forecast.ndim == 0 or not 0 < forecast.shape[-1] < 2**31:
        raise ValueError(
            f"{name} {tuple(forecast.shape)}: expected [..., K] with 1 to 2^31 - 1 classes"
        )
    if forecast.shape[:-1] != target.shape:
        raise ValueError(
            f"{target_name} {tuple(target.shape)}: expected one class for each row of {name} "
            f"{tuple(forecast.shape)}"
        )
    if valid is not None:
        if valid.dtype != torch.bool:
            raise TypeError(f"valid: expected bool, got {valid.dtype}")
        if valid.shape != target.shape:
            raise ValueError(
                f"valid {tuple(valid.shape)}: expected the shape of the target, "
                f"{tuple(target.shape)}"
            )
    others = {target_name: target} if valid is None else {target_name: target, "valid": valid}
    for other, tensor in others.items():
        if tensor.device != forecast.device:
            raise ValueError(f"{other} is on {tensor.device}, {name} on {forecast.device}")


def _resolve(path: str, forecast: Tensor, kind: ForecastKind) -> str:
    is_fast = forecast.dtype in _FAST_DTYPES and kind != "probabilities"
    resolved = resolve_path(path, forecast.device)
    if is_fast or resolved == "reference":
        return resolved
    if path != "auto":
        raise ConfigurationError(
            f"path {path!r}: takes logits in float32, bfloat16 or float16, got {kind} in "
            f"{forecast.dtype}; use 'auto' or 'reference'"
        )
    return "reference"


def _refuse_row(values: Tensor, row: tuple[int, ...], kind: ForecastKind, name: str) -> NoReturn:
    for is_bad, what in ((values.isnan(), "nan"), (values == torch.inf, "inf")):
        if bool(is_bad.any()):
            (position,) = first_row(is_bad)
            raise RowError(
                name,
                row,
                f"class {position} is {what} ({int(is_bad.sum())} of {len(values)} classes are); "
                f"expected {'numbers' if kind != 'logits' else 'logits'}",
            )
    if kind == "probabilities":
        if bool((values < 0).any()):
            (position,) = first_row(values < 0)
            raise RowError(
                name,
                row,
                f"class {position} is {float(values[position]):g}; expected probabilities, at "
                "least 0",
            )
        total = float(values.double().sum())
    else:
        refuse_far_logits(values, row, name)
        if bool((values == -torch.inf).all()):
            raise RowError(
                name, row, f"all {len(values)} classes are -inf; expected one to be possible"
            )
        total = float(values.double().exp().sum())
    raise RowError(
        name,
        row,
        f"the probabilities sum to {total:.9g}; expected 1 within {SUM_TOLERANCE:g} (normalise "
        "them, or give logits)",
    )


def refuse_far_logits(values: Tensor, row: tuple[int, ...], name: str) -> None:
    """Refuse a row ``[K]`` with a finite logit too large in magnitude for a loss to be held.

    Raises:
        RowError: there is one.
    """
    is_far = values.isfinite() & (values.abs().double() > MAX_LOSS_NATS / 2)
    if bool(is_far.any()):
        (position,) = first_row(is_far)
        raise RowError(
            name,
            row,
            f"class {position} is {float(values[position]):g}; expected at most "
            f"{MAX_LOSS_NATS / 2:g} in magnitude, or -inf",
        )
