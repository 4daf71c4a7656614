"""How a suite lies on disk. A layout is one file here and one YAML in ``configs/suite``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from wbgpu.episodes.pairing import Episode, EpisodePair


class Layout(Protocol):
    """Finds a suite's episodes and the predictions that belong to them.

    Both methods sort by episode id, open no video, and raise `InputError` for what is missing or
    malformed and `PairingError` for what does not pair up.
    """

    def episodes(self, ground_truth: Path) -> tuple[Episode, ...]:
        """The episodes at ``ground_truth``, for a model that predicts."""
        ...

    def pairs(self, ground_truth: Path, predictions: Path | None) -> tuple[EpisodePair, ...]:
        """The episodes with their saved predictions.

        Args:
            ground_truth: root of the suite.
            predictions: root of the predictions; ``None`` where they lie within the suite, which
                not every layout has.
        """
        ...


@dataclass(frozen=True)
class SuiteDescription:
    """What a suite says about itself.

    Attributes:
        checkpoint_name: of the checkpoint that predicted, or ``None``.
        notes: for every reader of a result.
    """

    checkpoint_name: str | None = None
    notes: tuple[str, ...] = ()


@runtime_checkable
class DescribedLayout(Layout, Protocol):
    """A layout of suites that say where their predictions come from."""

    def describe(self, ground_truth: Path, predictions: Path | None) -> SuiteDescription:
        """What is known of the suite; raises as `Layout`."""
        ...
