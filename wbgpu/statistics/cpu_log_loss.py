"""Log-losses on the CPU: one compiled pass over the logits, rows split over threads.

How a row is cut into blocks depends on the number of classes alone, so its bits depend neither on
the batch, nor on the number of threads, nor on the memory layout.
"""

from __future__ import annotations

import torch
from torch import Tensor

from wbgpu.statistics.cpu_log_loss_kernel import BFLOAT16, FLOAT16, FLOAT32, row_log_losses
from wbgpu.statistics.cpu_workers import run_in_parallel
from wbgpu.statistics.logit_rows import contiguous_rows, flat_memory

_KINDS = {torch.float32: FLOAT32, torch.bfloat16: BFLOAT16, torch.float16: FLOAT16}


def cpu_log_losses(logits: Tensor, target: Tensor, out: tuple[Tensor, Tensor, Tensor]) -> None:
    """Write losses, log-sum-exps and most likely classes, each ``[N]``.

    NaN or an infinity as log-sum-exp says that the row is no legal one. Memory beyond the logits
    is 12 KB a thread, if the classes of a row lie side by side, and else a chunk of rows.

    Args:
        logits: float32, bfloat16 or float16 ``[..., K]``, N rows.
        target: int64 ``[N]``; rows with a negative one are passed over.
        out: float64, float64 and int64.
    """
    kind = _KINDS[logits.dtype]
    integers = torch.int32 if logits.dtype == torch.float32 else torch.int16
    targets = target.numpy()
    losses, log_sum_exps, tops = (column.numpy() for column in out)
    start = 0
    for rows in contiguous_rows(logits):
        bits = flat_memory(rows).view(integers).numpy()
        stride, num_classes = rows.stride(0), rows.shape[1]

        def work(first: int, last: int) -> None:
            part = slice(start + first, start + last)  # noqa: B023
            row_log_losses(
                bits[first * stride :],  # noqa: B023
                kind,
                stride,  # noqa: B023
                num_classes,  # noqa: B023
                targets[part],
                losses[part],
                log_sum_exps[part],
                tops[part],
            )

        run_in_parallel(work, len(rows))
        start += len(rows)
