"""action_following through a whole evaluation: LeRobot, frame datasets, and saved actions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.episodes.lerobot.datasets import write_dataset
from tests.oracles.drawn_scenes import random_scene, write_episode, write_images
from wbgpu import evaluate
from wbgpu.errors import InputError, PairingError
from wbgpu.records.suite import SuiteResult
from wbgpu.tracking import FlowTracker
from wbgpu.video.encode import write_video

NUM_CONTEXT = 1
ADAPTER = [
    "metrics=[mse,action_following]",
    "+action_adapter@metrics.action_following.adapter=named_elements",
    "metrics.action_following.adapter.x=x",
    "metrics.action_following.adapter.y=y",
    "metrics.action_following.adapter.x_pixels=2.0",
]
BY_PLACE = [
    text.replace("adapter.x=x", "adapter.x=0").replace("adapter.y=y", "adapter.y=1")
    for text in ADAPTER
]


def following(frames: torch.Tensor, actions: np.ndarray) -> float:
    """Slowly: of the frames after the context, by the tracker's steps and the actions' pixels."""
    position = FlowTracker().start().track(frames[NUM_CONTEXT:]).position[:, 0].numpy()
    error = commanded = 0.0
    for step in range(1, len(position)):
        moved = position[step] - position[step - 1]
        # Row i leads from frame i to frame i + 1, context included.
        meant = actions[NUM_CONTEXT + step - 1, :2].astype(float) * (2.0, 1.0)
        if not np.isnan(moved).any():
            error += ((moved - meant) ** 2).sum()
            commanded += (meant**2).sum()
    return 1 - error / commanded


def check(result: SuiteResult, predictions: list, targets: list, actions: list) -> None:
    for episode, prediction, target, own in zip(
        result.episodes, predictions, targets, actions, strict=True
    ):
        outcome = episode.metrics["action_following"]
        assert outcome.value == pytest.approx(following(prediction, own), rel=1e-9)
        ceiling = outcome.prefix_details["target_following"][-1]
        assert ceiling == pytest.approx(following(target, own), rel=1e-9)
    assert "named_elements/wbgpu-1.0" in result.metric_infos["action_following"].metric_id


def scenes(num: int = 3) -> list[torch.Tensor]:
    rng = np.random.default_rng(1)
    return [torch.from_numpy(random_scene(rng, 7)).permute(0, 3, 1, 2) for _ in range(num)]


def test_lerobots_actions_by_name(tmp_path: Path) -> None:
    """A row too early or the actions of another episode would be a number too."""
    written = write_dataset(tmp_path / "ds", num_frames=(7, 6, 8))
    predictions = [torch.roll(frames, 1, 0) for frames in written.frames]
    for index, frames in enumerate(predictions):
        write_video(tmp_path / f"pred/episode_{index:06d}.mp4", frames, 5, lossless=True)
    result = evaluate(
        tmp_path / "ds",
        tmp_path / "pred",
        num_context=NUM_CONTEXT,
        overrides=["suite=lerobot", *ADAPTER],
    )
    check(result, predictions, written.frames, written.actions)


def test_a_frame_datasets_numeric_actions(tmp_path: Path) -> None:
    """worldbench's action_consistency needs names of directions; these are vectors."""
    targets = scenes()
    predictions = [torch.roll(frames, 1, 0) for frames in targets]
    vectors = [np.random.default_rng(i).normal(size=(6, 2)).astype(np.float32) for i in range(3)]
    for index, (target, prediction) in enumerate(zip(targets, predictions, strict=True)):
        name = f"episode_{index:03d}"
        images = [frames.permute(0, 2, 3, 1).numpy() for frames in (target, prediction)]
        actions = [
            {"t": t, "action": [float(number) for number in row]}
            for t, row in enumerate(vectors[index])
        ]
        write_episode(tmp_path / "data", name, images[0], images[0], actions)
        write_images(tmp_path / "pred" / name, images[1])
    result = evaluate(
        tmp_path / "data",
        tmp_path / "pred",
        num_context=NUM_CONTEXT,
        overrides=["suite=frames", *BY_PLACE],
    )
    check(result, predictions, targets, vectors)


def saved_suite(folder: Path) -> tuple[list, list, list]:
    targets = scenes()
    predictions = [torch.roll(frames, 1, 0) for frames in targets]
    actions = [np.random.default_rng(i).normal(size=(6, 3)) for i in range(3)]
    (folder / "actions").mkdir()
    for index in range(3):
        write_video(folder / f"gt/{index}.mp4", targets[index], 5, lossless=True)
        write_video(folder / f"pred/{index}.mp4", predictions[index], 5, lossless=True)
        np.savez(folder / f"actions/{index}.npz", actions=actions[index])
    return predictions, targets, actions


def run(folder: Path, *overrides: str) -> SuiteResult:
    return evaluate(
        folder / "gt",
        folder / "pred",
        num_context=NUM_CONTEXT,
        overrides=[*BY_PLACE, f"suite.actions={folder / 'actions'}", *overrides],
    )


def test_saved_actions_beside_plain_videos(tmp_path: Path) -> None:
    """With one process and with two; their digests are part of the result."""
    predictions, targets, actions = saved_suite(tmp_path)
    result = run(tmp_path)
    check(result, predictions, targets, [each.astype(np.float32) for each in actions])
    assert {"actions/0.mp4", "actions/2.mp4"} <= set(result.provenance.input_sha256)
    again = run(tmp_path, "trainer.devices=2")
    assert again.provenance.input_sha256 == result.provenance.input_sha256
    for ours, other in zip(again.episodes, result.episodes, strict=True):
        assert ours.metrics == other.metrics


def test_saved_actions_that_do_not_fit_are_named(tmp_path: Path) -> None:
    """By file, or as the reason of the episode."""
    saved_suite(tmp_path)
    np.savez(tmp_path / "actions/1.npz", actions=np.ones((5, 3)))
    outcome = run(tmp_path).episodes[1].metrics["action_following"]
    assert outcome.status == "unsupported"
    assert outcome.reason == "There are 5 actions, and 6 from frame to frame."
    np.savez(tmp_path / "actions/1.npz", actions=np.full((6, 3), np.nan))
    with pytest.raises(InputError, match=r"1\.npz: actions\[0, 0\] is nan"):
        run(tmp_path)
    (tmp_path / "actions/1.npz").unlink()
    with pytest.raises(PairingError, match=r"1\.mp4: no file"):
        run(tmp_path)


def test_other_actions_than_the_suites_own_count_where_they_are_given(tmp_path: Path) -> None:
    """As for a model: to see whether the metric listens."""
    written = write_dataset(tmp_path / "gt", num_frames=(7, 6, 8))
    (tmp_path / "actions").mkdir()
    others = []
    for index, frames in enumerate(written.frames):
        write_video(tmp_path / f"pred/episode_{index:06d}.mp4", frames, 5, lossless=True)
        others.append(np.ones((len(frames), 2), np.float32))
        np.save(tmp_path / f"actions/episode_{index:06d}.npy", others[-1])
    check(run(tmp_path, "suite=lerobot"), written.frames, written.frames, others)
