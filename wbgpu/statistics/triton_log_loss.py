"""Log-losses on an NVIDIA GPU: one program a row, which reads its logits once.

Sums go over lanes of the number of classes alone, so a row's bits do not depend on the batch.
"""

from __future__ import annotations

import contextlib

import torch
from torch import Tensor

from wbgpu.statistics.logit_rows import contiguous_rows
from wbgpu.statistics.triton_log_loss_kernel import row_log_losses

_MAX_BLOCK = 2048
_MIN_BLOCK = 128
_CLASSES_PER_THREAD = 8


def launch_constants(num_classes: int) -> tuple[int, int]:
    """Lanes of a program, and warps, for rows of ``num_classes``.

    A thread reads 16 bytes of half-precision logits at once.
    """
    block = min(_MAX_BLOCK, max(_MIN_BLOCK, 1 << (num_classes - 1).bit_length()))
    return block, max(1, block // (32 * _CLASSES_PER_THREAD))


def triton_log_losses(logits: Tensor, target: Tensor, out: tuple[Tensor, Tensor, Tensor]) -> None:
    """Write losses, log-sum-exps and most likely classes, each ``[N]``.

    NaN or an infinity as log-sum-exp says that the row is no legal one. There is no memory beyond
    the logits, if the classes of a row lie side by side, and else a chunk of rows.

    Args:
        logits: float32, bfloat16 or float16 ``[..., K]``, N rows.
        target: int64 ``[N]``; rows with a negative one are passed over.
        out: float64, float64 and int64.
    """
    num_classes = logits.shape[-1]
    if num_classes >= 2**31 - _MAX_BLOCK:
        raise ValueError(f"logits: {num_classes} classes; the triton path counts to 2^31 - 2049")
    block, num_warps = launch_constants(num_classes)
    on_device = logits.device.type == "cuda"
    start = 0
    for rows in contiguous_rows(logits):
        part = slice(start, start + len(rows))
        with torch.cuda.device(logits.device) if on_device else contextlib.nullcontext():
            row_log_losses[(len(rows),)](
                rows,
                target[part],
                *(column[part] for column in out),
                rows.stride(0),
                num_classes,
                BLOCK=block,
                num_warps=num_warps,
                enable_fp_fusion=False,
            )
        start += len(rows)
