"""Options of ``wbgpu gate`` that are limits: worldbench's, by its names, and those of regret."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from wbgpu.cli.policy_options import margins_by_name

_Command = TypeVar("_Command", bound=Callable[..., Any])


def limit_options(command: _Command) -> _Command:
    """Add the options. ``None`` is what was not given: defaults are those of the policy."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def _number(flag: str, text: str) -> Callable[[Any], Any]:
    return click.option(flag, type=float, help=text)


def _count(flag: str, text: str) -> Callable[[Any], Any]:
    return click.option(flag, type=int, help=text)


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    _number("--max-overall-drop", "Allowed drop of the mean composite score. [default: 0]"),
    _number("--max-metric-drop", "Allowed drop of any composite metric's mean. [default: 0]"),
    _number(
        "--max-horizon-drop",
        "Allowed drop of any composite metric's mean at any horizon. [default: 0]",
    ),
    click.option(
        "--require-metric",
        "required_metrics",
        multiple=True,
        help="Metric that the candidate must have; repeatable, adds to the configuration's.",
    ),
    _count("--min-metric-count", "Least number of available metrics. [default: 1]"),
    _number("--min-metric-coverage", "Least available/configured metrics, 0-1. [default: 0]"),
    _number(
        "--min-configured-weight-coverage",
        "Least share of configured weight that is available, 0-1. [default: 0]",
    ),
    click.option(
        "--strict-config-match/--no-strict-config-match",
        default=None,
        help="Fail on differing metrics, weights, horizons or protocols. [default: strict]",
    ),
    _count("--max-episode-regressions", "Most episodes that may get worse. [default: no limit]"),
    _number("--min-composite-improvement", "Least required change of the composite. [default: 0]"),
    _count(
        "--bootstrap-samples",
        "Draws for a paired bootstrap interval of the change; 0 for none. [default: 0]",
    ),
    _count("--bootstrap-seed", "Seed of the bootstrap. [default: 42]"),
    _number("--confidence-level", "Level of intervals. [default: 0.95]"),
    _number(
        "--min-confidence-lower-bound",
        "Least lower bound of the interval; needs --bootstrap-samples.",
    ),
    click.option(
        "--distance-margin",
        "distance_margins",
        multiple=True,
        metavar="NAME=NUMBER",
        callback=margins_by_name,
        help="Allowed increase of a distance of distributions, such as fvd=10; repeatable. Others "
        "are shown and not gated.",
    ),
    _count(
        "--min-distance-episodes",
        "With fewer episodes a distance that has a margin fails. [default: 256]",
    ),
    _number(
        "--max-regret-increase",
        "Allowed increase of the expected regret, nats per step. [default: 0]",
    ),
    _number(
        "--max-horizon-regret-increase",
        "Allowed increase of the expected regret up to any horizon, nats per step. [default: 0]",
    ),
)
