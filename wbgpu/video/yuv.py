"""From 8-bit 4:2:0 to RGB with the bits of the CPU decoders, in integers.

FFmpeg converts 4:2:0 to RGB on x86-64 with 13-bit fixed-point coefficients, and repeats each chroma
sample for the 2x2 pixels that share it. For luma ``Y`` and chroma ``U``, ``V``, with arithmetic
shifts::

    y = ((Y - offset) * 8 * luma) >> 16        u = (U - 128) * 8        v = (V - 128) * 8
    R = clip(y + ((v * red_v) >> 16))
    G = clip(y + ((u * green_u) >> 16) + ((v * green_v) >> 16))
    B = clip(y + ((u * blue_u) >> 16))

Every coefficient is ``round(8192 k)`` of the real one in ITU-R BT.601 or BT.709. Hardware decoders
must give the planes that the codecs' standards prescribe, so with this they give the CPU's RGB.

FFmpeg takes another road where the height is odd, so there this is not what the CPU gives. On all
8-bit 4:2:0 files at hand with an even height the bytes are those of decord and of PyAV.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

# Kr and Kb; the weight of green is what is left (BT.601-7, 2.5.1; BT.709-6, 3.2). FFmpeg takes
# untagged video to be BT.601 at any size. BT.2020, SMPTE 240M, FCC and YCgCo are not here.
_RED_BLUE_WEIGHTS = {
    None: (0.299, 0.114),
    "smpte170m": (0.299, 0.114),
    "bt470bg": (0.299, 0.114),
    "bt709": (0.2126, 0.0722),
}


@dataclass(frozen=True)
class YuvToRgb:
    """Fixed-point coefficients, 8192 for 1; see the module's formula."""

    offset: int
    luma: int
    red_v: int
    green_u: int
    green_v: int
    blue_u: int


def yuv_to_rgb_coefficients(color_space: str | None, color_range: str | None) -> YuvToRgb | None:
    """The coefficients that FFmpeg takes for a video's tags.

    Args:
        color_space: as in :class:`wbgpu.records.video.VideoInfo`.
        color_range: ``limited``, ``full`` or ``None``, which is limited.

    Returns:
        ``None`` for tags whose conversion is not known exactly.
    """
    if color_space not in _RED_BLUE_WEIGHTS:
        return None
    red, blue = _RED_BLUE_WEIGHTS[color_space]
    green = 1 - red - blue
    is_full = color_range == "full"
    luma = 1.0 if is_full else 255 / 219
    chroma = 1.0 if is_full else 255 / 224
    return YuvToRgb(
        offset=0 if is_full else 16,
        luma=round(8192 * luma),
        red_v=round(8192 * chroma * 2 * (1 - red)),
        green_u=round(8192 * chroma * -2 * (1 - blue) * blue / green),
        green_v=round(8192 * chroma * -2 * (1 - red) * red / green),
        blue_u=round(8192 * chroma * 2 * (1 - blue)),
    )


def nv12_to_rgb(luma: Tensor, chroma: Tensor, coefficients: YuvToRgb) -> Tensor:
    """Convert frames, on any device.

    Args:
        luma: uint8 ``[N, H, W]``.
        chroma: uint8 ``[N, ceil(H / 2), ceil(W / 2), 2]``: U, then V.
        coefficients: of the video.

    Returns:
        uint8 ``[N, H, W, 3]``, 0..255, contiguous.
    """
    height, width = luma.shape[1:]
    y = (luma.int() - coefficients.offset) * 8 * coefficients.luma >> 16
    u, v = ((chroma.int() - 128) * 8).unbind(-1)
    red = v * coefficients.red_v >> 16
    green = (u * coefficients.green_u >> 16) + (v * coefficients.green_v >> 16)
    blue = u * coefficients.blue_u >> 16
    colors = torch.stack((red, green, blue), -1).repeat_interleave(2, 1).repeat_interleave(2, 2)
    return (y[..., None] + colors[:, :height, :width]).clamp_(0, 255).byte()
