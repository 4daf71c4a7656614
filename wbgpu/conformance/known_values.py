"""All known values."""

from __future__ import annotations

from collections.abc import Iterator

from wbgpu.conformance.frames import frame_values
from wbgpu.conformance.losses import loss_values
from wbgpu.conformance.scores import score_values
from wbgpu.conformance.statistics_of_changes import change_values
from wbgpu.records.conformance import KnownValue


def known_values() -> Iterator[KnownValue]:
    """Compute every known value; frames first, then scores, losses and statistics."""
    yield from frame_values()
    yield from score_values()
    yield from loss_values()
    yield from change_values()
