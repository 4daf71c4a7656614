#!/usr/bin/env python3
"""Train a video predictor on robot episodes, watched by wbgpu, and keep checkpoints to compare.

Every episode is held out once: in each of five folds two of ten are never trained on, and the
fold's checkpoints are judged on these two alone. Four kinds of checkpoint come out of each fold:
early, middle and late of a sound training, and the last of two broken ones (actions shuffled among
clips; every clip frozen at its first frame).

Usage: train.py EPISODES WORK, where EPISODES holds <id>.mp4 and <id>.npz (one array of actions).
Where there is no such folder, episodes of a drawn world are written there and trained on.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import av
import numpy as np
import torch
from lightning.pytorch import LightningModule, Trainer, seed_everything
from lightning.pytorch.callbacks import Callback
from model import VideoPredictor, shrink
from torch import Tensor
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from wbgpu.integrations.lightning import WorldModelEvalCallback
from wbgpu.video.encode import write_video
from wbgpu.worlds import Renderer, load_world, roll_out

NUM_CONTEXT = 4
HORIZON = 8
"""Frames after the context that are judged; an episode is cut after them."""
NUM_FOLDS = 5
NUM_DRAWN = 15
"""Episodes that are drawn where none are given."""
CLIP = 2 + 8
"""Frames of a training clip: two that are given, and those that are rolled out."""
EPOCHS = {"early": 1, "middle": 4, "late": 16}
BROKEN = ("shuffled_actions", "frozen_video")


class Clips(Dataset):
    """All clips of some episodes, in the size of the model.

    Args:
        episodes: frames ``[T, 3, 64, 64]`` and actions ``[T, A]`` of each.
        variant: ``sound``, or how the data are broken.
    """

    def __init__(self, episodes: list[tuple[Tensor, Tensor]], variant: str) -> None:
        self.clips = [
            (frames[start : start + CLIP], actions[start + 1 : start + CLIP - 1])
            for frames, actions in episodes
            for start in range(len(frames) - CLIP + 1)
        ]
        self.variant = variant
        shuffled = torch.randperm(len(self.clips), generator=torch.Generator().manual_seed(1))
        self.other = shuffled.tolist()

    def __len__(self) -> int:
        return len(self.clips)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        frames, actions = self.clips[index]
        if self.variant == "shuffled_actions":
            actions = self.clips[self.other[index]][1]
        if self.variant == "frozen_video":
            frames = frames[:1].expand_as(frames)
        return frames, actions


class Training(LightningModule):
    """A plain LightningModule; wbgpu needs ``predict`` and nothing else."""

    def __init__(self, num_actions: int) -> None:
        super().__init__()
        self.model = VideoPredictor(num_actions)

    def training_step(self, clip: tuple[Tensor, Tensor], index: int) -> Tensor:
        frames, actions = clip
        frames = shifted(frames)
        error = self.model.roll_out(frames[:, :2], actions) - frames[:, 2:]
        loss = error.square().mean()
        self.log("loss", loss)
        return loss

    def configure_optimizers(self) -> dict[str, object]:
        optimizer = torch.optim.AdamW(self.parameters(), lr=2e-3)
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, 2e-3, self.trainer.estimated_stepping_batches, pct_start=0.1
        )
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": schedule, "interval": "step"},
        }

    def predict(self, context_frames, actions, num_frames):
        return self.model.predict(context_frames, actions, num_frames)


def shifted(frames: Tensor, most: int = 6) -> Tensor:
    """Clips ``[B, T, 3, H, W]``, each moved some pixels, as there are few episodes."""
    size = frames.shape[-1]
    padded = functional.pad(frames.flatten(1, 2), (most,) * 4, mode="replicate")
    starts = torch.randint(2 * most + 1, (len(frames), 2)).tolist()
    moved = [
        clip[:, y : y + size, x : x + size] for clip, (y, x) in zip(padded, starts, strict=True)
    ]
    return torch.stack(moved).unflatten(1, frames.shape[1:3])


class KeepAt(Callback):
    """Saves the weights after given numbers of epochs."""

    def __init__(self, folder: Path, names: dict[int, str]) -> None:
        self.folder, self.names = folder, names

    def on_train_epoch_end(self, trainer: Trainer, module: LightningModule) -> None:
        if name := self.names.get(trainer.current_epoch + 1):
            self.folder.mkdir(parents=True, exist_ok=True)
            torch.save(module.model.state_dict(), self.folder / f"{name}.pt")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("episodes", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    settings = parser.parse_args()
    # Another number of threads rounds otherwise; and two are no faster for so small a model.
    torch.set_num_threads(1)
    started = time.monotonic()
    if not settings.episodes.exists():
        draw_episodes(settings.episodes)
    names = sorted(path.stem for path in settings.episodes.glob("*.mp4"))
    if len(names) < NUM_FOLDS:
        raise SystemExit(
            f"{settings.episodes}: expected at least {NUM_FOLDS} episodes <id>.mp4, one for each "
            f"fold, found {len(names)}"
        )
    if missing := [name for name in names if not (settings.episodes / f"{name}.npz").is_file()]:
        raise SystemExit(f"{settings.episodes}: {missing[0]}.mp4 has no actions, {missing[0]}.npz")
    whole = {name: read_episode(settings.episodes, name) for name in names}
    for name, (frames, actions) in whole.items():
        write_episode(settings.work / "suite", name, frames, actions)
    episodes = {name: (shrink(frames), actions) for name, (frames, actions) in whole.items()}
    for fold in range(NUM_FOLDS):
        held_out = names[fold::NUM_FOLDS]
        folder = settings.work / f"fold_{fold}"
        for name in held_out:
            write_episode(folder / "suite", name, *whole[name])
        trained_on = [episodes[name] for name in names if name not in held_out]
        for variant in ("sound", *BROKEN):
            train(trained_on, variant, folder, settings.seed)
    print(f"trained in {time.monotonic() - started:.0f} s")


def train(episodes: list[tuple[Tensor, Tensor]], variant: str, folder: Path, seed: int) -> None:
    """One training; the sound one is watched on the fold's held-out episodes."""
    seed_everything(seed, verbose=False)
    epochs = EPOCHS if variant == "sound" else {variant: EPOCHS["late"]}
    callbacks: list[Callback] = [KeepAt(folder, {epoch: name for name, epoch in epochs.items()})]
    if variant == "sound":
        callbacks.append(
            WorldModelEvalCallback(
                suite={
                    "ground_truth": folder / "suite" / "gt",
                    "actions": folder / "suite" / "actions",
                    "num_context": NUM_CONTEXT,
                },
                model=lambda module: module.model,
                output=folder / "watched",
            )
        )
    clips = DataLoader(Clips(episodes, variant), batch_size=16, shuffle=True)
    trainer = Trainer(
        max_epochs=EPOCHS["late"],
        accelerator="auto",
        devices=1,
        gradient_clip_val=1.0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=callbacks,
    )
    module = Training(episodes[0][1].shape[1])
    trainer.fit(module, clips)
    print(
        f"{folder.name} {variant}: loss {float(trainer.callback_metrics['loss']):.5f}", flush=True
    )


def read_episode(folder: Path, name: str) -> tuple[Tensor, Tensor]:
    """Frames uint8 ``[T, 3, H, W]`` and actions float ``[T, A]``."""
    with av.open(str(folder / f"{name}.mp4")) as container:
        frames = np.stack([frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)])
    with np.load(folder / f"{name}.npz") as arrays:
        if len(arrays.files) != 1:
            raise SystemExit(
                f"{folder}/{name}.npz: expected one array of actions, found {arrays.files}"
            )
        (actions,) = arrays.values()
    return torch.from_numpy(frames).permute(0, 3, 1, 2), torch.from_numpy(actions).float()


def draw_episodes(folder: Path) -> None:
    """Episodes of wbgpu's own world of a gripper, a block and a bowl, with their actions."""
    world = load_world("block_to_bowl")
    renderer = Renderer(world, 128)
    rollout = roll_out(world, range(NUM_DRAWN), 24)
    choices = np.eye(len(world.schema.actions), dtype=np.float32)
    for index in range(NUM_DRAWN):
        name = folder / f"drawn_{index:03}"
        frames = torch.from_numpy(renderer.frames(rollout.states[index]))
        write_video(name.with_suffix(".mp4"), frames.permute(0, 3, 1, 2), 5.0, lossless=True)
        np.savez(name.with_suffix(".npz"), actions=choices[rollout.actions[index]])


def write_episode(suite: Path, name: str, frames: Tensor, actions: Tensor) -> None:
    """An episode as wbgpu reads it, up to the horizon."""
    length = NUM_CONTEXT + HORIZON
    write_video(suite / "gt" / f"{name}.mp4", frames[:length], 5.0, lossless=True)
    (suite / "actions").mkdir(parents=True, exist_ok=True)
    np.save(suite / "actions" / f"{name}.npy", actions[:length].numpy())


if __name__ == "__main__":
    main()
