"""How a state is drawn: sprites as data, parsed and checked."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wbgpu.records.world import Schema
from wbgpu.worlds.entry import Entry, unknown
from wbgpu.worlds.rules import Condition, Relation, parse_guard

TRACKS = ("robot", "object")
"""What a sprite may be the track of, as in worldbench's states.json."""

_COLOR = re.compile(r"#([0-9a-fA-F]{2})([0-9a-fA-F]{2})([0-9a-fA-F]{2})")


@dataclass(frozen=True)
class Coordinate:
    """A number plus one number for the outcome of each of some variables, in canvas units.

    Attributes:
        constant: the number.
        tables: variable index -> a number per outcome; NaN where the sprite is never drawn.
    """

    constant: float
    tables: tuple[tuple[int, tuple[float, ...]], ...]

    def at(self, state: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Values in states ``[B, V]``: ``[B]``."""
        value = np.full(len(state), self.constant)
        for axis, table in self.tables:
            value = value + np.array(table)[state[:, axis]]
        return value


@dataclass(frozen=True)
class Sprite:
    """A shape of one colour.

    Attributes:
        points: relative to ``x``, ``y``, in canvas units; one makes a disc, two a line, more a
            polygon.
        radius: by how much the shape is thicker than its points, with round corners.
        color: red, green, blue in 0 ... 255.
        x: to the right.
        y: downwards.
        when: conditions on the state under which it is drawn.
        track: ``robot`` or ``object``, or ``None``.
    """

    points: tuple[tuple[float, float], ...]
    radius: float
    color: tuple[int, int, int]
    x: Coordinate
    y: Coordinate
    when: tuple[Condition, ...]
    track: str | None


@dataclass(frozen=True)
class Picture:
    """How a world's states are drawn.

    Attributes:
        canvas: sides of the square that coordinates refer to.
        background: red, green, blue.
        sprites: painted in this order.
        motion: action -> commanded motion (dx, dy), y downwards; (0, 0) for what is not listed.
    """

    canvas: float
    background: tuple[int, int, int]
    sprites: tuple[Sprite, ...]
    motion: Mapping[str, tuple[float, float]]


def parse_picture(entry: Entry, schema: Schema) -> Picture:
    """Parse a world's ``render`` section.

    Raises:
        ConfigurationError: says where something is wrong.
    """
    section = entry.section(("canvas", "background", "sprites"), ("motion",))
    canvas = section["canvas"].number()
    if canvas <= 0:
        section["canvas"].fail(f"expected a size above 0, got {canvas}")
    motion = {}
    for action, value in section["motion"].items() if "motion" in section else ():
        if action not in schema.actions:
            value.fail(unknown(action, "action", schema.actions))
        motion[action] = _pair(value)
    return Picture(
        canvas=canvas,
        background=_color(section["background"]),
        sprites=tuple(_sprite(sprite, schema) for sprite in section["sprites"].elements()),
        motion=motion,
    )


def visible(
    conditions: tuple[Condition, ...], state: npt.NDArray[np.int64], schema: Schema
) -> npt.NDArray[np.bool_]:
    """Which states ``[B, V]`` meet all conditions: bool ``[B]``."""
    mask: npt.NDArray[np.bool_] = np.ones(len(state), dtype=np.bool_)
    for condition in conditions:
        values = state[:, condition.axis]
        outcomes = schema.variables[condition.axis].outcomes
        holds = np.zeros(len(state), dtype=np.bool_)
        for term in condition.terms:
            if isinstance(term, Relation):
                wanted = term.indices(outcomes, at_ends=False)[state[:, term.axis]]
                holds |= values == wanted
            else:
                holds |= values == term
        mask &= ~holds if condition.is_negated else holds
    return mask


def _sprite(entry: Entry, schema: Schema) -> Sprite:
    section = entry.section(("points", "color"), ("radius", "x", "y", "when", "track"))
    radius = section["radius"].number() if "radius" in section else 0.0
    if radius < 0:
        section["radius"].fail(f"expected 0 or more, got {radius}")
    points = tuple(_pair(point) for point in section["points"].elements())
    if len(points) <= 2 and radius == 0:
        section["points"].fail("a disc or a line needs a radius above 0")
    when = parse_guard(section["when"], schema, reads_action=False) if "when" in section else ()
    track = section.get("track")
    return Sprite(
        points=points,
        radius=radius,
        color=_color(section["color"]),
        x=_coordinate(section.get("x"), schema, when),
        y=_coordinate(section.get("y"), schema, when),
        when=when,
        track=None if track is None else TRACKS[track.index_in(TRACKS, "track")],
    )


def _coordinate(entry: Entry | None, schema: Schema, when: tuple[Condition, ...]) -> Coordinate:
    if entry is None:
        return Coordinate(0.0, ())
    if not isinstance(entry.value, dict):
        return Coordinate(entry.number(), ())
    names = [variable.name for variable in schema.variables]
    tables = []
    for name, table in entry.items():
        if name not in names:
            table.fail(unknown(name, "variable", names))
        axis = names.index(name)
        outcomes = schema.variables[axis].outcomes
        numbers = {outcome: value.number() for outcome, value in table.items()}
        for outcome in numbers:
            if outcome not in outcomes:
                table.fail(unknown(outcome, f"outcome of {name!r}", outcomes))
        for index, outcome in enumerate(outcomes):
            if outcome not in numbers and not _is_excluded(when, axis, index):
                table.fail(f"no number for {outcome!r}; add it, or exclude {outcome!r} by when")
        tables.append((axis, tuple(numbers.get(outcome, math.nan) for outcome in outcomes)))
    return Coordinate(0.0, tuple(tables))


def _is_excluded(when: tuple[Condition, ...], axis: int, outcome: int) -> bool:
    """Whether a guard on that very variable keeps an outcome out, whatever else holds."""
    for condition in when:
        is_named = outcome in condition.terms
        is_certain = not any(isinstance(term, Relation) for term in condition.terms)
        if condition.axis == axis and (
            is_named if condition.is_negated else is_certain and not is_named
        ):
            return True
    return False


def _pair(entry: Entry) -> tuple[float, float]:
    numbers = [element.number() for element in entry.elements()]
    if len(numbers) != 2:
        entry.fail(f"expected two numbers [x, y], got {len(numbers)}")
    return numbers[0], numbers[1]


def _color(entry: Entry) -> tuple[int, int, int]:
    match = _COLOR.fullmatch(entry.text())
    if match is None:
        entry.fail(f"expected a colour such as '#2ecc71', got {entry.value!r}")
    return int(match[1], 16), int(match[2], 16), int(match[3], 16)
