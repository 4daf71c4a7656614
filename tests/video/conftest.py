from __future__ import annotations

import pytest

from tests.video.long_videos import limit_kept_pixels
from wbgpu.video import probe
from wbgpu.video.decoder import Decoder
from wbgpu.video.decord import DecordDecoder
from wbgpu.video.pyav import PyavDecoder


@pytest.fixture(params=["decord", "pyav", "pyav_streaming", "pyav_twice"])
def decoder(request, monkeypatch) -> Decoder:
    """Every way of decoding; a video too long to keep is streamed, or read twice."""
    if request.param == "decord":
        return DecordDecoder()
    if request.param in ("pyav_streaming", "pyav_twice"):
        limit_kept_pixels(monkeypatch, 0)
    if request.param == "pyav_twice":
        monkeypatch.setattr(probe, "_has_one_frame_a_packet", lambda container, stream: False)
    return PyavDecoder()
