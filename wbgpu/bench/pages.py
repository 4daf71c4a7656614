"""The leaderboard and an episode's replay as HTML."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from wbgpu.bench.problems import RefusedError

STATIC = {"bench.css": "text/css", "replay.js": "text/javascript"}
"""Media types of files that pages need, by name."""

_FOLDER = "templates"


def leaderboard_page(document: Mapping[str, Any]) -> str:
    """What :func:`~wbgpu.bench.leaderboard.leaderboard` returned, as a page."""
    return _environment().get_template("leaderboard.html").render(document)


def replay_page(document: Mapping[str, Any]) -> str:
    """What :func:`~wbgpu.bench.replay.replay` returned, as a page."""
    return _environment().get_template("replay.html").render(document)


def refused_page(problem: RefusedError) -> str:
    """Why there is no replay, as a page."""
    return _environment().get_template("refused.html").render(problem.document())


def static_file(name: str) -> bytes:
    """A file of :data:`STATIC`."""
    return (files("wbgpu.bench") / _FOLDER / name).read_bytes()


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("wbgpu.bench", _FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(nats=_nats, day=_day, chance=_chance)
    return environment


def _nats(value: float | None) -> str:
    return "infinite" if value is None else f"{value:.4f}"


def _chance(value: float) -> str:
    return f"{value:.4f}" if value >= 0.001 or value == 0 else f"{value:.1e}"


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
