"""The conversion of :mod:`wbgpu.video.yuv` as one CUDA kernel: the same bits, no copy in between.

Needs Triton, which PyTorch's CUDA builds for Linux bring along. ``TRITON_INTERPRET=1`` runs it on
CPU tensors.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from wbgpu.video.yuv import YuvToRgb

_BLOCK_PIXELS = 1024


def nv12_to_rgb_triton(luma: Tensor, chroma: Tensor, coefficients: YuvToRgb) -> Tensor:
    """Convert frames on the current CUDA stream.

    Args:
        luma: uint8 ``[N, H, W]``, contiguous.
        chroma: uint8 ``[N, ceil(H / 2), ceil(W / 2), 2]``, contiguous: U, then V.
        coefficients: of the video.

    Returns:
        uint8 ``[N, H, W, 3]``, 0..255, contiguous.
    """
    assert luma.is_contiguous(), "the kernel takes rows without gaps"
    assert chroma.is_contiguous(), "the kernel takes rows without gaps"
    num_frames, height, width = luma.shape
    rgb = torch.empty((*luma.shape, 3), dtype=torch.uint8, device=luma.device)
    if rgb.numel() == 0:
        return rgb
    grid = (triton.cdiv(height * width, _BLOCK_PIXELS), num_frames)
    _convert[grid](
        luma,
        chroma,
        rgb,
        height,
        width,
        coefficients.offset,
        coefficients.luma,
        coefficients.red_v,
        coefficients.green_u,
        coefficients.green_v,
        coefficients.blue_u,
        BLOCK=_BLOCK_PIXELS,
    )
    return rgb


@triton.jit  # type: ignore[untyped-decorator]
def _convert(  # type: ignore[no-untyped-def]
    luma,
    chroma,
    rgb,
    height,
    width,
    offset,
    luma_factor,
    red_v,
    green_u,
    green_v,
    blue_u,
    BLOCK: tl.constexpr,  # noqa: N803 (constants are in capitals in kernels)
):
    # 64 bits, because a batch may have more than 2^31 bytes.
    frame = tl.program_id(1).to(tl.int64)
    chroma_width = (width + 1) // 2
    luma += frame * height * width
    chroma += frame * ((height + 1) // 2) * chroma_width * 2
    rgb += frame * height * width * 3

    pixel = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    is_inside = pixel < height * width
    row, column = pixel // width, pixel % width
    pair = ((row // 2) * chroma_width + column // 2) * 2
    y = tl.load(luma + pixel, is_inside, 0).to(tl.int32)
    u = (tl.load(chroma + pair, is_inside, 0).to(tl.int32) - 128) * 8
    v = (tl.load(chroma + pair + 1, is_inside, 0).to(tl.int32) - 128) * 8

    y = ((y - offset) * 8 * luma_factor) >> 16
    red = y + ((v * red_v) >> 16)
    green = y + ((u * green_u) >> 16) + ((v * green_v) >> 16)
    blue = y + ((u * blue_u) >> 16)
    red = tl.minimum(tl.maximum(red, 0), 255).to(tl.uint8)
    green = tl.minimum(tl.maximum(green, 0), 255).to(tl.uint8)
    blue = tl.minimum(tl.maximum(blue, 0), 255).to(tl.uint8)
    tl.store(rgb + pixel * 3, red, is_inside)
    tl.store(rgb + pixel * 3 + 1, green, is_inside)
    tl.store(rgb + pixel * 3 + 2, blue, is_inside)
