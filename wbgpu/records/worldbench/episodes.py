"""Reading one episode, out of a batch or out of an evaluation."""

from __future__ import annotations

from dataclasses import replace

from wbgpu.records.metric import MetricOutcome
from wbgpu.records.node import Node
from wbgpu.records.suite import EpisodeResult
from wbgpu.records.worldbench.extension import (
    EXTENSION,
    parse_failure,
    parse_own_alignment,
    parse_own_outcome,
    parse_shared_part,
)
from wbgpu.records.worldbench.horizons import horizon_entries
from wbgpu.records.worldbench.metric_entries import parse_outcome
from wbgpu.records.worldbench.provenance import parse_alignment


def parse_batch_episode(node: Node) -> EpisodeResult:
    """Read an element of a batch's ``episodes``."""
    own = node.get(EXTENSION)
    episode_id = node["episode_id"].string()
    score = node.optional_number("score")
    paths = {key: node[key].string() for key in ("ground_truth_path", "prediction_path")}
    evaluation = node.get("result")
    if evaluation is None:
        if own is None or own.get("failure") is None:
            node.fail("the key 'result' is missing")
        return _episode(episode_id, None, None, own, None, paths)
    inner = _only_episode(evaluation)
    _agree(node, evaluation, "score")
    _agree(node, inner, "score")
    for name, metric in node["metrics"].items():
        _agree(metric, evaluation["metrics"][name], "score")
        _agree(metric, inner["metrics"][name], "score")
    return _episode(episode_id, score, inner, own, evaluation.get("provenance"), paths)


def parse_evaluation_episode(
    node: Node, provenance: Node | None, paths: dict[str, str]
) -> EpisodeResult:
    """Read an element of an evaluation's ``episodes``."""
    own = node.get(EXTENSION)
    if own is not None:
        paths = {key: own[key].string() for key in ("ground_truth_path", "prediction_path")}
    score = node.optional_number("score")
    return _episode(node["episode"].string(), score, node, own, provenance, paths)


def _episode(
    episode_id: str,
    score: float | None,
    entry: Node | None,
    own: Node | None,
    provenance: Node | None,
    paths: dict[str, str],
) -> EpisodeResult:
    horizons = [] if entry is None else horizon_entries(entry.get("horizon"))
    metrics = {} if entry is None else _outcomes(entry, horizons)
    if own is None:
        alignment = None if provenance is None else parse_alignment(provenance)
        num_steps = alignment.num_steps if alignment and not horizons else len(horizons)
        warnings = () if alignment is None else alignment.warnings
        if not any(outcome.is_available for outcome in metrics.values()):
            # worldbench gives 0 to an episode on which nothing was measured; missing is not 0.
            score = None
    else:
        alignment = parse_own_alignment(own.get("alignment"))
        num_steps = own["num_steps"].integer()
        warnings = own["warnings"].strings()
        _add_own(metrics, own)
    if horizons and num_steps != len(horizons) and entry is not None:
        entry["horizon"].fail(f"expected {num_steps} horizons, found {len(horizons)}")
    return EpisodeResult(
        episode_id=episode_id,
        num_steps=num_steps,
        score=score,
        prefix_scores=tuple(
            h.optional_number("score") if h["metrics"].object() else None for h in horizons
        ),
        metrics=metrics,
        alignment=alignment,
        failure=None if own is None else parse_failure(own.get("failure")),
        warnings=warnings,
        **paths,
    )


def _outcomes(entry: Node, horizons: list[Node]) -> dict[str, MetricOutcome]:
    return {
        name: parse_outcome(name, metric, horizons) for name, metric in entry["metrics"].items()
    }


def _add_own(outcomes: dict[str, MetricOutcome], own: Node) -> None:
    for name, part in own["metrics"].items():
        if name in outcomes:
            outcomes[name] = replace(outcomes[name], **parse_shared_part(part))
        else:
            outcomes[name] = parse_own_outcome(name, part)


def _only_episode(evaluation: Node) -> Node:
    episodes = evaluation["episodes"].elements()
    if len(episodes) != 1:
        evaluation["episodes"].fail(f"expected one episode, got {len(episodes)}")
    return episodes[0]


def _agree(outer: Node, inner: Node, key: str) -> None:
    """Refuse a file that states one number twice with different values."""
    first, second = outer.optional_number(key), inner.optional_number(key)
    if first != second:
        inner[key].fail(f"is {second!r}, but {outer.path}.{key} says {first!r}")
