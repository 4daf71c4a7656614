"""The fitted map: exact where it can be, and honest where it cannot."""

from __future__ import annotations

import numpy as np
import pytest

from wbgpu.action_adapters import ActionsAndTrack, LinearFit
from wbgpu.errors import ConfigurationError, InputError

_MATRIX = np.array([[40.0, -3.0, 1.0], [2.0, 15.0, -30.0]])


def _episode(seed, matrix=_MATRIX, noise=0.0, num=20, delay=0):
    rng = np.random.default_rng(seed)
    actions = rng.normal(size=(num, 4)).astype(np.float32)
    moved = rng.normal(scale=noise or 1e-12, size=(num, 2))
    moved[delay:] += actions[: num - delay, [0, 1, 3]].astype(np.float64) @ matrix.T
    return ActionsAndTrack(actions, None, moved)


@pytest.mark.parametrize("scope", ["episode", "other_episodes"])
@pytest.mark.parametrize("delay", [0, 2])
def test_finds_the_map_that_made_the_motion(scope, delay):
    """Delay, order of elements and orientation of the matrix."""
    episodes = {str(seed): _episode(seed, delay=delay) for seed in range(3)}
    fitted = LinearFit([0, 1, 3], delay, scope).fit(episodes)
    for name, episode in episodes.items():
        np.testing.assert_allclose(fitted[name].linear_map.matrix, _MATRIX, atol=1e-9)
        assert fitted[name].r_squared == pytest.approx(1)
        motion = fitted[name].motion(episode.actions, None)
        np.testing.assert_allclose(motion.pixels[delay:], episode.displacement[delay:], atol=1e-6)


def test_the_wrong_delay_is_unsupported():
    """It explains nothing, and the reason says how little."""
    fitted = LinearFit([0, 1, 3], 0).fit({str(i): _episode(i, delay=1) for i in range(4)})
    for fit in fitted.values():
        assert fit.r_squared < 0.3
        assert "explain too little of the motion" in fit.reason
        assert f"R^2 is {fit.r_squared:.2f}, and 0.3 is needed" in fit.reason
        assert fit.motion(_episode(0).actions, None).pixels is None


def test_leaving_one_step_out_equals_fitting_again_without_it():
    """The short cut by leverages is exact: against a loop of fits."""
    episode = _episode(0, noise=30.0)
    deltas, moved = episode.actions[:, [0, 1, 3]].astype(np.float64), episode.displacement
    error = 0.0
    for left in range(len(deltas)):
        kept = np.arange(len(deltas)) != left
        matrix = np.linalg.lstsq(deltas[kept], moved[kept], rcond=None)[0]
        error += ((moved[left] - deltas[left] @ matrix) ** 2).sum()
    expected = 1 - error / (moved**2).sum()
    fit = LinearFit([0, 1, 3], scope="episode").fit({"a": episode})["a"]
    assert fit.r_squared == pytest.approx(expected, rel=1e-9)


def test_other_episodes_are_all_that_a_map_has_seen():
    """An episode of another camera: the map of the others fails there, and only there."""
    episodes = {str(seed): _episode(seed) for seed in range(4)}
    episodes["turned"] = _episode(9, -_MATRIX)
    fitted = LinearFit([0, 1, 3], min_r_squared=0.0).fit(episodes)
    np.testing.assert_allclose(fitted["turned"].linear_map.matrix, _MATRIX, atol=1e-9)
    assert fitted["turned"].r_squared == pytest.approx(-3), "1 - (2 d)^2 / d^2"
    assert fitted["turned"].reason is not None
    changed = {**episodes, "0": _episode(0, -_MATRIX)}
    assert LinearFit([0, 1, 3]).fit(changed)["0"].linear_map.matrix.tolist() == (
        fitted["0"].linear_map.matrix.tolist()
    )


def test_steps_that_are_not_seen_are_left_out():
    """NaN displacements are no displacement of 0."""
    episode = _episode(0)
    episode.displacement[3:6] = np.nan
    fit = LinearFit([0, 1, 3], scope="episode").fit({"a": episode})["a"]
    assert fit.num_steps == 17
    np.testing.assert_allclose(fit.linear_map.matrix, _MATRIX, atol=1e-9)


def test_too_little_to_fit_is_unsupported():
    """A line through two points has R^2 of 1."""
    few = LinearFit([0, 1, 3], scope="episode").fit({"a": _episode(0, num=11)})["a"]
    assert "not determined by the 11 step(s) that the episode has; it takes 12" in few.reason
    alone = LinearFit([0, 1, 3]).fit({"a": _episode(0)})["a"]
    assert "by the 0 step(s) that the other episodes have" in alone.reason
    still = _episode(0)
    still.actions[:, 1] = 0
    assert (
        "in which all elements vary"
        in LinearFit([0, 1], scope="episode").fit({"a": still})["a"].reason
    )
    frozen = ActionsAndTrack(_episode(0).actions, None, np.zeros((20, 2)))
    assert "does not move" in LinearFit([0], scope="episode").fit({"a": frozen})["a"].reason


def test_missing_elements_are_unsupported_and_cost_nobody_else():
    """A dataset may mix robots."""
    episodes = {str(seed): _episode(seed) for seed in range(3)}
    named = {
        key: ActionsAndTrack(e.actions, ("a", "b", "c", "d"), e.displacement)
        for key, e in episodes.items()
    }
    named["other"] = ActionsAndTrack(_episode(5).actions, ("e", "f", "g", "h"), np.zeros((20, 2)))
    fitted = LinearFit(["a", "b", "d"]).fit(named)
    assert "'a' is not among the names" in fitted["other"].reason
    assert fitted["0"].r_squared == pytest.approx(1)


def test_malformed_episodes_are_named():
    """One of a thousand."""
    bad = ActionsAndTrack(_episode(0).actions, None, np.zeros(20))
    with pytest.raises(InputError, match=r"episode x: displacement \(20,\): expected \[M, 2\]"):
        LinearFit([0]).fit({"x": bad})


@pytest.mark.parametrize(
    "setting", [{"scope": "all"}, {"min_r_squared": 1.0}, {"delay_steps": -1}, {"elements": []}]
)
def test_settings_out_of_range_are_refused(setting):
    """By name."""
    with pytest.raises(ConfigurationError, match=next(iter(setting))):
        LinearFit(**{"elements": [0], **setting})
