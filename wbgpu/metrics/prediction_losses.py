"""What predictions lose against what happened, and against a reference, in nats.

Formulas: log_loss = -ln Q(y), reference_loss = -ln P(y), regret = log_loss - reference_loss,
expected_regret = KL(P || Q), for forecast Q, reference P and outcome y. Nothing is clamped: regret
may be negative, and losses may be infinite.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from wbgpu.records.regret import MAX_LOSS_NATS
from wbgpu.statistics.kl_divergence import Distributions, kl_divergences
from wbgpu.statistics.log_loss import ForecastKind, log_losses, refuse_far_logits
from wbgpu.statistics.logit_rows import RowError, first_row

REFERENCES = (
    "reference_log_probs",
    "reference_probabilities",
    "reference_logits",
    "reference_loss_nats",
)
"""The ways to say what the reference is; the first three give the whole distribution."""

_KINDS: dict[str, ForecastKind] = {
    "reference_log_probs": "log_probs",
    "reference_probabilities": "probabilities",
    "reference_logits": "logits",
}


@dataclass(frozen=True)
class PredictionLosses:
    """Losses of predictions, each a tensor ``[...]``; what is not valid there means nothing.

    Losses of variables that are independent given what was known add: ``a + b`` is their joint.

    Attributes:
        valid: bool, the predictions that count.
        log_loss_nats: float64, at least 0, infinite where the outcome was ruled out.
        is_top1: whether the outcome was the most likely one, the first of equals.
        reference_loss_nats: float64, finite; ``None`` without a reference.
        expected_regret_nats: float64, infinite where the forecast ruled out what can happen;
            ``None`` where the reference is none or no whole distribution.
    """

    valid: Tensor
    log_loss_nats: Tensor
    is_top1: Tensor
    reference_loss_nats: Tensor | None = None
    expected_regret_nats: Tensor | None = None

    @property
    def regret_nats(self) -> Tensor | None:
        """Log-loss less reference loss, of any sign."""
        if self.reference_loss_nats is None:
            return None
        return self.log_loss_nats - self.reference_loss_nats

    def __add__(self, other: PredictionLosses) -> PredictionLosses:
        return PredictionLosses(
            self.valid & other.valid,
            self.log_loss_nats + other.log_loss_nats,
            self.is_top1 & other.is_top1,
            _sum(self.reference_loss_nats, other.reference_loss_nats),
            _sum(self.expected_regret_nats, other.expected_regret_nats),
        )


def prediction_losses(
    logits: Tensor,
    target: Tensor,
    *,
    valid: Tensor | None = None,
    forecast: ForecastKind = "logits",
    name: str = "",
    statistics_path: str = "auto",
    **references: Tensor | None,
) -> PredictionLosses:
    """Losses of one variable's predictions.

    Args:
        logits: ``[..., K]``, float32, bfloat16, float16 or float64, any strides.
        target: integers ``[...]``, 0 to K - 1.
        valid: bool ``[...]``, predictions to look at; all by default.
        forecast: whether ``logits`` are ``logits``, ``log_probs`` or ``probabilities``; of
            the latter two every row must sum to 1 within 1e-6.
        name: the variable, for errors.
        statistics_path: see `wbgpu.statistics.resolve_path`.
        references: one of `REFERENCES` or none: ``[..., K]``, or losses ``[...]``.

    Raises:
        TypeError, ValueError, ConfigurationError: as `wbgpu.statistics.log_loss.log_losses`, for
            reference and forecast, and ValueError where the reference rules out what happened.
    """
    of = f" of {name!r}" if name else ""
    losses = log_losses(
        logits,
        target,
        valid,
        kind=forecast,
        name=f"{forecast}{of}",
        target_name=f"target{of}",
        path=statistics_path,
    )
    wanted = torch.ones_like(target, dtype=torch.bool) if valid is None else valid
    given = {key: value for key, value in references.items() if value is not None}
    if unknown := sorted(set(references) - set(REFERENCES)):
        raise TypeError(f"unknown reference {unknown}; known: {', '.join(REFERENCES)}")
    if len(given) > 1:
        raise ValueError(f"{' and '.join(given)}: expected one reference, got {len(given)}")
    reference_loss = expected = None
    for key, value in given.items():
        place = f"{key}{of}"
        if key == "reference_loss_nats":
            reference_loss = _checked_losses(value, wanted, place)
            continue
        kind = _KINDS[key]
        if value.shape != logits.shape:
            raise ValueError(
                f"{place} {tuple(value.shape)}: expected the shape of the {forecast}, "
                f"{tuple(logits.shape)}"
            )
        of_reference = log_losses(
            value,
            target,
            valid,
            kind=kind,
            name=place,
            target_name=f"target{of}",
            path=statistics_path,
        )
        reference_loss = of_reference.loss_nats
        is_ruled_out = wanted & reference_loss.isinf()
        if bool(is_ruled_out.any()):
            row = first_row(is_ruled_out)
            raise RowError(
                place,
                row,
                f"gives probability 0 to class {int(target[row])}, which is the target; regret has "
                "no value there",
                "correct the reference, or leave the prediction out by valid",
            )
        expected = kl_divergences(
            Distributions(value, kind, of_reference.log_sum_exp),
            Distributions(logits, forecast, losses.log_sum_exp),
        )
        is_far = wanted & expected.isfinite() & (expected > MAX_LOSS_NATS)
        if bool(is_far.any()):
            row = first_row(is_far)
            refuse_far_logits(logits[row], row, f"{forecast}{of}")
    return PredictionLosses(
        wanted, losses.loss_nats, losses.top_class == target.long(), reference_loss, expected
    )


def _checked_losses(losses: Tensor, valid: Tensor, name: str) -> Tensor:
    if not losses.is_floating_point():
        raise TypeError(f"{name}: expected floating point, got {losses.dtype}")
    if losses.shape != valid.shape:
        raise ValueError(
            f"{name} {tuple(losses.shape)}: expected a loss for each target, {tuple(valid.shape)}"
        )
    losses = losses.detach().to(valid.device, torch.float64)
    is_bad = valid & ~((losses >= 0) & (losses <= MAX_LOSS_NATS))
    if bool(is_bad.any()):
        row = first_row(is_bad)
        raise RowError(
            name,
            row,
            f"expected a finite loss in nats, 0 to {MAX_LOSS_NATS:g}, got {float(losses[row]):g}",
        )
    return losses


def _sum(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    return None if first is None or second is None else first + second
