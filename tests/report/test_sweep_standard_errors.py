from __future__ import annotations

from wbgpu.records.sweep import HorizonChanges
from wbgpu.report.sweep_standard_errors import LIMIT, standardised


def test_changes_are_divided_by_their_errors_and_limited() -> None:
    """A change without spread would be infinite, and one cell would set the scale of all."""
    row = HorizonChanges(
        "dB",
        True,
        changes=(1.0, -3.0, 5.0, -1e-9, 0.0, None),
        standard_errors=(0.5, 0.1, 0.0, 0.0, 0.0, None),
        num_episodes=(3,) * 6,
    )
    assert standardised(row) == [2.0, -LIMIT, LIMIT, -LIMIT, 0.0, None]
