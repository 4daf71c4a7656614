"""Whether a result's settings agree with each other and with their digests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from wbgpu.records.profile import (
    COMPOSITE_METRICS,
    DEFAULT_WEIGHTS,
    MetricSetting,
    Profile,
    worldbench_metric_info,
)
from wbgpu.records.suite import SuiteResult
from wbgpu.records.verification import Check
from wbgpu.records.worldbench.extension import EXTENSION, suite_extension
from wbgpu.records.worldbench.seal import SEAL


def settings_checks(result: SuiteResult, document: Mapping[str, Any]) -> Iterator[Check]:
    """Check hash, digest, metric ids and context frames.

    Args:
        result: as it was read.
        document: the JSON it was read from.
    """
    yield _configuration_hash(result)
    yield _seal(result, document)
    yield _metric_ids(result)
    yield _context(result)


def _configuration_hash(result: SuiteResult) -> Check:
    subject = "configuration_hash"
    if result.configuration_hash is None:
        return Check(subject, "unknown", "the file has none; it is older than schema 2")
    try:
        profile = Profile(
            {
                name: MetricSetting(
                    enabled=name in result.enabled_metrics,
                    required=name in result.required_metrics,
                    weight=result.configured_weights.get(name, DEFAULT_WEIGHTS[name]),
                )
                for name in COMPOSITE_METRICS
            }
        )
    except ValueError as error:
        return Check(subject, "failed", str(error))
    if profile.configuration_hash == result.configuration_hash:
        return Check(subject, "verified", "follows from metrics and weights")
    hidden = len(result.enabled_metrics) < len(COMPOSITE_METRICS)
    if hidden and result.provenance is None:
        # A disabled metric's weight counts in worldbench's hash and stands nowhere in its file.
        return Check(subject, "unknown", "weights of disabled metrics are not in the file")
    return Check(
        subject,
        "failed",
        "a metric, a weight or the hash was edited after the file was written "
        f"(it says {result.configuration_hash}, its metrics and weights give "
        f"{profile.configuration_hash})",
    )


def _seal(result: SuiteResult, document: Mapping[str, Any]) -> Check:
    stated = (document.get(EXTENSION) or {}).get(SEAL)
    if stated is None:
        return Check("settings", "unknown", f"the file has no {SEAL} to check them against")
    found = suite_extension(result)[SEAL]
    if found == stated:
        return Check("settings", "verified", "protocol, configuration and versions are unchanged")
    return Check(
        "settings",
        "failed",
        "protocol, configuration or a version was edited after the file was written "
        f"({SEAL} is {stated}, the file's settings give {found})",
    )


def _metric_ids(result: SuiteResult) -> Check:
    wrong = []
    protocol = {} if result.protocol is None else dict(result.protocol.metric_ids)
    for name, info in result.metric_infos.items():
        stated = {outcome.metric_id for e in result.episodes if (outcome := e.metrics.get(name))}
        stated |= {protocol[name]} if name in protocol else set()
        if stated - {info.metric_id}:
            wrong.append(f"{name} is {', '.join(sorted(stated | {info.metric_id}))}")
        known = worldbench_metric_info(name).metric_id
        if name in COMPOSITE_METRICS and not info.metric_id.startswith(known):
            wrong.append(f"{name} is {info.metric_id}, this wbgpu knows {known}")
    if wrong:
        return Check("metric versions", "failed", "; ".join(wrong))
    return Check("metric versions", "verified", "the same everywhere in the file")


def _context(result: SuiteResult) -> Check:
    stated = {"skip_context": result.num_context}
    if result.protocol is not None:
        stated["protocol"] = result.protocol.num_context
    if result.provenance is not None:
        suite = result.provenance.configuration.get("suite")
        if isinstance(suite, Mapping) and "num_context" in suite:
            stated["configuration"] = suite["num_context"]
    for episode in result.episodes:
        if episode.alignment is not None:
            stated[f"alignment of {episode.episode_id}"] = episode.alignment.num_context
    if len(set(stated.values())) > 1:
        odd = next(key for key, value in stated.items() if value != result.num_context)
        return Check(
            "context frames",
            "failed",
            f"skip_context says {result.num_context}, {odd} says {stated[odd]}",
        )
    if result.num_context is None:
        return Check("context frames", "unknown", "the file does not say how many")
    return Check("context frames", "verified", f"{result.num_context} everywhere in the file")
