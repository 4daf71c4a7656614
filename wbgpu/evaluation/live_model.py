"""Which model an evaluation runs, and how; part of the request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from wbgpu.errors import ConfigurationError
from wbgpu.evaluation.generators import generators_kept
from wbgpu.models import WorldModel

MAX_SEED = 2**63 - 1


@dataclass(frozen=True)
class LiveModel:
    """A model that predicts while it is evaluated.

    Attributes:
        make: makes the model; called once in each process, so it can be pickled where there are to
            be several.
        name: for reports.
        checkpoint: its file, or ``None``.
        actions: folder of saved actions, see `wbgpu.episodes.actions`; ``None``: it is given none.
        save_predictions: folder for what it predicts, as lossless videos with their context frames
            before them, or ``None``.
        batch_size: episodes that are predicted together, of one size and length and next to each
            other. More than one can move the last bits of a network's predictions.
        seed: with the episode's id it seeds every generator of random numbers for the prediction.

    Raises:
        ConfigurationError: a value is out of range; the message names the key.
    """

    make: Callable[[], WorldModel]
    name: str
    checkpoint: Path | None = None
    actions: Path | None = None
    save_predictions: Path | None = None
    batch_size: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise ConfigurationError(f"live.batch_size: must be at least 1, got {self.batch_size}")
        if not 0 <= self.seed <= MAX_SEED:
            raise ConfigurationError(f"live.seed: expected 0 to {MAX_SEED}, got {self.seed}")

    @property
    def place(self) -> str:
        """What stands in results where the folder of predictions would: ``live:NAME``."""
        return f"live:{self.name}"

    def made(self, device: torch.device) -> WorldModel:
        """The model on a device, ready to predict; a new one starts from the seed.

        Raises:
            ConfigurationError, InputError: it cannot be made.
        """
        with generators_kept(self.seed):
            model = self.make()
        if isinstance(model, torch.nn.Module):
            model.to(device).eval()
        return model
