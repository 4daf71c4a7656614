"""Regret results as strict JSON. What is infinite is ``null``, beside its count and finite part."""

from __future__ import annotations

import math
from dataclasses import fields
from pathlib import Path
from typing import Any

from wbgpu.records.garbage import collection_paused
from wbgpu.records.node import Node
from wbgpu.records.regret import (
    REGRET_RESULT_TYPE,
    REGRET_SCHEMA_VERSION,
    EpisodeRegret,
    HorizonRegret,
    NatsEstimate,
    NatsInterval,
    RegretResult,
    RegretTotals,
)
from wbgpu.records.strict_json import Line

_VIEWS = {
    "prefix": {
        "cumulative_regret_nats": "prefix_regret",
        "expected_regret_nats": "prefix_expected_regret",
    },
    "step": {"regret_nats": "step_regret", "expected_regret_nats": "step_expected_regret"},
}
"""Attributes of a horizon by view and key."""


def is_regret(document: Any) -> bool:
    """Whether a parsed JSON document says that it is a regret result."""
    return isinstance(document, dict) and document.get("result_type") == REGRET_RESULT_TYPE


@collection_paused()
def regret_payload(result: RegretResult) -> dict[str, Any]:
    """The document of a result."""
    return {
        "result_type": REGRET_RESULT_TYPE,
        "schema_version": REGRET_SCHEMA_VERSION,
        "producer": result.producer,
        "created_at": result.created_at,
        "command": result.command,
        "world": {"name": result.world, "sha256": result.world_sha256},
        "contestant": result.contestant,
        "num_seeds": len(result.episodes),
        "num_steps": result.num_steps,
        **_numbers(result.totals),
        "per_step": {
            "regret_nats": _numbers(result.regret_per_step),
            "expected_regret_nats": _numbers(result.expected_regret_per_step),
        },
        "per_variable": {name: _numbers(t) for name, t in result.per_variable.items()},
        "horizons": [_horizon(horizon) for horizon in result.horizons],
        "seeds": [_episode(episode) for episode in result.episodes],
        "configuration": dict(result.configuration),
        "environment": dict(result.environment),
    }


def parse_regret(document: Any, path: str | Path) -> RegretResult:
    """Read a document.

    Args:
        document: parsed JSON (:func:`wbgpu.records.strict_json.read_json`).
        path: the file, named in errors.

    Raises:
        ResultFileError: not a regret result, an unknown schema version, a key that is missing or of
            the wrong type; the message names the place. Whether totals follow from steps is checked
            by :func:`wbgpu.aggregate.regret_consistency.check_regret`.
    """
    root = Node(document, "$", path)
    root["result_type"].one_of(REGRET_RESULT_TYPE)
    version = root["schema_version"].string()
    if version != REGRET_SCHEMA_VERSION:
        root["schema_version"].fail(
            f"unknown schema version {version!r}; this wbgpu reads {REGRET_SCHEMA_VERSION}"
        )
    episodes = tuple(_parse_episode(node) for node in root["seeds"].elements())
    if root["num_seeds"].integer() != len(episodes):
        root["num_seeds"].fail(f"says {root['num_seeds'].value}, but $.seeds has {len(episodes)}")
    return RegretResult(
        producer=root["producer"].string(),
        created_at=root["created_at"].string(),
        world=root["world"]["name"].string(),
        world_sha256=root["world"]["sha256"].string(),
        contestant=root["contestant"].string(),
        num_steps=root["num_steps"].integer(),
        episodes=episodes,
        totals=_parse_totals(root),
        per_variable=_parse_variables(root["per_variable"]),
        regret_per_step=_parse_interval(root["per_step"]["regret_nats"]),
        expected_regret_per_step=_parse_interval(root["per_step"]["expected_regret_nats"]),
        horizons=tuple(_parse_horizon(node) for node in root["horizons"].elements()),
        configuration=root["configuration"].object(),
        environment={key: node.string() for key, node in root["environment"].items()},
        command=root.optional_string("command"),
    )


def _numbers(record: RegretTotals | NatsEstimate | NatsInterval) -> dict[str, Any]:
    return {field.name: _plain(getattr(record, field.name)) for field in fields(record)}


def _plain(value: Any) -> Any:
    return None if value is None or math.isinf(value) else value


def _horizon(horizon: HorizonRegret) -> Line:
    views = {
        view: {key: _numbers(getattr(horizon, name)) for key, name in names.items()}
        for view, names in _VIEWS.items()
    }
    return Line({"horizon": horizon.horizon, **views})


def _episode(episode: EpisodeRegret) -> dict[str, Any]:
    return {
        "seed": episode.seed,
        **_numbers(episode.totals),
        "per_variable": {name: _numbers(t) for name, t in episode.per_variable.items()},
        "step_regret_nats": [_plain(value) for value in episode.step_regret_nats],
        "step_expected_regret_nats": [_plain(v) for v in episode.step_expected_regret_nats],
    }


def _parse_episode(node: Node) -> EpisodeRegret:
    return EpisodeRegret(
        seed=_parse_seed(node["seed"]),
        totals=_parse_totals(node),
        per_variable=_parse_variables(node["per_variable"]),
        step_regret_nats=_parse_steps(node["step_regret_nats"]),
        step_expected_regret_nats=_parse_steps(node["step_expected_regret_nats"]),
    )


def _parse_seed(node: Node) -> int:
    seed = node.integer()
    if seed >= 2**64:
        node.fail(f"expected an integer below 2**64, got {seed}")
    return seed


def _parse_steps(node: Node) -> tuple[float, ...]:
    return tuple(map(_nats, node.elements()))


def _parse_variables(node: Node) -> dict[str, RegretTotals]:
    return {name: _parse_totals(totals) for name, totals in node.items()}


def _parse_totals(node: Node) -> RegretTotals:
    return RegretTotals(
        cumulative_regret_nats=_nats(node["cumulative_regret_nats"]),
        expected_regret_nats=_nats(node["expected_regret_nats"]),
        reference_loss_nats=node["reference_loss_nats"].number(),
        log_loss_nats=_nats(node["log_loss_nats"]),
        num_infinite=node["num_infinite"].integer(),
        num_infinite_expected=node["num_infinite_expected"].integer(),
        finite_regret_nats=node["finite_regret_nats"].number(),
        finite_expected_regret_nats=node["finite_expected_regret_nats"].number(),
    )


def _parse_horizon(node: Node) -> HorizonRegret:
    estimates = {
        name: _parse_estimate(node[view][key])
        for view, names in _VIEWS.items()
        for key, name in names.items()
    }
    return HorizonRegret(horizon=node["horizon"].integer(), **estimates)


def _parse_estimate(node: Node) -> NatsEstimate:
    return NatsEstimate(
        mean=_nats(node["mean"]),
        standard_error=node.optional_number("standard_error"),
        count=node["count"].integer(),
        num_infinite=node["num_infinite"].integer(),
        finite_mean=node["finite_mean"].number(),
    )


def _parse_interval(node: Node) -> NatsInterval:
    return NatsInterval(
        mean=_nats(node["mean"]),
        lower=node.optional_number("lower"),
        upper=node.optional_number("upper"),
        level=node["level"].number(),
        count=node["count"].integer(),
    )


def _nats(node: Node) -> float:
    return math.inf if node.value is None else node.number()
