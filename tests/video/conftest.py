from __future__ import annotations

import pytest

from wbgpu.video import pyav
from wbgpu.video.decoder import Decoder
from wbgpu.video.decord import DecordDecoder
from wbgpu.video.pyav import PyavDecoder


@pytest.fixture(params=["decord", "pyav", "pyav_streaming"])
def decoder(request, monkeypatch) -> Decoder:
    """Every way in which frames are decoded; a video too long to keep is streamed."""
    if request.param == "decord":
        return DecordDecoder()
    if request.param == "pyav_streaming":
        monkeypatch.setattr(pyav, "_MAX_KEPT_PIXELS", 0)
    return PyavDecoder()
