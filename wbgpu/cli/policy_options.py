"""Options that choose a policy and say how it weighs evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from wbgpu.cli.cluster_options import CLUSTERS
from wbgpu.gating.load import Policy, load_policy

_Command = TypeVar("_Command", bound=Callable[..., Any])

WORLDBENCH_ONLY = (
    "max_overall_drop",
    "max_metric_drop",
    "max_horizon_drop",
    "max_episode_regressions",
    "min_composite_improvement",
    "bootstrap_samples",
    "bootstrap_seed",
    "min_confidence_lower_bound",
)
"""Settings of the policy ``worldbench`` that a policy of margins does not have."""

MARGINS_ONLY = (
    "margin",
    "horizon_margin",
    "metric_margins",
    "regret_margin",
    "interval",
    "fail_inconclusive",
)
"""Settings of the policy ``noninferiority`` that ``worldbench`` does not have."""

EVIDENCE_ONLY = (
    *MARGINS_ONLY,
    *CLUSTERS,
    "baseline_regret",
    "candidate_regret",
)
"""All options that only mean something with a policy that weighs evidence."""


policy_option = click.option(
    "--policy",
    default="worldbench",
    show_default=True,
    metavar="NAME|FILE.yaml",
    help="worldbench: no mean may drop. noninferiority: PASS, FAIL or INCONCLUSIVE against "
    "margins, with stated error rates.",
)
margin_option = click.option(
    "--margin",
    type=float,
    help="noninferiority: allowed drop of the mean composite. [default: 1]",
)
regret_margin_option = click.option(
    "--regret-margin",
    type=float,
    help="noninferiority: allowed increase of the expected regret, nats per step. [default: 0]",
)
config_option = click.option(
    "--config",
    "config_path",
    type=click.Path(path_type=Path),
    help="wbgpu.yml, whose gate settings count; looked for in the current folder.",
)


def policy_options(command: _Command) -> _Command:
    """Add ``--policy`` and the options of evidence."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def policy_from(name: str, project_settings: Mapping[str, Any], flags: Mapping[str, Any]) -> Policy:
    """The policy: its file's settings, then the project file's, then the flags'.

    A project file holds worldbench's limits. What the policy has no place for stays out.
    """
    known = load_policy(name).__dataclass_fields__
    given = {key: value for key, value in flags.items() if value not in (None, {}, ())}
    settings = {key: value for key, value in {**project_settings, **given}.items() if key in known}
    return load_policy(name, **settings)


def margins_by_name(
    _: click.Context, option: click.Parameter, values: tuple[str, ...]
) -> dict[str, float]:
    """Of an option that is given as ``NAME=NUMBER``, any number of times."""
    margins = {}
    for value in values:
        name, separator, number = value.partition("=")
        try:
            if not separator or not name:
                raise ValueError
            margins[name] = float(number)
        except ValueError:
            raise click.BadParameter(
                f"expected {option.metavar}, got {value!r}", param=option
            ) from None
    return margins


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    policy_option,
    margin_option,
    click.option(
        "--horizon-margin",
        type=float,
        help="noninferiority: allowed drop of each composite metric up to each horizon. "
        "[default: --margin]",
    ),
    click.option(
        "--metric-margin",
        "metric_margins",
        multiple=True,
        metavar="METRIC=NUMBER",
        callback=margins_by_name,
        help="noninferiority: allowed worsening of another mean in its unit, such as "
        "log_loss=0.01; repeatable.",
    ),
    regret_margin_option,
    click.option(
        "--interval",
        type=click.Choice(["conservative", "student_t", "bootstrap_t"]),
        help="noninferiority: how intervals are made. [default: conservative]",
    ),
    click.option(
        "--fail-inconclusive",
        is_flag=True,
        default=None,
        help="noninferiority: what is not decided is a FAIL (exit 1).",
    ),
    click.option(
        "--baseline-regret",
        type=click.Path(path_type=Path),
        help="noninferiority: regret result of the baseline, for one verdict on pixels and regret.",
    ),
    click.option(
        "--candidate-regret",
        type=click.Path(path_type=Path),
        help="noninferiority: regret result of the candidate.",
    ),
)
