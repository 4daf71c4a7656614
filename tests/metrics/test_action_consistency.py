from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from worldbench.metrics import ActionConsistencyMetric

from tests.oracles.drawn_scenes import (
    SYNTHETIC,
    peer_result,
    random_actions,
    random_scene,
    write_images,
)
from wbgpu.metrics import ActionConsistency, TrackedEpisode
from wbgpu.metrics.action_consistency import action_scores, direction, expected_motion
from wbgpu.records.signals import EpisodeSignals
from wbgpu.tracking import ColourBlobs


def _outcome(frames, actions, num_context=0):
    signals = EpisodeSignals(actions=tuple(actions), metadata=SYNTHETIC)
    metric = ActionConsistency()
    if (reason := metric.refusal(signals)) is not None:
        return metric.refused_outcome(reason, len(frames))
    tracks = ColourBlobs().track(torch.from_numpy(frames).permute(0, 3, 1, 2))
    return metric.outcome(TrackedEpisode({"prediction": tracks}, signals, num_context))


@pytest.mark.parametrize("seed", range(12))
def test_every_prefix_is_worldbenchs(tmp_path, seed):
    """Against worldbench on each prefix anew: values, reasons, steps and lists."""
    rng = np.random.default_rng(seed)
    frames = random_scene(rng, int(rng.integers(1, 14)))
    actions = random_actions(rng, int(rng.integers(0, 16)))
    if seed % 4 == 3 and actions:
        actions[int(rng.integers(len(actions)))] = {"t": 0, "action": [1.0, 2.0]}
    images = write_images(tmp_path / "images", frames)
    outcome = _outcome(frames, actions)
    whole = peer_result(ActionConsistencyMetric(), images, actions, SYNTHETIC)
    assert outcome.reason == whole.reason
    assert outcome.value == pytest.approx(whole.score, abs=1e-9)
    lacking = outcome.lacking_prefixes(len(frames))
    for index in range(len(frames)):
        shorter = actions[:index]
        expected = peer_result(ActionConsistencyMetric(), images[: index + 1], shorter, SYNTHETIC)
        assert outcome.prefix_at(index + 1) == pytest.approx(expected.score, abs=1e-9), index
        assert lacking.get(index + 1) == expected.reason
        if expected.score is not None:
            details = {k: column[index] for k, column in outcome.prefix_details.items()}
            for key in ("steps", "failed_steps", "failure_rate"):
                assert details[key] == expected.details[key]
            assert (
                list(details["commanded_vs_predicted"])
                == (expected.details["commanded_vs_predicted"])
            )
            assert list(details["failures"]) == expected.details["failures"]


def test_the_step_view_is_the_action_that_leads_to_it():
    """Shifted by one, the report would blame the wrong frame."""
    frames = random_scene(np.random.default_rng(5), 6)
    actions = [{"t": t, "action": "move_right"} for t in range(5)]
    outcome = _outcome(frames, actions)
    steps = [value for value in outcome.step if value is not None]
    assert outcome.step[0] is None
    assert len(steps) == 5
    assert np.mean(steps) == pytest.approx(outcome.value)


def test_actions_begin_at_the_first_scored_frame():
    """After context frames, action k leads from frame k to the next."""
    frames = random_scene(np.random.default_rng(6), 8)
    actions = [{"t": t, "action": name} for t, name in enumerate(["move_left"] * 3 + ["hold"] * 4)]
    after = _outcome(frames[3:], actions, num_context=3)
    assert after.value == _outcome(frames[3:], actions[3:]).value


def test_formulas_are_those_of_the_recorded_vectors(shared: Path) -> None:
    """worldbench's own functions on single inputs, as recorded."""
    recorded = json.loads((shared / "golden/expected/unit_vectors.json").read_text())
    for expected, observed, score in recorded["score_motion"]:
        position = torch.tensor([[0.0, 0.0], observed], dtype=torch.float64)
        motion = torch.tensor([expected], dtype=torch.float64)
        assert action_scores(position, motion).item() == pytest.approx(score, abs=1e-9)
    for vector, label in recorded["direction_label"]:
        assert direction(*vector) == label
    for name, dx, dy, motion in recorded["expected_motion"]:
        found = expected_motion({"action": name, "dx": dx, "dy": dy})
        # The others read a direction into the middle of a word.
        if found is not None and name not in ("bright", "setup", "countdown", "UPRIGHT"):
            assert list(found) == motion, name
    for name, dx, is_supported in recorded["supports_motion_adapter"]:
        assert (expected_motion({"action": name, "dx": dx}) is not None) == is_supported


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ({"action": "move_right"}, (1.0, 0.0)),
        ({"action": "move_left", "dx": 3.0}, (-3.0, 0.0)),
        ({"action": "MoveUp"}, (0.0, -1.0)),
        ({"action": "move down-right"}, (1.0, 1.0)),
        ({"action": "moveright"}, (1.0, 0.0)),
        ({"action": "rightwards"}, (1.0, 0.0)),
        ({"action": "close_gripper", "dx": 4.0}, (0.0, 0.0)),
        ({"action": "hold", "dx": 4.0}, (0.0, 0.0)),
        ({}, (0.0, 0.0)),
        ({"action": "bright", "dx": 0.5}, (0.5, 0.0)),
        ({"action": "setup"}, (0.0, 0.0)),
        ({"action": "threshold", "dy": 2.0}, (0.0, 2.0)),
        ({"action": [0.1, 0.2]}, None),
        ({"action": [0.1, 0.2], "dy": 2.0}, (0.0, 2.0)),
        ({"action": {"right": 1}}, None),
    ],
)
def test_what_an_action_says(action, expected):
    """worldbench reads 'bright' as right and 'setup' as up."""
    assert expected_motion(action) == expected


def test_issues_name_the_actions_that_failed():
    """A score below 100 without a word does not help."""
    frames = np.stack([random_scene(np.random.default_rng(1), 1)[0]] * 4)
    frames[:, 10:16, 10:16] = (220, 45, 45)
    outcome = _outcome(frames, [{"t": t, "action": "move_right"} for t in range(3)])
    assert outcome.issues == ("The predicted robot did not follow 3 of 3 actions: move_right (3).",)
