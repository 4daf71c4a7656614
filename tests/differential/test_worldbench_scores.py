"""wbgpu against worldbench 0.4.1: every episode, metric, aggregate and horizon value to 1e-5.

worldbench sums in float32, so its own numbers are off by up to 2e-6.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from worldbench.runners.regression import evaluate_video_batch

import wbgpu
from wbgpu.records.worldbench import batch_payload
from wbgpu.video.decord import DecordDecoder
from wbgpu.video.encode import write_video

TOLERANCE = 1e-5

Frames = np.ndarray[Any, np.dtype[np.uint8]]


def numbers(payload: dict[str, Any]) -> dict[str, float | None]:
    """All scores in a batch payload by a readable path."""
    found: dict[str, float | None] = {}
    for key, value in payload["aggregate"]["overall"].items():
        found[f"overall.{key}"] = value
    for name, summary in payload["aggregate"]["metrics"].items():
        for key in ("mean", "median", "std", "min", "max", "p10", "p90", "available_count"):
            found[f"aggregate.{name}.{key}"] = summary.get(key)
    for label, entry in payload["horizon"].items():
        found[f"{label}.sample_count"] = entry["sample_count"]
        for name, statistics in entry["metrics"].items():
            for key, value in statistics.items():
                found[f"{label}.{name}.{key}"] = value
    for episode in payload["episodes"]:
        where = episode["episode_id"]
        found[f"{where}.score"] = episode["score"]
        for name, metric in episode["metrics"].items():
            found[f"{where}.{name}"] = metric["score"]
        (inner,) = episode["result"]["episodes"]
        for name, metric in inner["metrics"].items():
            found.update(flat(f"{where}.{name}.details", metric["details"]))
        for label, entry in inner["horizon"].items():
            found[f"{where}.{label}.score"] = entry["score"]
            for name, metric in entry["metrics"].items():
                found[f"{where}.{label}.{name}"] = metric["score"]
                found.update(flat(f"{where}.{label}.{name}.details", metric["details"]))
    return found


def flat(prefix: str, value: Any) -> dict[str, float | None]:
    if isinstance(value, dict):
        return {k: v for name in value for k, v in flat(f"{prefix}.{name}", value[name]).items()}
    if isinstance(value, list):
        return {
            k: v for i, item in enumerate(value) for k, v in flat(f"{prefix}[{i}]", item).items()
        }
    return {prefix: value}


def assert_equal_scores(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    left, right = numbers(ours), numbers(theirs)
    assert right.keys() <= left.keys()
    for key, expected in right.items():
        value = left[key]
        if expected is None or value is None:
            assert value == expected, key
        else:
            # PSNR is in dB, squared error in squared intensity: float32 sums are off relatively.
            assert value == pytest.approx(expected, abs=TOLERANCE, rel=3e-7), key
    assert ours["episode_ids"] == theirs["episode_ids"]
    assert ours["dataset_identifier"] == theirs["dataset_identifier"]
    assert ours["configuration_hash"] == theirs["configuration_hash"]
    assert ours["coverage"] == theirs["coverage"]
    assert [e["episode_id"] for e in ours["worst_episodes"]] == [
        e["episode_id"] for e in theirs["worst_episodes"]
    ]


@pytest.mark.parametrize(
    ("predictions", "skip_context"),
    [("baseline", 0), ("baseline", 1), ("candidate", 0), ("candidate", 1)],
)
def test_golden_videos(shared: Path, predictions: str, skip_context: int) -> None:
    """The sixteen golden pairs against what worldbench 0.4.1 wrote for them."""
    golden = shared / "golden"
    raw = golden / f"raw/batch_pypi_{predictions}_skip{skip_context}.json.gz"
    theirs = json.loads(gzip.decompress(raw.read_bytes()))
    result = wbgpu.evaluate(golden / "gt", golden / predictions, num_context=skip_context)
    assert_equal_scores(batch_payload(result), theirs)


@pytest.mark.parametrize("predictions", ["baseline", "candidate"])
def test_golden_videos_under_worldbenchs_fallback_statistic(shared: Path, predictions: str) -> None:
    """A baseline made without scikit-image is comparable under the luma id."""
    golden = shared / "golden"
    raw = golden / f"raw/batch_pypi-noskimage_{predictions}_skip0.json.gz"
    theirs = json.loads(gzip.decompress(raw.read_bytes()))
    result = wbgpu.evaluate(
        golden / "gt",
        golden / predictions,
        metrics=["visual_similarity_luma", "temporal_stability"],
    )
    assert_equal_scores(batch_payload(result), theirs)


def noise(frames: Frames) -> Frames:
    drift = np.random.default_rng(7).normal(0, 12, frames.shape)
    return np.clip(frames + drift, 0, 255).astype(np.uint8)


def freeze(frames: Frames) -> Frames:
    return np.concatenate([frames[:3], np.repeat(frames[2:3], len(frames) - 3, axis=0)])


def scramble(frames: Frames) -> Frames:
    return frames[np.random.default_rng(7).permutation(len(frames))]


def flicker(frames: Frames) -> Frames:
    gains = np.where(np.arange(len(frames)) % 3 == 2, 0.5, 1.0)[:, None, None, None]
    return (frames * gains).astype(np.uint8)


def cut(frames: Frames) -> Frames:
    return np.concatenate([frames[:5], 255 - frames[5:]])


def copy(frames: Frames) -> Frames:
    return frames


@pytest.mark.parametrize("degrade", [noise, freeze, scramble, flicker, cut, copy])
def test_degraded_robot_episodes(
    shared: Path, tmp_path: Path, degrade: Callable[[Frames], Frames]
) -> None:
    """Real robot video, degraded, through both packages in one process."""
    videos = sorted((shared / "data/bridge").glob("*.mp4"))[:2]
    for index, path in enumerate(videos):
        with DecordDecoder().open(path) as reader:
            tensor = reader.read(0, 11)
        # A quarter of the area, since worldbench decodes and scores every prefix again.
        frames = tensor.permute(0, 2, 3, 1).numpy()[:, 64:192, 64:192]
        write_video(tmp_path / f"gt/{index}.mp4", frames, fps=5)
        write_video(tmp_path / f"predictions/{index}.mp4", degrade(frames), fps=5)
    theirs, _ = evaluate_video_batch(
        tmp_path / "gt",
        tmp_path / "predictions",
        skip_context=2,
        output_root=tmp_path / "runs",
        output=tmp_path / "theirs.json",
    )
    ours = wbgpu.evaluate(tmp_path / "gt", tmp_path / "predictions", num_context=2)
    assert_equal_scores(batch_payload(ours), theirs)
