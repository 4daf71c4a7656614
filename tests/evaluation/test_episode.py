"""Episodes that are scored together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from wbgpu.episodes.pairing import Episode
from wbgpu.evaluation.episode import MeasuredEpisode, scored_episodes
from wbgpu.metrics import Mse, TemporalStability
from wbgpu.records.clip import Clip
from wbgpu.records.profile import Profile
from wbgpu.records.video import Alignment, VideoInfo
from wbgpu.statistics import FrameBatch, frame_statistics

METRICS = {metric.name: metric for metric in (Mse(), TemporalStability())}
GROUPS = frozenset[str]().union(*(metric.statistics for metric in METRICS.values()))


def measured(name: str, num_steps: int, with_frames: bool = True) -> MeasuredEpisode:
    info: dict[str, Any] = dict.fromkeys(VideoInfo.__dataclass_fields__)
    video = VideoInfo(**info)
    statistics = None
    if with_frames:
        generator = torch.Generator().manual_seed(num_steps)
        size = (1, num_steps, 3, 9, 8)
        target, prediction = (
            torch.randint(0, 256, size, dtype=torch.uint8, generator=generator) for _ in range(2)
        )
        statistics = frame_statistics(FrameBatch.from_videos(prediction, target), GROUPS)
        statistics = statistics.reshape(1, -1)
    return MeasuredEpisode(
        Episode(name, Clip(Path(f"gt/{name}"))).with_prediction(Clip(Path(f"predictions/{name}"))),
        Alignment("strict", 0, num_steps, video, video),
        statistics,
    )


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2)])
def test_a_record_does_not_depend_on_the_episodes_scored_with_it(order: tuple[int, ...]) -> None:
    """Which are scored together depends on timing and on the number of processes."""
    episodes = [
        measured("a.mp4", 5),
        measured("logits.mp4", 3, with_frames=False),
        measured("c.mp4", 1),
        measured("d.mp4", 12),
    ]
    alone = [scored_episodes([episode], METRICS, Profile())[0] for episode in episodes]
    together = scored_episodes([episodes[index] for index in order], METRICS, Profile())
    assert together == [alone[index] for index in order]
    assert [record.episode_id for record in alone] == ["a.mp4", "logits.mp4", "c.mp4", "d.mp4"]
    assert alone[1].metrics["mse"].reason == "The model predicts logits and no frames."
    assert alone[3].metrics["mse"].is_available


def test_episodes_without_frames_need_none_beside_them() -> None:
    (record,) = scored_episodes([measured("a.mp4", 3, with_frames=False)], METRICS, Profile())
    assert record.metrics["mse"].status == "unsupported"
