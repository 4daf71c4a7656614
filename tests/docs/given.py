"""Files and folders that a page's commands may name: ``<!-- given: NAME NAME=OTHER -->``.

``NAME=OTHER`` is a copy. Every page has the small suite: ``gt``, ``step00060``, ``step00900``,
``copy_last`` and ``actions``.
"""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from tests.conftest import REPOSITORY
from tests.episodes.lerobot.datasets import write_dataset
from tests.oracles.drawn_scenes import random_scene, write_episode, write_images
from tests.oracles.seeded_networks import write_networks
from wbgpu.cli.demo_suite import copy_last, draw_episode
from wbgpu.cli.main import run
from wbgpu.models import ActionConditioned
from wbgpu.video.encode import write_video
from wbgpu.worlds import load_world

NUM_CONTEXT, NUM_FRAMES = 4, 12
EPISODES = [f"{scene}/{index}.mp4" for scene in ("cup", "drawer", "lid") for index in range(2)]
CHECKPOINTS = ("step00060", "step00900", "copy_last")


def write_suite(folder: Path) -> None:
    """The small suite; ``step00900`` is the best at every horizon."""
    rng = np.random.default_rng(3)
    for name in EPISODES:
        truth = draw_episode(rng, NUM_FRAMES)[:, ::2, ::2]
        future = truth[NUM_CONTEXT:]
        frozen = copy_last(truth[:NUM_CONTEXT], len(future))
        predicted = {
            "step00060": frozen + rng.normal(0, 24, future.shape),
            "step00900": 0.5 * future + 0.5 * frozen + rng.normal(0, 2, future.shape),
            "copy_last": frozen,
        }
        write_video(folder / "gt" / name, truth, fps=5)
        for checkpoint, frames in predicted.items():
            frames = np.clip(frames, 0, 255).astype(np.uint8)
            video = np.concatenate([truth[:NUM_CONTEXT], frames])
            write_video(folder / checkpoint / name, video, fps=5)
        actions = folder / "actions" / Path(name).with_suffix(".npy")
        actions.parent.mkdir(parents=True, exist_ok=True)
        np.save(actions, rng.normal(size=(NUM_FRAMES, 3)).astype(np.float32))


def write_results(folder: Path) -> None:
    """A result of each checkpoint in the current folder, which is ``folder``."""
    for name in CHECKPOINTS:
        command = ["eval-batch", "--ground-truth", "gt", "--predictions", name]
        assert run([*command, "--skip-context", "4", "--output", str(folder / f"{name}.json")]) == 0


def give(name: str, folder: Path, kept: Path) -> None:
    """Put what is called ``name`` into ``folder``; ``kept`` holds what is made once."""
    name, _, source = name.partition("=")
    if source:
        there = kept if (kept / source).exists() else folder
        if (folder / name).is_dir():
            shutil.rmtree(folder / name)
        _copy(there / source, folder / name)
    elif (kept / name).exists():
        _copy(kept / name, folder / name)
    elif not (folder / name).exists():
        assert name in MAKERS, f"given: {name} is none of {sorted(MAKERS)}"
        MAKERS[name](folder)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        shutil.copy(source, target)


def _artifacts(folder: Path) -> None:
    (folder / "artifacts").symlink_to(REPOSITORY / "artifacts")


def _clusters(folder: Path) -> None:
    """Of scenes, and the same with another column."""
    for file, column in (("scenes.csv", "scene"), ("episodes.csv", "task")):
        rows = [f"{name},{name.split('/')[0]}" for name in EPISODES]
        (folder / file).write_text("\n".join([f"episode_id,{column}", *rows]) + "\n")


def _frame_dataset(folder: Path) -> None:
    rng = np.random.default_rng(0)
    actions = [{"t": t, "action": "move_right", "dx": 1.0, "dy": 0.0} for t in range(5)]
    for index in (1, 2):
        name, frames = f"episode_{index:03d}", random_scene(rng, 6)
        worse = np.clip(frames + rng.normal(0, 20, frames.shape), 0, 255).astype(np.uint8)
        write_episode(folder / "dataset", name, frames, frames, actions)
        write_images(folder / "runs/step900" / name, frames)
        write_images(folder / "dataset/good_model" / name, frames)
        write_images(folder / "dataset/bad_model" / name, worse)


def _lerobot(folder: Path) -> None:
    written = write_dataset(folder / "datasets/pusht", num_frames=(6, 5, 7))
    for index, frames in enumerate(written.frames):
        write_video(folder / f"predictions/episode_{index:06d}.mp4", frames, 5, lossless=True)


def _formats(folder: Path) -> None:
    """Predictions that are not videos: of one episode ``a/b``, and tiles."""
    rng = np.random.default_rng(1)
    truth, prediction = (draw_episode(rng, NUM_FRAMES)[:, ::2, ::2] for _ in range(2))
    shutil.rmtree(folder / "gt")
    write_video(folder / "gt/a/b.mp4", truth, fps=5)
    write_video(folder / "logged/a.mp4", np.concatenate([truth, prediction], 2), fps=5)
    for place in ("arrays/a", "floats/a"):
        (folder / place).mkdir(parents=True)
    np.save(folder / "arrays/a/b.npy", prediction)
    np.save(folder / "floats/a/b.npy", prediction.astype(np.float32) / 127.5 - 1)
    write_images(folder / "images/a/b", prediction)
    for name, video in (("truths", truth), ("rollouts", prediction)):
        tile = np.pad(video, ((0, 0), (2, 0), (2, 0), (0, 0)))
        grid = np.pad(np.tile(tile, (1, 2, 4, 1)), ((0, 0), (0, 2), (0, 2), (0, 0)))
        write_video(folder / f"{name}/step900.mp4", grid, fps=5, lossless=True)


def _tracks(folder: Path) -> None:
    """Robot and object, which touch from the fifth frame on."""
    rows = [[[10, 10], [40 if step < 4 else 12, 10]] for step in range(NUM_FRAMES)]
    text = json.dumps({"names": ["robot", "object"], "position": rows})
    for side in ("target", "prediction"):
        for name in EPISODES:
            path = folder / "tracks" / side / Path(name).with_suffix(".json")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def _alexnet(folder: Path) -> None:
    """Seeded weights under the name of trained ones."""
    write_networks(folder / "networks").alexnet.rename(folder / "alexnet.pth")


class _Features(torch.nn.Module):
    """400 numbers of a video, called as the usual I3D file is."""

    def forward(
        self,
        videos: torch.Tensor,
        rescale: bool = False,
        resize: bool = False,
        return_features: bool = False,
    ) -> torch.Tensor:
        return torch.nn.functional.adaptive_avg_pool3d(videos, [4, 5, 20]).mean(1).flatten(1)


def _extractor(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"`torch\.jit\.", category=FutureWarning)
        torch.jit.script(_Features()).save(folder / "i3d_torchscript.pt")


def _checkpoints(folder: Path) -> None:
    """Of the small network, which has learned nothing yet."""
    arguments = {"num_actions": 3, "channels": 4}
    model = ActionConditioned(**arguments)
    for name in ("a.pt", "b.pt", "c.pt", "step00900.pt"):
        torch.save({"state_dict": model.state_dict(), "arguments": arguments}, folder / name)


def _with_regrets(folder: Path) -> None:
    """Results of two checkpoints that have logits, and regret results."""
    rng = np.random.default_rng(2)
    for name in EPISODES:
        shape = (NUM_FRAMES - NUM_CONTEXT, 6, 16)
        targets, noise = rng.integers(0, 16, shape[:2]), rng.normal(size=shape)
        for checkpoint, gain in (("a", 1.0), ("b", 2.0)):
            path = folder / f"logits_{checkpoint}" / Path(name).with_suffix("")
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(f"{path}.targets.npy", targets)
            right = gain * (targets[..., None] == np.arange(16))
            np.save(f"{path}.logits.npy", (right + noise).astype(np.float32))
    for name, checkpoint in (("a", "step00060"), ("b", "step00900")):
        suite = ["suite.ground_truth=gt", f"suite.predictions={checkpoint}", "suite.num_context=4"]
        assert run(["eval", *suite, f"suite.logits=logits_{name}", f"output={name}.json"]) == 0
        contestant = {"a": "uniform", "b": "kt"}[name]
        play = ["world=block_to_bowl", f"contestant={contestant}", "seeds=20", "steps=100"]
        assert run(["regret", *play, f"output={name}_regret.json"]) == 0


class _Uniform(torch.nn.Module):
    def __init__(self, sizes: list[int]) -> None:
        super().__init__()
        self.sizes = sizes
        self.gain = torch.nn.Parameter(torch.ones(1))

    def forward(self, state: torch.Tensor, action: torch.Tensor) -> list[torch.Tensor]:
        return [self.gain * torch.zeros(state.shape[0], size) for size in self.sizes]


def _exported(folder: Path) -> None:
    """A module for block_to_bowl which knows nothing."""
    sizes = [v.num_outcomes for v in load_world("block_to_bowl").schema.variables]
    example = (torch.zeros(2, len(sizes), dtype=torch.int64), torch.zeros(2, dtype=torch.int64))
    batch = torch.export.Dim("batch", min=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exported = torch.export.export(
            _Uniform(sizes), example, dynamic_shapes={"state": {0: batch}, "action": {0: batch}}
        )
        torch.export.save(exported, folder / "step900.pt2")


MAKERS: dict[str, Callable[[Path], None]] = {
    "artifacts/": _artifacts,
    "a.json": _with_regrets,
    "scenes.csv": _clusters,
    "dataset/": _frame_dataset,
    "datasets/pusht/": _lerobot,
    "arrays/": _formats,
    "tracks/": _tracks,
    "alexnet.pth": _alexnet,
    "i3d_torchscript.pt": _extractor,
    "step00900.pt": _checkpoints,
    "step900.pt2": _exported,
}
"""What makes it; the folder gets everything that belongs to it."""
