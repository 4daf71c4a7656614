from __future__ import annotations

from pathlib import Path

import pytest
import torch

from wbgpu.episodes.pairing import EpisodePair
from wbgpu.evaluation.tracking import EpisodeTracks
from wbgpu.metrics import ContactRealism, ObjectPermanence, TrackMetric
from wbgpu.records.clip import Clip
from wbgpu.records.metric import MetricOutcome
from wbgpu.records.signals import EpisodeSignals
from wbgpu.tracking import ColourBlobs, Tracks


class _Counting:
    """Colour blobs that remember what they were shown."""

    names = ("robot", "object")
    tracker_id = "counting/1"

    def __init__(self) -> None:
        self.shapes: list[tuple[int, ...]] = []

    def start(self) -> _Counting:
        return self

    def track(self, frames: torch.Tensor) -> Tracks:
        self.shapes.append(tuple(frames.shape))
        return ColourBlobs().track(frames)


class _Broken(_Counting):
    tracker_id = "broken/1"

    def track(self, frames: torch.Tensor) -> Tracks:
        raise RuntimeError("no such colour")


class _BySides(TrackMetric):
    """Looks at both sides."""

    name = "by_sides"
    metric_id = "by_sides/1"
    unit = "pixels"
    sides = frozenset({"prediction", "target"})

    def outcome(self, episode) -> MetricOutcome:
        raise NotImplementedError


def _pair(**metadata: str) -> EpisodePair:
    signals = EpisodeSignals(metadata=metadata)
    return EpisodePair("e", Clip(Path("truth")), signals, prediction=Clip(Path("guess")))


def _frames(height: int, count: int = 2) -> torch.Tensor:
    return torch.zeros((count, 3, height, height), dtype=torch.uint8)


def _take(tracks: EpisodeTracks) -> None:
    tracks.take(prediction=_frames(8), target=_frames(8), own_prediction=_frames(6))


def test_one_tracker_runs_once_for_all_metrics():
    """Two metrics of one tracker would otherwise cost two passes over the frames."""
    tracker = _Counting()
    metrics = [ObjectPermanence(tracker=tracker), ContactRealism(tracker=tracker)]
    tracks = EpisodeTracks(metrics, _pair(robot="synthetic"), 3)
    _take(tracks)
    _take(tracks)
    assert tracker.shapes == [(2, 3, 6, 6)] * 2
    seen = tracks.seen_by(metrics[1])
    assert (len(seen.tracks["prediction"]), seen.num_steps, seen.num_context) == (4, 4, 3)


def test_both_sides_are_seen_in_one_size():
    """Positions in two scales must not be subtracted from each other."""
    tracker = _Counting()
    metric = _BySides(tracker=tracker)
    tracks = EpisodeTracks([metric], _pair(), 0)
    _take(tracks)
    assert tracker.shapes == [(2, 3, 8, 8)] * 2
    assert set(tracks.seen_by(metric).tracks) == {"prediction", "target"}


def test_refused_episodes_are_not_tracked():
    """Plain videos pay nothing for metrics that they cannot have."""
    tracker = _Counting()
    tracks = EpisodeTracks([ObjectPermanence(tracker=tracker)], _pair(robot="franka"), 0)
    assert not tracks.is_wanted
    assert tracker.shapes == []


def test_a_tracker_that_raises_costs_its_metrics_only():
    """One bad tracker must not lose a run of hours."""
    good, bad = ObjectPermanence(), ObjectPermanence(tracker=_Broken())
    tracks = EpisodeTracks([good, bad], _pair(robot="synthetic"), 0)
    _take(tracks)
    _take(tracks)
    assert len(tracks.seen_by(good).tracks["prediction"]) == 4
    with pytest.raises(RuntimeError, match="no such colour"):
        tracks.seen_by(bad)


def test_other_trackers_make_other_ids():
    """Values of two trackers under one id would be compared."""
    assert ObjectPermanence().metric_id == "object_permanence/worldbench-1.0"
    made = ObjectPermanence(tracker=_Counting())
    assert made.metric_id == "object_permanence/worldbench-1.0+counting/1"
