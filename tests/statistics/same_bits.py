from __future__ import annotations

from wbgpu.statistics import FrameStatistics


def assert_same_bits(first: FrameStatistics, second: FrameStatistics) -> None:
    """Equal fields, types and values, NaN equal to NaN."""
    assert first.present().keys() == second.present().keys()
    for name, value in first.present().items():
        other = second.require(name)
        assert value.dtype == other.dtype
        equal = (value == other) | ((value != value) & (other != other))
        assert bool(equal.all()), f"{name}: {value.tolist()} and {other.tolist()}"
