"""worldbench's result files, versions 1 and 2, and our superset of them, into records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wbgpu.records.metric import MetricInfo
from wbgpu.records.node import Node
from wbgpu.records.profile import DEFAULT_WEIGHTS, worldbench_metric_info
from wbgpu.records.suite import (
    SCHEMA_VERSION,
    EpisodeResult,
    SuiteResult,
    unavailable_episodes,
)
from wbgpu.records.summary import (
    Coverage,
    Distribution,
    MetricSummary,
    SuiteSummary,
    missing_status,
)
from wbgpu.records.worldbench.agreement import check_agreement
from wbgpu.records.worldbench.distances import parse_distances
from wbgpu.records.worldbench.distributions import parse_coverage, parse_distribution
from wbgpu.records.worldbench.episodes import parse_batch_episode, parse_evaluation_episode
from wbgpu.records.worldbench.extension import (
    EXTENSION,
    parse_infos,
    parse_protocol,
    parse_provenance,
)
from wbgpu.records.worldbench.summaries import parse_horizons, parse_metric_summary

KNOWN_VERSIONS = ("1", SCHEMA_VERSION)


def parse_result(document: Any, path: str | Path) -> SuiteResult:
    """Read a batch or an evaluation.

    Args:
        document: parsed JSON (:func:`wbgpu.records.strict_json.read_json`).
        path: the file, named in errors.

    Raises:
        ResultFileError: not a result, an unknown schema version, a key that is missing or of
            the wrong type, a fact that stands twice with different values; the message names the
            place. Whether aggregates follow from the
            episodes is checked by :func:`wbgpu.aggregate.consistency.check_result`.
    """
    root = Node(document, "$", path)
    root.object()
    # Evaluations older than schema 1 say neither what they are nor which version.
    oldest = root.get("result_type") is None and root.get("dataset_path") is not None
    kind = "evaluation" if oldest else root["result_type"].string()
    if kind not in ("batch_evaluation", "evaluation"):
        root["result_type"].fail(
            f"expected a 'batch_evaluation' or 'evaluation' result, got {kind!r}"
        )
    version = (
        "1" if oldest and root.get("schema_version") is None else (root["schema_version"].string())
    )
    if version not in KNOWN_VERSIONS:
        root["schema_version"].fail(
            f"unknown schema version {version!r}; this wbgpu reads {' and '.join(KNOWN_VERSIONS)}"
        )
    parse = _parse_batch if kind == "batch_evaluation" else _parse_evaluation
    result = parse(root, version)
    check_agreement(root, result.enabled_metrics)
    return result


def _parse_batch(root: Node, version: str) -> SuiteResult:
    episodes = tuple(parse_batch_episode(node) for node in root["episodes"].elements())
    scored = [episode for episode in episodes if episode.failure is None]
    aggregate = root["aggregate"]
    metrics = {
        name: parse_metric_summary(node, name, scored)
        for name, node in aggregate["metrics"].items()
    }
    settings = _composite_settings(root, sorted(metrics))
    if own := root.get(EXTENSION):
        metrics |= {
            name: parse_metric_summary(node, name, scored)
            for name, node in own["aggregate"]["metrics"].items()
        }
    ids = root["episode_ids"].strings()
    if list(ids) != [episode.episode_id for episode in episodes]:
        root["episode_ids"].fail("does not list the ids of $.episodes in their order")
    overall = parse_distribution(aggregate["overall"])
    if overall is not None and any(e.score is None for e in scored) and own is None:
        overall = Distribution.of([e.score for e in scored if e.score is not None])
    summary = SuiteSummary(
        overall=overall,
        metrics=metrics,
        horizons=parse_horizons(root),
        coverage=_coverage(root, metrics, settings),
        worst_episodes=tuple(
            (item["episode_id"].string(), score)
            for item in root["worst_episodes"].elements()
            if (score := item.optional_number("score")) is not None
        ),
        score=None if overall is None else overall.mean,
    )
    return SuiteResult(
        result_type="batch_evaluation",
        schema_version=version,
        producer=_producer(root),
        created_at=root["created_at"].string(),
        checkpoint_name=root["checkpoint_name"].string(),
        ground_truth_root=root["ground_truth_root"].string(),
        predictions_root=root["predictions_root"].string(),
        num_context=_optional_integer(root, "skip_context"),
        dataset_identifier=root.optional_string("dataset_identifier"),
        metric_infos=_infos(root, metrics),
        episodes=episodes,
        summary=summary,
        **settings,
        **_own_parts(root),
    )


def _parse_evaluation(root: Node, version: str) -> SuiteResult:
    provenance = root.get("provenance")
    own = root.get(EXTENSION)
    target, prediction = root["dataset_path"].string(), root.optional_string("predictions_path")
    entries = root["episodes"].elements()
    alone = len(entries) == 1
    paths = {
        "ground_truth_path": target if alone else "",
        "prediction_path": (prediction or "") if alone else "",
    }
    episodes = tuple(
        parse_evaluation_episode(node, provenance if alone else None, paths) for node in entries
    )
    metrics = {
        name: _evaluation_summary(node, name, episodes) for name, node in root["metrics"].items()
    }
    settings = _composite_settings(root, list(metrics))
    if own is not None:
        metrics |= {
            name: parse_metric_summary(node, name, [e for e in episodes if e.failure is None])
            for name, node in own["aggregate"]["metrics"].items()
        }
    score = root.optional_number("score")
    if not any(m.distribution is not None for m in metrics.values()):
        score = None
    scores = {e.episode_id: e.score for e in episodes if e.score is not None}
    summary = SuiteSummary(
        overall=Distribution.of(list(scores.values())),
        metrics=metrics,
        horizons=parse_horizons(root),
        coverage=_coverage(root, metrics, settings),
        worst_episodes=tuple(sorted(scores.items(), key=lambda item: (item[1], item[0]))[:5]),
        score=score,
    )
    facts = own or provenance
    name = facts and (facts.get("checkpoint_name") or facts.get("name") or facts.get("model_name"))
    return SuiteResult(
        result_type="evaluation",
        schema_version=version,
        producer=_producer(root),
        created_at=root["created_at"].string(),
        checkpoint_name=name.string() if name else Path(prediction or target).name,
        ground_truth_root=own["ground_truth_root"].string() if own else target,
        predictions_root=own["predictions_root"].string() if own else prediction or "",
        num_context=_optional_integer(facts, "skip_context"),
        dataset_identifier=own.optional_string("dataset_identifier") if own else None,
        metric_infos=_infos(root, metrics),
        episodes=episodes,
        summary=summary,
        **settings,
        **_own_parts(root),
    )


def _evaluation_summary(
    node: Node, name: str, episodes: tuple[EpisodeResult, ...]
) -> MetricSummary:
    available = node["status"].one_of("available", "unsupported", "error") == "available"
    scored = [episode for episode in episodes if episode.failure is None]
    values = [
        m.value for e in scored if (m := e.metrics.get(name)) is not None and m.value is not None
    ]
    missing = unavailable_episodes(scored, name)
    distribution = Distribution.of(values) if available else None
    if available and distribution is None:
        node.fail("the status is 'available' but no episode has a value")
    if distribution is not None and abs(distribution.mean - node["score"].number()) > 1e-6:
        node["score"].fail(
            f"is {node['score'].value!r}, but the episodes' mean is {distribution.mean!r}"
        )
    return MetricSummary(
        status="available" if available else missing_status(missing, len(values)),
        distribution=distribution,
        available_count=len(values),
        total_count=len(scored),
        error_count=sum(episode.status == "error" for episode in missing),
        reason=None if available else node.optional_string("reason"),
        unavailable=missing,
    )


def _composite_settings(root: Node, measured: list[str]) -> dict[str, Any]:
    """Names, weights and hash of the composite; old files leave them to be inferred."""
    enabled = root.optional_strings("enabled_metrics") or tuple(measured)
    weights = root.get("configured_weights") or root.get("weights")
    if weights is None or not weights.object():
        configured = {name: DEFAULT_WEIGHTS.get(name, 0.0) for name in enabled}
    else:
        configured = {name: _weight(node) for name, node in weights.items()}
    return {
        "enabled_metrics": enabled,
        "required_metrics": root.optional_strings("required_metrics"),
        "configured_weights": configured,
        "configuration_hash": root.optional_string("configuration_hash"),
    }


def _weight(node: Node) -> float:
    weight = node.number()
    if weight < 0:
        node.fail(f"expected a weight >= 0, got {weight!r}")
    return weight


def _coverage(root: Node, metrics: dict[str, MetricSummary], settings: dict[str, Any]) -> Coverage:
    node = root.get("coverage")
    if node is not None and node.object():
        return parse_coverage(node)
    available = [name for name, summary in metrics.items() if summary.distribution is not None]
    return Coverage.of(settings["enabled_metrics"], settings["configured_weights"], available)


def _infos(root: Node, metrics: dict[str, MetricSummary]) -> dict[str, MetricInfo]:
    if own := root.get(EXTENSION):
        return dict(parse_infos(own["metrics"]))
    return {name: worldbench_metric_info(name) for name in metrics}


def _own_parts(root: Node) -> dict[str, Any]:
    own = root.get(EXTENSION)
    if own is None:
        provenance = root.get("provenance")
        notes = () if provenance is None else provenance.optional_strings("demo_notice")
        return {"notes": notes}
    return {
        "protocol": parse_protocol(own.get("protocol")),
        "provenance": parse_provenance(own.get("provenance")),
        "notes": own["notes"].strings(),
        "distribution_distances": parse_distances(own),
    }


def _producer(root: Node) -> str:
    if own := root.get(EXTENSION):
        return own["producer"].string()
    version = root.optional_string("worldbench_version")
    return "worldbench" if version is None else f"worldbench {version}"


def _optional_integer(node: Node | None, key: str) -> int | None:
    found = None if node is None else node.get(key)
    return None if found is None else found.integer()
