from __future__ import annotations

import gc

import pytest

from wbgpu.records.garbage import collection_paused


@pytest.mark.parametrize("enabled", [True, False])
def test_the_users_setting_comes_back(enabled: bool) -> None:
    """A training job that switched collection off, or on, must find it so, after an error too."""
    was_enabled = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        with collection_paused():
            assert not gc.isenabled()
        assert gc.isenabled() is enabled
        with pytest.raises(ZeroDivisionError), collection_paused():
            raise ZeroDivisionError
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if was_enabled else gc.disable)()
