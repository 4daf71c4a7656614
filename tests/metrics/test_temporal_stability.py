"""temporal_stability against worldbench itself, prefix by prefix, and against recorded values."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metrics.frame_videos import episode_statistics, grey
from tests.oracles.prefix_loops import frame_deltas, temporal_stability_score
from tests.oracles.videos import make_video, to_torch, video_strategy
from tests.oracles.worldbench_prefixes import worldbench_prefixes
from wbgpu.metrics import TemporalStability
from wbgpu.metrics.temporal_stability import temporal_stability, temporal_stability_issues
from wbgpu.statistics import FrameStatistics

METRIC = TemporalStability()


MADE_ON_WRITING = ("flicker_frames", "largest_jump_delta")
"""Other names of jump_indices and max_frame_delta in worldbench's files."""


def _outcome(prediction):
    return METRIC.outcome(episode_statistics(METRIC, prediction, prediction))


@settings(max_examples=25, deadline=None)
@given(video=video_strategy)
def test_every_prefix_is_worldbenchs(video):
    """The id promises worldbench's numbers, at every horizon."""
    target, prediction, _ = video
    with TemporaryDirectory() as folder:
        expected = worldbench_prefixes(Path(folder), target, prediction)["temporal_stability"]
    outcome = _outcome(to_torch(prediction)[None])
    assert outcome.prefix[0] is None
    assert outcome.value == pytest.approx(expected[-1].score, abs=1e-5)
    assert len(outcome.issues) == len(expected[-1].issues)
    for t in range(1, len(target)):
        details = {name: column[t] for name, column in outcome.prefix_details.items()}
        reference = {k: v for k, v in expected[t].details.items() if k not in MADE_ON_WRITING}
        assert outcome.prefix[t] == pytest.approx(expected[t].score, abs=1e-5)
        assert list(details.pop("jump_indices")) == reference.pop("jump_indices")
        # Equal deltas can differ in worldbench's float32 sums, so the first largest is ambiguous.
        deltas = frame_deltas(prediction[: t + 1])
        assert details["largest_jump_frame"] == int(np.argmax(deltas))
        del details["largest_jump_frame"], reference["largest_jump_frame"]
        assert details == pytest.approx(reference, abs=1e-5)


def test_recorded_values_of_worldbench(shared):
    """Recorded, so that a changed worldbench cannot move both sides."""
    vectors = json.loads((shared / "golden/expected/unit_vectors.json").read_text())
    for vector in vectors["temporal_constant_frames"]:
        outcome = _outcome(grey(vector["gray_levels"]))
        details = {name: column[-1] for name, column in outcome.prefix_details.items()}
        assert outcome.value == pytest.approx(vector["score"], abs=1e-9), vector["gray_levels"]
        assert list(details["jump_indices"]) == vector["details"]["jump_indices"]
        for name, value in details.items():
            if name != "jump_indices" and name not in MADE_ON_WRITING:
                assert value == pytest.approx(vector["details"][name], abs=1e-9), name
        is_uneven = vector["details"]["std_frame_delta"] > 12
        assert len(outcome.issues) == bool(details["jump_indices"]) + is_uneven


@settings(max_examples=40, deadline=None)
@given(sums=st.lists(st.integers(0, 255 * 192), min_size=1, max_size=70))
def test_every_prefix_of_any_deltas_is_that_of_a_loop(sums):
    """Caps and jumps that small videos never reach."""
    num_values = torch.full((1, len(sums) + 1), 192)
    statistics = FrameStatistics(
        num_values=num_values, prediction_delta_sum=torch.tensor([[0, *sums]])
    )
    got = temporal_stability(statistics).prefix[0, 1:].tolist()
    deltas = [value / 192 for value in sums]
    expected = [temporal_stability_score(deltas[:n]) for n in range(1, len(sums) + 1)]
    assert got == pytest.approx(expected, abs=1e-9)


def test_horizon_one_is_undefined_with_worldbenchs_reason():
    """Files would differ from worldbench's, where the reason is fixed."""
    outcome = _outcome(grey([10, 20, 30]))
    assert outcome.prefix[0] is None
    reason = "Temporal stability requires at least one future-frame transition."
    assert outcome.prefix_reasons == (reason, None, None)
    assert all(column[0] in (None, ()) for column in outcome.prefix_details.values())


def test_one_frame_scores_zero_with_an_issue_as_in_worldbench():
    """The composite of a one-step episode would differ."""
    outcome = _outcome(grey([10]))
    assert (outcome.status, outcome.value, outcome.prefix) == ("available", 0.0, (None,))
    assert len(outcome.issues) == 1


def test_remarks_name_jumps_and_uneven_motion():
    """A score of 40 that does not say where to look costs somebody an hour."""
    assert temporal_stability_issues((), 12.0) == ()
    (uneven,) = temporal_stability_issues((), 12.01)
    assert "deviation of 12.0 levels" in uneven
    (jumps,) = temporal_stability_issues((0, 4), 3.0)
    assert "1->2, 5->6." in jumps
    jumps, uneven = temporal_stability_issues(tuple(range(7)), 20.0)
    assert "5->6 and 2 more" in jumps


def test_there_is_no_view_of_a_single_step():
    """One step has no transition; a number there would be made up."""
    assert _outcome(grey([10, 20, 30])).step == ()


def test_the_blind_spot_is_real():
    """A frozen prediction scores 100; the card says so and temporal_fidelity catches it."""
    assert _outcome(grey([10] * 6)).value == 100.0


def test_constant_deltas_have_no_spread_however_long():
    """Naive E[d^2] - E[d]^2 gives a small positive spread here, and a score below 100."""
    target, _, _ = make_video(0, "perfect", 2, 8, 8)
    video = to_torch(np.tile(target, (200, 1, 1, 1)))[None]
    details = _outcome(video).prefix_details
    assert set(details["std_frame_delta"][1:]) == {0.0}
