"""Log-losses in float64 with PyTorch's operators, on any device, a chunk of rows at a time."""

from __future__ import annotations

import torch
from torch import Tensor

from wbgpu.statistics.logit_rows import row_chunks, row_views


def reference_log_losses(
    values: Tensor, target: Tensor, is_probabilities: bool, out: tuple[Tensor, Tensor, Tensor]
) -> None:
    """Write losses, log-sum-exps and most likely classes, each ``[N]``.

    NaN or an infinity as log-sum-exp says that the row is no legal one.

    Args:
        values: ``[..., K]``, N rows: logits, or probabilities.
        target: int64 ``[N]``; rows with a negative one are passed over.
        out: float64, float64 and int64.
    """
    start = 0
    for view in row_views(values):
        for chunk in row_chunks(*view.shape):
            rows = slice(start + chunk.start, start + chunk.stop)
            given = target[rows].clamp(min=0)
            part = view[chunk].double()
            top = part.argmax(dim=1)
            score = _probabilities if is_probabilities else _logits
            results = (*score(part, given, top), top)
            for column, result in zip(out, results, strict=True):
                column[rows] = torch.where(target[rows] >= 0, result, column[rows])
        start += len(view)


def _logits(logits: Tensor, target: Tensor, top: Tensor) -> tuple[Tensor, Tensor]:
    maximum = logits.gather(1, top[:, None])
    target_logit = logits.gather(1, target[:, None])
    # exp of the maximum itself is 1; without it, small losses keep their digits.
    others = (logits - maximum).exp_().scatter_(1, top[:, None], 0.0).sum(dim=1).log1p_()
    return (maximum - target_logit)[:, 0] + others, maximum[:, 0] + others


def _probabilities(values: Tensor, target: Tensor, top: Tensor) -> tuple[Tensor, Tensor]:
    del top
    log_sum = values.sum(dim=1).log()
    # A negative among them makes the row illegal, whatever they sum to.
    log_sum = torch.where(values.amin(dim=1) < 0, torch.full_like(log_sum, torch.nan), log_sum)
    return log_sum - values.gather(1, target[:, None])[:, 0].log(), log_sum
