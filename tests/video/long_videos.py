from __future__ import annotations

import pytest

from wbgpu.video import probe, pyav


def limit_kept_pixels(monkeypatch: pytest.MonkeyPatch, max_pixels: int) -> None:
    """Treat videos of more pixels as long."""
    for module in (probe, pyav):
        monkeypatch.setattr(module, "MAX_KEPT_PIXELS", max_pixels)
