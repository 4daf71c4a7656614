from __future__ import annotations

import pytest

from tests.worlds.documents import cart
from wbgpu.errors import ConfigurationError
from wbgpu.worlds import load_world

DISC = {"color": "#2ecc71", "points": [[0, 0]], "radius": 3}


def load(sprite=None, **changes):
    render = {"canvas": 64, "background": "#102030", "sprites": [DISC | (sprite or {})]}
    return load_world(cart(render=render | changes)).picture


def test_reads_what_is_written():
    picture = load(
        {"x": {"place": {"west": 1, "middle": 2, "east": 3}}, "y": 4, "track": "robot"},
        motion={"ride": [1, -0.5]},
    )
    assert picture.background == (16, 32, 48)
    assert picture.motion == {"ride": (1.0, -0.5)}
    (sprite,) = picture.sprites
    assert sprite.color == (46, 204, 113)
    assert sprite.x.tables == ((0, (1.0, 2.0, 3.0)),)
    assert (sprite.y.constant, sprite.track, sprite.radius) == (4.0, "robot", 3.0)


CARGO = {"none": 0, "west": 0, "middle": 0, "east": 0}


@pytest.mark.parametrize(
    "when",
    [{"cargo": {"not": "aboard"}}, {"cargo": ["none", "west"]}, {"cargo": "none", "mood": "calm"}],
)
def test_states_in_which_a_sprite_is_not_drawn_need_no_place(when):
    """Cargo that is aboard has no place on the ground."""
    assert load({"x": {"cargo": CARGO}, "when": when}).sprites[0].when


@pytest.mark.parametrize(
    "when",
    [
        {},
        {"mood": "calm"},
        {"cargo": {"not": "none"}},
        {"cargo": "same_as(place)"},
        {"cargo": ["aboard", "none"]},
    ],
)
def test_states_in_which_it_may_be_drawn_do(when):
    """A place that is missing would be NaN in the middle of a rendering."""
    with pytest.raises(ConfigurationError, match=r"x.cargo: no number for 'aboard'; add it"):
        load({"x": {"cargo": CARGO}, "when": when})


@pytest.mark.parametrize(
    ("sprite", "reason"),
    [
        ({"color": "green"}, r"sprites\[0\].color: expected a colour such as"),
        ({"points": [[1, 2, 3]]}, r"points\[0\]: expected two numbers"),
        ({"points": []}, "points: expected a list"),
        ({"radius": 0}, "a disc or a line needs a radius above 0"),
        ({"radius": -1}, "radius: expected 0 or more, got -1"),
        ({"track": "robto"}, "unknown track 'robto'; nearest: 'robot'"),
        ({"x": {"plcae": {}}}, "unknown variable 'plcae'; nearest: 'place'"),
        (
            {"x": {"mood": {"calm": 1, "wilt": 2}}},
            "unknown outcome of 'mood' 'wilt'; nearest: 'wild'",
        ),
        ({"x": "left"}, "x: expected a number, got 'left'"),
        ({"when": {"action": "ride"}}, "unknown variable 'action'"),
        ({"colour": "#ffffff"}, "unknown key 'colour'; nearest: 'color'"),
    ],
)
def test_refuses_wrong_sprites(sprite, reason):
    with pytest.raises(ConfigurationError, match=reason):
        load(sprite)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"canvas": 0}, "canvas: expected a size above 0"),
        ({"background": "#12345"}, "background: expected a colour"),
        ({"motion": {"rdie": [0, 1]}}, "unknown action 'rdie'; nearest: 'ride'"),
        ({"sprites": []}, "sprites: expected a list with at least one element"),
    ],
)
def test_refuses_wrong_pictures(changes, reason):
    with pytest.raises(ConfigurationError, match=reason):
        load(**changes)
