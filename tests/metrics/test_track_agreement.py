"""Metrics that compare tracks: against loops that anybody can check."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from wbgpu.errors import ConfigurationError
from wbgpu.metrics.track_agreement import (
    ContactAgreement,
    MotionOnsetError,
    TrackError,
    TrackPresence,
    contact_agreement,
    motion_onset_error,
    track_error,
    track_presence,
)
from wbgpu.metrics.track_metric import TrackedEpisode
from wbgpu.records.signals import EpisodeSignals
from wbgpu.tracking import SuppliedFolder, Tracks

_NAN = float("nan")


def _tracks(robot, other, area=0.0):
    """Tracks of lists of (x, y) or None."""
    rows = [[(_NAN, _NAN) if p is None else p for p in pair] for pair in zip(robot, other)]
    position = torch.tensor(rows, dtype=torch.float64)
    seen = (~position[..., 0].isnan()).double()
    return Tracks(("robot", "object"), position, area * seen, seen)


points = st.one_of(st.none(), st.tuples(st.integers(0, 20), st.integers(0, 20)))
episodes = st.integers(1, 6).flatmap(
    lambda n: st.tuples(*[st.lists(points, min_size=n, max_size=n) for _ in range(4)])
)


def _same(values, expected):
    np.testing.assert_allclose(values[0].numpy(), np.array(expected, dtype=float), rtol=1e-12)


@given(episodes)
def test_error_and_presence_equal_a_loop(sides):
    """Pooled over roles and steps, of what both show, and of what the target shows."""
    prediction, target = _tracks(*sides[:2]), _tracks(*sides[2:])
    errors, shares, total, both, real = [], [], 0.0, 0, 0
    for step in range(len(sides[0])):
        for predicted, true in ((sides[0], sides[2]), (sides[1], sides[3])):
            p, q = predicted[step], true[step]
            real += q is not None
            if p is not None and q is not None:
                total, both = total + math.dist(p, q), both + 1
        errors.append(total / both if both else _NAN)
        shares.append(both / real if real else _NAN)
    _same(track_error(prediction, target).prefix, errors)
    _same(track_presence(prediction, target).prefix, shares)


@given(episodes)
def test_onset_error_equals_a_loop(sides):
    """Steps of disagreement, from where each was first seen."""

    def moved(path):
        first, state, out = None, False, []
        for point in path:
            if point is not None:
                first = first or point
                state = state or math.dist(first, point) > 4
            out.append(state)
        return out

    predicted, true = moved(sides[1]), moved(sides[3])
    expected, count = [], 0
    for p, q in zip(predicted, true):
        count += p != q
        expected.append(count if p or q else _NAN)
    tracks = [_tracks(*sides[:2]).of("object"), _tracks(*sides[2:]).of("object")]
    _same(motion_onset_error(*tracks, 4.0).prefix, expected)


@given(episodes, st.sampled_from([0.0, math.pi, 9 * math.pi]))
def test_contact_agreement_equals_a_loop(sides, area):
    """Of discs of the areas, with a margin."""

    def touch(robot, other):
        reach = 4 + 2 * math.sqrt(area / math.pi)
        return robot is not None and other is not None and math.dist(robot, other) <= reach

    both = either = 0
    expected = []
    for step in zip(*sides):
        p, q = touch(*step[:2]), touch(*step[2:])
        both, either = both + (p and q), either + (p or q)
        expected.append(both / either if either else _NAN)
    values = contact_agreement(_tracks(*sides[:2], area), _tracks(*sides[2:], area), 4.0)
    _same(values.prefix, expected)


def _outcome(metric, prediction, target):
    return metric.outcome(TrackedEpisode({"prediction": prediction, "target": target}))


def test_late_missing_and_needless_motion_count_alike():
    """What a frozen prediction, a late one and a premature one cost."""
    still, moving = [(0, 0)] * 6, [(0, 0), (0, 0), (9, 0), (9, 0), (9, 0), (9, 0)]
    late = [(0, 0)] * 4 + [(9, 0)] * 2
    values = [
        _outcome(MotionOnsetError(), _tracks(still, p), _tracks(still, q)).value
        for p, q in ((still, moving), (late, moving), (moving, late), (moving, still))
    ]
    assert values == [4, 2, 2, 4]
    nothing = _outcome(MotionOnsetError(), _tracks(still, still), _tracks(still, still))
    assert nothing.status == "unsupported"
    assert "has not moved" in nothing.reason


def test_perfect_predictions_are_perfect():
    """The end of each scale."""
    path = [(0, 0), (3, 0), (9, 0)]
    tracks = _tracks(path, [(9, 0)] * 3, area=9.0)
    metrics = [TrackError(), TrackPresence(), ContactAgreement()]
    assert [_outcome(metric, tracks, tracks).value for metric in metrics] == [0, 1, 1]


def test_a_horizon_does_not_look_ahead():
    """Prefix values of a longer episode are those of the shorter one."""
    rng = np.random.default_rng(0)
    paths = [[tuple(p) for p in rng.integers(0, 12, (8, 2)).tolist()] for _ in range(4)]
    for metric in (TrackError(), TrackPresence(), MotionOnsetError(), ContactAgreement()):
        prediction, target = _tracks(*paths[:2]), _tracks(*paths[2:])
        whole = _outcome(metric, prediction, target)
        for num in range(1, 9):
            part = _outcome(metric, prediction[:num], target[:num])
            assert part.value == whole.prefix_at(num)


def test_an_unseen_thing_has_a_reason():
    """Missing is not zero."""
    gone, there = _tracks([None] * 3, [None] * 3), _tracks([(1, 1)] * 3, [(1, 1)] * 3)
    assert "seen in both" in _outcome(TrackError(), gone, there).reason
    assert _outcome(TrackPresence(), gone, there).value == 0
    assert "in the target" in _outcome(TrackPresence(), there, gone).reason


@pytest.mark.parametrize("kind", [TrackError, TrackPresence, MotionOnsetError, ContactAgreement])
def test_colour_blobs_are_followed_in_drawn_scenes_only(kind):
    """A red mug is no robot: on real video the default tracker gave numbers that mean nothing."""
    drawn = EpisodeSignals(metadata={"robot": "synthetic_2d_arm"})
    assert kind().refusal(drawn) is None
    for signals in (None, EpisodeSignals(), EpisodeSignals(metadata={"robot": "widowx"})):
        assert "drawn scenes only" in kind().refusal(signals)
        assert kind(tracker=SuppliedFolder("tracks")).refusal(signals) is None


def test_settings_are_part_of_the_id_and_checked():
    """Other thresholds are other metrics."""
    assert MotionOnsetError().metric_id == "motion_onset_error/wbgpu-1.0"
    assert MotionOnsetError(min_displacement=8.0).metric_id == "motion_onset_error/wbgpu-1.0(8)"
    assert ContactAgreement(margin=2.0).metric_id == "contact_agreement/wbgpu-1.0(2)"
    with pytest.raises(ConfigurationError, match="margin: expected pixels above 0"):
        ContactAgreement(margin=0.0)
