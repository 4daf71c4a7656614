"""Does the predicted robot move as its actions say?"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from wbgpu.action_adapters import LinearFit, LinearMap
from wbgpu.errors import ConfigurationError
from wbgpu.metrics import check_track_metric
from wbgpu.metrics.action_following import ActionFollowing, action_following, displacement
from wbgpu.metrics.track_metric import TrackedEpisode
from wbgpu.records.signals import EpisodeSignals
from wbgpu.tracking import ColourBlobs, Tracks

_NUM_STEPS = 16
_MAP = LinearMap([0, 1], [[10.0, 2.0], [0.0, -5.0]])


def _tracks(moved):
    """A track that starts anywhere and moves by ``moved [T - 1, 2]``."""
    start = torch.tensor([[50.0, 60.0]], dtype=torch.float64)
    position = torch.cat([start, start + torch.as_tensor(moved).cumsum(dim=0)])[:, None]
    ones = torch.ones((len(position), 1), dtype=torch.float64)
    return Tracks(("robot",), position, ones, ones)


def _episode(num_context=3, scale=1.0, seed=0, delay=0):
    """Actions of a whole episode, a target that obeys them and a prediction of ``scale`` times."""
    rng = np.random.default_rng(seed)
    actions = rng.normal(size=(num_context + _NUM_STEPS - 1, 2)).astype(np.float32)
    adapter = LinearMap([0, 1], _MAP.matrix, delay)
    pixels = np.nan_to_num(adapter.motion(actions, None).pixels)
    # Action i leads from frame i to i + 1; step 1 is frame num_context.
    moved = pixels[num_context : num_context + _NUM_STEPS - 1]
    tracks = {"prediction": _tracks(scale * moved), "target": _tracks(moved)}
    return TrackedEpisode(tracks, EpisodeSignals(action_vectors=actions), num_context)


@pytest.mark.parametrize("num_context", [0, 1, 3])
@pytest.mark.parametrize(
    ("scale", "value"), [(1.0, 1.0), (0.0, 0.0), (2.0, 0.0), (0.5, 0.75), (-1.0, -3.0)]
)
def test_known_motions_have_known_values(num_context, scale, value):
    """Obedient, frozen, twice as fast, half as fast, backwards; and aligned with the actions."""
    outcome = ActionFollowing(adapter=_MAP).outcome(_episode(num_context, scale))
    assert outcome.value == pytest.approx(value, abs=1e-9)
    assert outcome.prefix_details["target_following"][-1] == pytest.approx(1)
    assert outcome.prefix[0] is None, "there is no displacement at step 1"
    assert outcome.prefix_reasons[0]


def test_delayed_actions_are_found_again():
    """The motion of an action in the context may come after it."""
    episode = _episode(delay=2)
    outcome = ActionFollowing(adapter=LinearMap([0, 1], _MAP.matrix, 2)).outcome(episode)
    assert outcome.value == pytest.approx(1)
    assert ActionFollowing(adapter=_MAP).outcome(episode).value < 0.3


def test_a_prefix_pools_its_steps():
    """By a loop: ratios of sums, of steps that are known."""
    rng = np.random.default_rng(1)
    moved, motion = rng.normal(size=(2, 6, 2))
    moved[0], moved[3], motion[4] = np.nan, np.nan, np.nan
    values = action_following(torch.from_numpy(moved), torch.from_numpy(motion))
    error = commanded = 0.0
    for step in range(6):
        if step not in (0, 3, 4):
            error += ((moved[step] - motion[step]) ** 2).sum()
            commanded += (motion[step] ** 2).sum()
        expected = 1 - error / commanded if commanded else np.nan
        assert values.prefix[0, step].item() == pytest.approx(expected, nan_ok=True)


def test_displacement_is_of_consecutive_steps():
    """NaN at step 1 and around what is not seen."""
    tracks = _tracks(np.array([[1.0, 2.0], [3.0, -4.0]]))
    assert displacement(tracks)[1:].tolist() == [[1, 2], [3, -4]]
    assert displacement(tracks)[0].isnan().all()


def test_the_fit_sees_the_target_alone():
    """A prediction must not be measured by a map fitted to it."""
    adapter = LinearFit([0, 1], scope="episode")
    for scale, value in ((1.0, 1.0), (-1.0, -3.0)):
        outcome = ActionFollowing(adapter=adapter).outcome(_episode(scale=scale))
        assert outcome.value == pytest.approx(value, abs=1e-9)
        assert outcome.prefix_details["adapter_r_squared"][-1] == pytest.approx(1)


def test_actions_that_do_not_explain_the_target_are_unsupported():
    """With the R^2 in the reason."""
    episode = _episode()
    noise = np.random.default_rng(5).normal(size=(_NUM_STEPS - 1, 2))
    tracks = {**episode.tracks, "target": _tracks(noise)}
    metric = ActionFollowing(adapter=LinearFit([0, 1], scope="episode"))
    outcome = metric.outcome(TrackedEpisode(tracks, episode.signals, episode.num_context))
    assert outcome.status == "unsupported"
    assert "R^2 is" in outcome.reason


def test_keeps_the_contract():
    """Of every metric of tracks; its config has no adapter, so it is checked here."""
    actions = np.tile(np.array([[5.0, 0.5]], dtype=np.float32), (16, 1))
    metric = ActionFollowing(adapter=LinearMap([0, 1], np.eye(2)), tracker=ColourBlobs())
    check_track_metric(metric, EpisodeSignals(action_vectors=actions))


def test_without_actions_or_adapter_no_frame_is_tracked():
    """And the reason says which is missing."""
    signals = _episode().signals
    assert "No action adapter" in ActionFollowing().refusal(signals)
    assert "no action vectors" in ActionFollowing(adapter=_MAP).refusal(None)
    assert "no action vectors" in ActionFollowing(adapter=_MAP).refusal(EpisodeSignals())
    assert ActionFollowing(adapter=_MAP).refusal(signals) is None


def test_still_commands_are_undefined():
    """There is nothing to follow."""
    episode = _episode()
    still = EpisodeSignals(action_vectors=0 * episode.signals.action_vectors)
    outcome = ActionFollowing(adapter=_MAP).outcome(TrackedEpisode(episode.tracks, still, 3))
    assert "No motion is commanded" in outcome.reason


def test_the_adapter_is_part_of_the_id():
    """Values by other meanings of the actions are not compared."""
    other = LinearMap([0, 1], 2 * _MAP.matrix)
    ids = {ActionFollowing(adapter=a).metric_id for a in (None, _MAP, other)}
    assert len(ids) == 3


def test_a_fit_that_needs_the_whole_suite_is_refused():
    """The metric sees one episode at a time."""
    with pytest.raises(ConfigurationError, match="has to see the whole suite"):
        ActionFollowing(adapter=LinearFit([0]))
