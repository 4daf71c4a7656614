"""Options of ``wbgpu gate`` that choose a policy and say how it weighs evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from wbgpu.errors import ConfigurationError
from wbgpu.gating.load import Policy, load_policy
from wbgpu.records.episode_clusters import clusters_by_pattern, read_clusters

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
    "clusters",
    "cluster_column",
    "cluster_pattern",
    "baseline_regret",
    "candidate_regret",
)
"""All options that only mean something with a policy that weighs evidence."""


def policy_options(command: _Command) -> _Command:
    """Add the options."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def clusters_from(
    path: Path | None, column: str | None, pattern: str | None, episode_ids: Sequence[str]
) -> Mapping[str, str] | None:
    """Cluster by episode id as the options say, or ``None``.

    Raises:
        ConfigurationError: options that contradict each other, or as
            :mod:`wbgpu.records.episode_clusters` says.
    """
    if path is not None and pattern is not None:
        raise ConfigurationError("--clusters and --cluster-pattern: give one of them")
    if column is not None and path is None:
        raise ConfigurationError("--cluster-column needs --clusters, whose column it names")
    if path is not None:
        return read_clusters(path, column)
    return None if pattern is None else clusters_by_pattern(pattern, episode_ids)


def policy_from(name: str, project_settings: Mapping[str, Any], flags: Mapping[str, Any]) -> Policy:
    """The policy: its file's settings, then the project file's, then the flags'.

    A project file holds worldbench's limits. What the policy has no place for stays out.
    """
    known = load_policy(name).__dataclass_fields__
    given = {key: value for key, value in flags.items() if value not in (None, {}, ())}
    settings = {key: value for key, value in {**project_settings, **given}.items() if key in known}
    return load_policy(name, **settings)


def _metric_margins(
    _: click.Context, option: click.Parameter, values: tuple[str, ...]
) -> dict[str, float]:
    margins = {}
    for value in values:
        name, separator, number = value.partition("=")
        try:
            if not separator or not name:
                raise ValueError
            margins[name] = float(number)
        except ValueError:
            raise click.BadParameter(
                f"expected METRIC=NUMBER, got {value!r}", param=option
            ) from None
    return margins


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--policy",
        default="worldbench",
        show_default=True,
        metavar="NAME|FILE.yaml",
        help="worldbench: no mean may drop. noninferiority: PASS, FAIL or INCONCLUSIVE (exit 3) "
        "against margins, with stated error rates.",
    ),
    click.option(
        "--margin",
        type=float,
        help="noninferiority: allowed drop of the mean composite. [default: 1]",
    ),
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
        callback=_metric_margins,
        help="noninferiority: allowed worsening of another mean in its unit, such as "
        "log_loss=0.01; repeatable.",
    ),
    click.option(
        "--regret-margin",
        type=float,
        help="noninferiority: allowed increase of the expected regret, nats per step. [default: 0]",
    ),
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
        "--clusters",
        type=click.Path(path_type=Path),
        help="noninferiority: CSV or JSON file that names each episode_id's scene or task; "
        "episodes of one are not independent.",
    ),
    click.option("--cluster-column", help="Column of --clusters. [default: the only other one]"),
    click.option(
        "--cluster-pattern",
        metavar="REGEX",
        help="Instead of --clusters: the first group in the episode id, such as '^([^/]+)/'.",
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
