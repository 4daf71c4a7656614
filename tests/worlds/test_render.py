from __future__ import annotations

import hashlib

import numpy as np
import pytest

from tests.conftest import REPOSITORY
from tests.oracles.world_loops import holds
from tests.worlds.documents import CART, cart
from wbgpu.errors import ConfigurationError
from wbgpu.worlds import Renderer, load_world, roll_out

FILES = sorted((REPOSITORY / "configs/world").glob("*.yaml"))
RED, GREEN = [231, 76, 60], [46, 204, 113]
RENDER = {
    "canvas": 32,
    "background": "#000000",
    "sprites": [
        {"color": "#0000ff", "points": [[0, 28], [32, 28], [32, 32], [0, 32]]},
        {
            "color": "#e74c3c",
            "track": "robot",
            "points": [[-2, -2], [2, -2], [2, 2], [-2, 2]],
            "x": {"place": {"west": 6, "middle": 16, "east": 26}},
            "y": 8,
        },
        {
            "color": "#2ecc71",
            "track": "object",
            "points": [[-2, -2], [2, -2], [2, 2], [-2, 2]],
            "x": {"cargo": {"west": 6, "middle": 16, "east": 26}},
            "y": {"mood": {"calm": 20, "wild": 24}},
            "when": {"cargo": {"not": ["none", "aboard"]}},
        },
    ],
    "motion": {"ride": [1, 0]},
}
WORLD = load_world(cart(render=RENDER))
STATES = np.array([[0, 3, 0], [2, 1, 1], [1, 4, 0], [1, 0, 1]])


def test_draws_what_the_data_says():
    """Positions, order, colours and conditions, in exact pixels."""
    frames = Renderer(WORLD, 32).frames(STATES)
    assert frames.shape == (4, 32, 32, 3)
    assert frames.dtype == np.uint8
    expected = np.zeros((4, 32, 32, 3), dtype=np.uint8)
    expected[:, 28:] = [0, 0, 255]
    for row, column in enumerate((6, 26, 16, 16)):
        expected[row, 6:10, column - 2 : column + 2] = RED
    expected[0, 18:22, 24:28] = GREEN
    expected[1, 22:26, 4:8] = GREEN
    np.testing.assert_array_equal(frames, expected)


def test_tracks_are_where_the_colours_are():
    """States are ground truth of position: half a pixel off is a fault."""
    tracks = Renderer(WORLD, 64).tracks(STATES)
    frames = Renderer(WORLD, 64).frames(STATES)
    assert set(tracks) == {"robot", "object"}
    for name, color in (("robot", RED), ("object", GREEN)):
        for frame, place in zip(frames, tracks[name], strict=True):
            ys, xs = np.nonzero((frame == color).all(axis=-1))
            if len(xs):
                assert place.tolist() == [xs.mean(), ys.mean()]
            else:
                assert np.isnan(place).all()
    assert np.isnan(tracks["object"]).all(axis=1).tolist() == [False, False, True, True]


def test_size_scales_the_whole_picture():
    """Twice the size must show the same scene, not a corner of it."""
    small, large = (Renderer(WORLD, size).frames(STATES) for size in (32, 64))
    np.testing.assert_array_equal(small.repeat(2, axis=1).repeat(2, axis=2), large)


def test_frames_do_not_depend_on_the_batch():
    """Frames are drawn once per distinct state; each must still go where it belongs."""
    renderer = Renderer(WORLD, 32)
    order = np.array([2, 0, 0, 3, 1, 2])
    whole = renderer.frames(STATES[order])
    for frame, index in zip(whole, order, strict=True):
        np.testing.assert_array_equal(frame, Renderer(WORLD, 32).frames(STATES[[index]])[0])
    assert renderer.frames(STATES[:0]).shape == (0, 32, 32, 3)


def test_conditions_on_sprites_are_those_of_rules():
    """The same ``when`` must hold in the same states whether it guards a rule or a sprite."""
    guards = [
        {"cargo": "same_as(place)"},
        {"cargo": ["next(place)", "none"]},
        {"cargo": {"not": ["previous(place)", "aboard"]}, "mood": "wild"},
    ]
    states = np.array([[p, c, m] for p in range(3) for c in range(5) for m in range(2)])
    for guard in guards:
        sprite = {"color": "#ffffff", "points": [[16, 16]], "radius": 9, "when": guard}
        world = load_world(cart(render=RENDER | {"sprites": [sprite]}))
        shown = Renderer(world, 32).frames(states)[:, 16, 16, 0] == 255
        names = [
            {n: o[i] for (n, o), i in zip(CART["variables"].items(), state, strict=True)}
            for state in states
        ]
        assert shown.tolist() == [holds(guard, CART, state, None) for state in names]
        assert 0 < shown.sum() < len(states)


def test_pixels_are_the_same_everywhere():
    """A frame's digest may stand in a result; smooth edges must not depend on the platform."""
    frames = Renderer(load_world("markov_chain"), 64).frames(np.array([[0], [1]]))
    digest = hashlib.sha256(frames.tobytes()).hexdigest()
    assert digest == "01b86fcb77a687fadebe244f7d4cbb4956954c994773390045bd9c998367d31c"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("size", [64, 256])
def test_every_state_of_a_world_looks_different(path, size):
    """Two states that look alike could not be told apart from video."""
    world = load_world(path)
    rollout = roll_out(world, range(60), 40)
    states = np.unique(rollout.states.reshape(-1, rollout.states.shape[-1]), axis=0)
    frames = Renderer(world, size).frames(states)
    digests = {frame.tobytes() for frame in frames}
    assert len(digests) == len(states)


def test_refuses_what_cannot_be_drawn():
    with pytest.raises(ConfigurationError, match="'cart' has no picture: add a render section"):
        Renderer(load_world(CART))
    for size in (0, 15, 5000, 64.0):
        with pytest.raises(ConfigurationError, match="size: expected 16 to 4096 pixels"):
            Renderer(WORLD, size)
    with pytest.raises(ConfigurationError, match="state: cargo: expected indices"):
        Renderer(WORLD, 32).frames(np.array([[0, 5, 0]]))
    with pytest.raises(ConfigurationError, match="state: cargo: expected indices"):
        Renderer(WORLD, 32).tracks(np.array([[0, 5, 0]]))


def test_motion_of_actions():
    renderer = Renderer(WORLD, 32)
    assert renderer.motion("ride") == (1.0, 0.0)
    assert renderer.motion("wait") == (0.0, 0.0)
