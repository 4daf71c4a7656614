"""NVDEC takes what it decodes to the CPU's bytes, and every refusal says why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wbgpu.records.video import VideoInfo
from wbgpu.video.nvdec_rules import (
    MIN_PIXELS,
    NvdecCapabilities,
    capability_refusal,
    nvdec_refusal,
    slower_on_gpu,
)

PLAIN = VideoInfo(
    path="a.mp4",
    num_frames=500,
    height=480,
    width=640,
    fps=30.0,
    codec="h264",
    pixel_format="yuv420p",
    color_space=None,
    color_range=None,
    rotation_degrees=0,
    is_variable_frame_rate=False,
    backend="pyav_cuda",
    device="cpu",
)
# What an H200's driver says of H.264.
H264 = NvdecCapabilities(
    is_supported=True,
    min_height=16,
    min_width=48,
    max_height=4096,
    max_width=4096,
    max_num_macroblocks=65536,
)


@pytest.mark.parametrize(
    ("changes", "profile"),
    [
        ({}, "High"),
        ({}, "Constrained Baseline"),
        ({"codec": "hevc"}, "Main"),
        ({"codec": "vp9"}, "Profile 0"),
        ({"codec": "av1"}, "Main"),
        ({"pixel_format": "yuvj420p", "color_range": "full"}, "High"),
        ({"color_space": "bt709", "color_range": "limited"}, "High"),
        ({"color_space": "smpte170m"}, "High"),
        ({"color_space": "bt470bg"}, "High"),
        ({"rotation_degrees": 90}, "High"),
        ({"is_variable_frame_rate": True, "fps": None}, "High"),
    ],
)
def test_taken(changes, profile):
    """A rule that refuses too much makes the GPU idle."""
    assert nvdec_refusal(replace(PLAIN, **changes), profile) is None


@pytest.mark.parametrize(
    ("changes", "profile", "words"),
    [
        ({"codec": "mpeg4"}, "Simple Profile", "mpeg4"),
        ({"codec": "mjpeg", "pixel_format": "yuvj420p"}, None, "mjpeg"),
        ({"codec": "gif", "pixel_format": "bgra"}, None, "gif"),
        ({"pixel_format": "yuv444p"}, "High 4:4:4 Predictive", "yuv444p"),
        ({"pixel_format": "yuv422p"}, "High 4:2:2", "yuv422p"),
        ({"pixel_format": "yuv420p10le"}, "High 10", "yuv420p10le"),
        ({"pixel_format": "gbrp"}, "High 4:4:4 Predictive", "gbrp"),
        ({"pixel_format": "gray"}, "High", "gray"),
        ({}, "High 4:4:4 Predictive", "High 4:4:4 Predictive"),
        ({}, "Extended", "Extended"),
        ({}, None, "profile unknown"),
        ({"codec": "hevc"}, "Rext", "Rext"),
        ({"codec": "av1"}, "Professional", "Professional"),
        ({"width": 321}, "High", "321x480"),
        ({"height": 241}, "High", "640x241"),
        ({"color_space": "bt2020nc"}, "High", "bt2020nc"),
        ({"color_space": "smpte240m"}, "High", "smpte240m"),
    ],
)
def test_refused(changes, profile, words):
    """Lossless H.264 is 4:2:0 in a profile that NVDEC does not have: garbage, not an error."""
    reason = nvdec_refusal(replace(PLAIN, **changes), profile)
    assert reason is not None
    assert words in reason


@pytest.mark.parametrize(
    ("height", "width", "words"),
    [
        (480, 640, None),
        (16, 48, None),
        (2, 34, None),  # coded as 16x48
        (32, 32, "32x32 is too small.*48x16"),
        (4096, 4096, None),
        (4098, 640, "640x4098 is too large.*4096x4096"),
        (640, 4098, "4098x640 is too large"),
    ],
)
def test_sizes(height, width, words):
    """32x32 videos of toy tasks are below what NVDEC decodes."""
    reason = capability_refusal(replace(PLAIN, height=height, width=width), H264)
    if words is None:
        assert reason is None
    else:
        with pytest.raises(ValueError, match=words):
            raise ValueError(reason)


def test_size_before_rotation():
    """NVDEC sees the stored picture: 16 high and 64 wide, whichever way it is shown."""
    turned = replace(PLAIN, height=64, width=16, rotation_degrees=90)
    assert capability_refusal(turned, H264) is None
    assert capability_refusal(replace(turned, rotation_degrees=0), H264) is not None


def test_number_of_macroblocks():
    """Long and high may each be allowed and not both."""
    few = replace(H264, max_num_macroblocks=1199)
    assert "too large" in (capability_refusal(PLAIN, few) or "")
    assert capability_refusal(PLAIN, replace(few, max_num_macroblocks=1200)) is None


def test_codec_that_the_gpu_lacks():
    """AV1 before Ampere."""
    reason = capability_refusal(replace(PLAIN, codec="av1"), replace(H264, is_supported=False))
    assert reason == "this GPU does not decode av1"


def test_short_videos_are_faster_on_the_cpu():
    """The limit is in pixels of the whole video, and the reason names the numbers."""
    edge = replace(PLAIN, height=1024, width=1024)
    assert slower_on_gpu(replace(edge, num_frames=MIN_PIXELS // 2**20)) is None
    reason = slower_on_gpu(replace(edge, num_frames=MIN_PIXELS // 2**20 - 1))
    assert reason is not None
    assert "7 frames of 1024x1024" in reason
    assert "8.4 million" in reason
