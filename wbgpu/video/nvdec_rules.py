"""Which videos the GPU's video decoder (NVDEC) may decode, and which of them it should.

NVDEC must give the bytes that the CPU gives, so it takes only what the codecs' standards fix to the
bit and :mod:`wbgpu.video.yuv` converts exactly. All else goes to the CPU, with the reason recorded.
"""

from __future__ import annotations

from dataclasses import dataclass

from wbgpu.records.video import VideoInfo
from wbgpu.video.yuv import yuv_to_rgb_coefficients

# Codecs whose decoders must agree to the bit, and the profiles that NVDEC has for 8-bit 4:2:0.
# MPEG-4 part 2 and MJPEG leave the inverse transform to the decoder. x264's lossless 4:2:0 is High
# 4:4:4 Predictive, which NVDEC does not have.
_PROFILES = {
    "h264": ("Baseline", "Constrained Baseline", "Main", "High"),
    "hevc": ("Main",),
    "vp9": ("Profile 0",),
    "av1": ("Main",),
}
# FFmpeg calls full-range 4:2:0 of some codecs yuvj420p.
_PIXEL_FORMATS = ("yuv420p", "yuvj420p")

# A decoding session on the GPU takes tens of milliseconds to set up, in which one CPU core decodes
# about so many pixels. So below this the CPU is at least as fast.
# Reasoned and not measured: scripts/gpu_check will tell, on a machine with a GPU.
MIN_PIXELS = 8 * 2**20


@dataclass(frozen=True)
class NvdecCapabilities:
    """What one GPU's NVDEC takes of one codec, 8-bit 4:2:0, as its driver says.

    Sizes are those of the coded picture, in pixels.
    """

    is_supported: bool
    min_height: int
    min_width: int
    max_height: int
    max_width: int
    max_num_macroblocks: int


def nvdec_refusal(info: VideoInfo, profile: str | None) -> str | None:
    """Why NVDEC's frames of this video might differ from the CPU's; ``None`` if they do not.

    Args:
        info: the video.
        profile: of the codec, in FFmpeg's words, such as ``High``.
    """
    if info.codec not in _PROFILES:
        return f"{info.codec} is not decoded on the GPU; {', '.join(_PROFILES)} are"
    if info.pixel_format not in _PIXEL_FORMATS:
        return f"{info.pixel_format} is not decoded on the GPU; 8-bit 4:2:0 is"
    if profile not in _PROFILES[info.codec]:
        return (
            f"{info.codec} profile {profile or 'unknown'} is not decoded on the GPU; "
            f"{', '.join(_PROFILES[info.codec])} is"
        )
    if info.height % 2 or info.width % 2:
        return f"{info.resolution}: odd sizes are not decoded on the GPU"
    if yuv_to_rgb_coefficients(info.color_space, info.color_range) is None:
        return f"colours tagged {info.color_space} have no exact conversion on the GPU"
    return None


def capability_refusal(info: VideoInfo, capabilities: NvdecCapabilities) -> str | None:
    """Why this GPU's NVDEC cannot decode the video; ``None`` if it can."""
    if not capabilities.is_supported:
        return f"this GPU does not decode {info.codec}"
    # The coded picture is the shown one, filled up to whole blocks.
    height, width = (-(-side // 16) * 16 for side in _stored_size(info))
    smallest = capabilities.min_width, capabilities.min_height
    if width < smallest[0] or height < smallest[1]:
        return (
            f"{info.resolution} is too small: this GPU decodes {info.codec} "
            f"from {smallest[0]}x{smallest[1]}"
        )
    largest = capabilities.max_width, capabilities.max_height
    if (
        width > largest[0]
        or height > largest[1]
        or height * width // 256 > capabilities.max_num_macroblocks
    ):
        return (
            f"{info.resolution} is too large: this GPU decodes {info.codec} "
            f"to {largest[0]}x{largest[1]}"
        )
    return None


def slower_on_gpu(info: VideoInfo) -> str | None:
    """Why the CPU is the faster decoder for this video; ``None`` if it is not."""
    num_pixels = info.num_frames * info.height * info.width
    if num_pixels >= MIN_PIXELS:
        return None
    return (
        f"{info.num_frames} frames of {info.resolution} are decoded faster on the CPU; the GPU "
        f"pays from {MIN_PIXELS / 1e6:.1f} million pixels"
    )


def _stored_size(info: VideoInfo) -> tuple[int, int]:
    is_sideways = info.rotation_degrees in (90, 270)
    return (info.width, info.height) if is_sideways else (info.height, info.width)
