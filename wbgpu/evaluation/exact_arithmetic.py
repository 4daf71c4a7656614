"""Metrics are computed exactly, whatever precision the training around them has chosen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def exact_arithmetic() -> Iterator[None]:
    """Without autocast and TF32 inside; both are as they were afterwards, also after an exception.

    TF32 has 10 bits of mantissa: an SSIM of 0.99 can come out as 0.75.
    """
    with (
        torch.autocast("cuda", enabled=False),
        torch.autocast("cpu", enabled=False),
        _without_tf32(),
    ):
        yield


@contextmanager
def _without_tf32() -> Iterator[None]:
    # torch has an old and a new set of switches for the same thing, and operators raise where the
    # two disagree. The old ones set both; reading them raises where a user has set the new ones.
    places = [place for place in _places() if hasattr(place, "fp32_precision")]
    new = [place.fp32_precision for place in places]
    matmul, convolution = _old_matmul(), _old_convolution()
    try:
        torch.set_float32_matmul_precision("highest")
        torch.backends.cudnn.allow_tf32 = False
        for place in places:
            place.fp32_precision = "ieee"
        yield
    finally:
        if matmul is not None:
            torch.set_float32_matmul_precision(matmul)
        if convolution is not None:
            torch.backends.cudnn.allow_tf32 = convolution
        for place, precision in zip(places, new, strict=True):
            place.fp32_precision = precision


def _places() -> list[Any]:
    # Typed in some versions of torch and not in others.
    cuda, cudnn, mkldnn = (getattr(torch.backends, name) for name in ("cuda", "cudnn", "mkldnn"))
    places = [(cuda, "matmul"), (mkldnn, "matmul")]
    places += [(backend, name) for backend in (cudnn, mkldnn) for name in ("conv", "rnn")]
    return [getattr(backend, name, None) for backend, name in places]


def _old_matmul() -> str | None:
    try:
        return torch.get_float32_matmul_precision()
    except RuntimeError:
        return None


def _old_convolution() -> bool | None:
    try:
        return torch.backends.cudnn.allow_tf32
    except RuntimeError:
        return None
