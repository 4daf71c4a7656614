"""A tiny video predictor and its training, with everything that an evaluation might disturb."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning.pytorch import Callback, LightningModule, Trainer, seed_everything
from torch.utils.data import DataLoader, Dataset

from wbgpu.models import Prediction, to_uint8


class Clips(Dataset):
    """Random clips; augmented by Python's, NumPy's and torch's generators."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> torch.Tensor:
        generator = torch.Generator().manual_seed(index)
        clip = torch.rand(2, 3, 8, 8, generator=generator)
        return clip * random.random() + float(np.random.rand()) * torch.rand(()) * 0.1


class Predictor(LightningModule):
    """One convolution with dropout, a BatchNorm that learns and one that is frozen."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = torch.nn.Conv2d(3, 3, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(3)
        self.frozen = torch.nn.BatchNorm2d(3)
        self.dropout = torch.nn.Dropout(0.2)
        self.losses: list[float] = []
        self.seen: list[float] = []

    def on_train_epoch_start(self) -> None:
        self.frozen.eval()

    def forward(self, frame: torch.Tensor) -> torch.Tensor:
        return frame + self.frozen(self.norm(self.dropout(self.convolution(frame))))

    def training_step(self, clip: torch.Tensor, index: int) -> torch.Tensor:
        loss = (self(clip[:, 0]) - clip[:, 1]).square().mean()
        assert not self.frozen.training
        assert self.norm.training
        self.seen.append(float(clip.sum()))
        self.losses.append(float(loss.detach()))
        return loss

    def validation_step(self, clip: torch.Tensor, index: int) -> None:
        self.log("val_loss", (self(clip[:, 0]) - clip[:, 1]).square().mean())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), 1e-2)

    def train_dataloader(self) -> DataLoader:
        return DataLoader(Clips(), batch_size=2, shuffle=True)

    def val_dataloader(self) -> DataLoader:
        return DataLoader(Clips(), batch_size=4)

    def predict(self, context_frames: torch.Tensor, actions: Any, num_frames: int) -> Prediction:
        # Draws on purpose.
        random.random(), np.random.rand()
        frame = context_frames[:, -1].float() / 255 + 0.01 * torch.randn(())
        frames = []
        for _ in range(num_frames):
            frame = self(frame).clamp(0, 1)
            frames.append(to_uint8(frame))
        return Prediction(torch.stack(frames, 1))


def train(folder: Path, callbacks: list[Callback], **arguments: Any) -> tuple[Predictor, Trainer]:
    """Two epochs, from the same seed each time."""
    seed_everything(11, verbose=False)
    module = Predictor()
    settings: dict[str, Any] = {
        "max_epochs": 2,
        "accelerator": "cpu",
        "devices": 1,
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "num_sanity_val_steps": 2,
        "default_root_dir": folder,
    }
    trainer = Trainer(callbacks=callbacks, **(settings | arguments))
    trainer.fit(module)
    return module, trainer
