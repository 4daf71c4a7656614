"""Two results on the same episodes: what changed, and what stands in the way of comparing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from wbgpu.aggregate.detectable_effect import minimum_detectable_effect
from wbgpu.aggregate.summary import summarize
from wbgpu.errors import IncompatibleResultsError
from wbgpu.records.comparison import (
    Comparison,
    EpisodeChange,
    HorizonChange,
    MetricChange,
    View,
)
from wbgpu.records.suite import SCHEMA_VERSION, SuiteResult
from wbgpu.records.summary import Distribution
from wbgpu.records.worldbench import gate_wording

_NUM_NAMED = 10

SAME_PREDICTIONS = (
    "Baseline and candidate are the same predictions, by digest or in every number: is one of the "
    "two the wrong file?"
)

_PREDICTIONS = ("prediction/", "logits/")
"""How keys of digests begin that are of what a model predicted."""


def compare(baseline: SuiteResult, candidate: SuiteResult, *, strict: bool = True) -> Comparison:
    """Compare two batch results by worldbench's rules; change is candidate - baseline.

    Two evaluations of a dataset are compared as if they were batches: over the episodes that have a
    metric, and by the mean of the episodes' composites.

    Args:
        baseline: the reference.
        candidate: the result under test.
        strict: refuse differing numbers of context frames instead of warning.

    Raises:
        IncompatibleResultsError: neither batches nor datasets, other episodes, other ground truth,
            a metric of one name and two definitions, or (``strict``) another number of context
            frames.
    """
    if _is_of_dataset(baseline) and _is_of_dataset(candidate):
        baseline, candidate = _as_batch(baseline), _as_batch(candidate)
    for side, result in (("baseline", baseline), ("candidate", candidate)):
        if result.result_type != "batch_evaluation":
            raise IncompatibleResultsError(
                f"the {side} is a result of type {result.result_type!r}; only batch results "
                "('batch_evaluation') and two evaluations of a dataset are compared: score a "
                "folder with eval-batch"
            )
    warnings = comparability_warnings(baseline, candidate, strict=strict)
    if not baseline.configuration_hash or not candidate.configuration_hash:
        warnings.append(gate_wording.NO_HASH)
    composite = set(baseline.enabled_metrics) | set(candidate.enabled_metrics)
    metrics = list(_metric_changes(baseline, candidate))
    horizons = list(_horizon_changes(baseline, candidate))
    episodes = tuple(_episode_changes(baseline, candidate))
    others = {m.metric for m in metrics} - composite
    return Comparison(
        baseline=baseline,
        candidate=candidate,
        overall=_overall(baseline, candidate),
        composite_metrics=tuple(m for m in metrics if m.metric in composite),
        other_metrics=tuple(m for m in metrics if m.metric in others),
        composite_horizons=tuple(
            h for h in horizons if h.metric in composite and h.view == "prefix"
        ),
        other_horizons=tuple(
            h
            for h in horizons
            if h.metric in others or (h.metric in composite and h.view == "step")
        ),
        episodes=episodes,
        mismatches=tuple(mismatches(baseline, candidate)),
        warnings=tuple(warnings),
        remarks=tuple(sameness_remarks(baseline, candidate)),
        minimum_detectable_effect=minimum_detectable_effect([e.change for e in episodes]),
    )


def _is_of_dataset(result: SuiteResult) -> bool:
    """Whether an evaluation is of a dataset and not of one file."""
    return result.result_type == "evaluation" and all(
        episode.ground_truth_path != result.ground_truth_root for episode in result.episodes
    )


def _as_batch(result: SuiteResult) -> SuiteResult:
    summary = summarize(
        result.episodes,
        enabled_metrics=result.enabled_metrics,
        configured_weights=result.configured_weights,
    )
    return replace(result, result_type="batch_evaluation", summary=summary)


def comparability_warnings(
    baseline: SuiteResult, candidate: SuiteResult, *, strict: bool = True
) -> list[str]:
    """What could not be checked about two results of any one type.

    Raises:
        IncompatibleResultsError: as :func:`compare`, but for the type.
    """
    warnings = []
    versions = {baseline.schema_version, candidate.schema_version}
    if versions != {SCHEMA_VERSION}:
        warnings.append(gate_wording.OLD_SCHEMA)
    _refuse_other_episodes(baseline, candidate)
    _refuse_other_definitions(baseline, candidate)
    contexts = (baseline.num_context, candidate.num_context)
    if contexts[0] != contexts[1]:
        if strict:
            raise IncompatibleResultsError(
                f"the baseline was scored after {contexts[0]} context frames and the candidate "
                f"after {contexts[1]}, so their horizons are other frames; evaluate both with one "
                "--skip-context (wbgpu gate --no-strict-config-match, strict=False in Python, "
                "compares them all the same)"
            )
        warnings.append(gate_wording.context_differs(*contexts))
    datasets = (baseline.dataset_identifier, candidate.dataset_identifier)
    if all(datasets) and datasets[0] != datasets[1]:
        raise IncompatibleResultsError(
            f"the ground-truth videos are not the same: {datasets[0]} in the baseline, "
            f"{datasets[1]} in the candidate; evaluate both against the same files"
        )
    _refuse_other_tokens(baseline, candidate)
    if not all(datasets):
        warnings.append(gate_wording.NO_DATASET_IDENTIFIER)
    if len(versions) > 1 and not strict:
        warnings.append(gate_wording.MIXED_SCHEMAS)
    return warnings


def sameness_remarks(baseline: SuiteResult, candidate: SuiteResult) -> list[str]:
    """A remark where both are of the same predictions: by digests, or else in every number."""
    ours, theirs = (
        {
            key: digest
            for key, digest in ({} if r.provenance is None else r.provenance.input_sha256).items()
            if key.startswith(_PREDICTIONS)
        }
        for r in (baseline, candidate)
    )
    if ours or theirs:
        return [SAME_PREDICTIONS] if ours == theirs else []
    measured = [
        [(e.episode_id, e.score, e.metrics) for e in result.episodes if e.failure is None]
        for result in (baseline, candidate)
    ]
    is_same = bool(measured[0]) and measured[0] == measured[1]
    return [SAME_PREDICTIONS] if is_same else []


def _refuse_other_episodes(baseline: SuiteResult, candidate: SuiteResult) -> None:
    ours = {episode.episode_id for episode in baseline.episodes}
    theirs = {episode.episode_id for episode in candidate.episodes}
    if ours != theirs:
        raise IncompatibleResultsError(
            "the two results are of different episode sets: "
            f"{_named(ours - theirs)} only in the baseline, {_named(theirs - ours)} only in the "
            "candidate; evaluate both checkpoints on the same suite"
        )


def _refuse_other_tokens(baseline: SuiteResult, candidate: SuiteResult) -> None:
    if baseline.provenance is None or candidate.provenance is None:
        return
    ours, theirs = baseline.provenance.input_sha256, candidate.provenance.input_sha256
    differing = {
        key.partition("/")[2]
        for key, digest in ours.items()
        if key.startswith("targets/") and theirs.get(key, digest) != digest
    }
    if differing:
        raise IncompatibleResultsError(
            f"the target tokens are not the same in {_named(differing)}, so their log-losses are "
            "of other things; tokenise the ground truth of both with one tokenizer"
        )


def _named(episode_ids: set[str]) -> str:
    more = f" and {len(episode_ids) - _NUM_NAMED} more" if len(episode_ids) > _NUM_NAMED else ""
    return (", ".join(map(repr, sorted(episode_ids)[:_NUM_NAMED])) or "none") + more


def mismatches(baseline: SuiteResult, candidate: SuiteResult) -> Iterator[str]:
    """Ways in which two results were measured differently.

    worldbench's reasons in its order and words, then those that only our files can tell.
    """
    if baseline.schema_version != candidate.schema_version:
        yield gate_wording.SCHEMA_VERSIONS_DIFFER
    if set(baseline.enabled_metrics) != set(candidate.enabled_metrics):
        yield gate_wording.METRIC_SETS_DIFFER
    if baseline.configured_weights != candidate.configured_weights:
        yield gate_wording.WEIGHTS_DIFFER
    hashes = (baseline.configuration_hash, candidate.configuration_hash)
    if all(hashes) and hashes[0] != hashes[1]:
        yield gate_wording.HASHES_DIFFER
    if len(baseline.summary.horizons) != len(candidate.summary.horizons):
        yield gate_wording.HORIZONS_DIFFER
    available = set(baseline.summary.coverage.available_metrics)
    for name in sorted(available & set(candidate.summary.coverage.available_metrics)):
        counts = [r.summary.metrics[name].available_count for r in (baseline, candidate)]
        if counts[0] != counts[1]:
            yield gate_wording.counts_differ(name)
    if baseline.protocol is not None and candidate.protocol is not None:
        for key in ("alignment_policy", "resize_policy", "whole_predictions"):
            values = (getattr(baseline.protocol, key), getattr(candidate.protocol, key))
            if values[0] != values[1]:
                yield f"protocols differ in {key}: {values[0]} vs {values[1]}"
        # What a candidate leaves out cannot get worse; a file of worldbench has no choice.
        lost = set(baseline.protocol.metric_ids) - set(candidate.protocol.metric_ids)
        if lost:
            yield f"metrics measured in the baseline only: {', '.join(sorted(lost))}"


def _refuse_other_definitions(baseline: SuiteResult, candidate: SuiteResult) -> None:
    """Metrics of one name and two definitions; files of worldbench do not tell theirs."""
    if baseline.protocol is None or candidate.protocol is None:
        return
    ours, theirs = baseline.metric_infos, candidate.metric_infos
    different = [
        f"{name} ({ours[name].metric_id} and {theirs[name].metric_id})"
        for name in sorted(set(ours) & set(theirs))
        if ours[name].metric_id != theirs[name].metric_id
    ]
    different += [
        f"{one.name} ({one.metric_id} and {other.metric_id})"
        for one in baseline.distribution_distances
        for other in candidate.distribution_distances
        if one.name == other.name and one.metric_id != other.metric_id
    ]
    if different:
        raise IncompatibleResultsError(
            f"baseline and candidate define metrics differently: {', '.join(different)}; their "
            "values are never compared: evaluate both with the same metrics"
        )


def _overall(baseline: SuiteResult, candidate: SuiteResult) -> MetricChange | None:
    before, after = baseline.summary, candidate.summary
    if before.score is None or after.score is None:
        return None
    return MetricChange(
        metric="composite",
        baseline=before.score,
        candidate=after.score,
        change=after.score - before.score,
        baseline_count=0 if before.overall is None else before.overall.count,
        candidate_count=0 if after.overall is None else after.overall.count,
    )


def _metric_changes(baseline: SuiteResult, candidate: SuiteResult) -> Iterator[MetricChange]:
    before, after = baseline.summary.metrics, candidate.summary.metrics
    for name in sorted(set(before) & set(after)):
        ours, theirs = before[name].distribution, after[name].distribution
        if ours is not None and theirs is not None:
            yield MetricChange(
                name, ours.mean, theirs.mean, theirs.mean - ours.mean, ours.count, theirs.count
            )


def _horizon_changes(baseline: SuiteResult, candidate: SuiteResult) -> Iterator[HorizonChange]:
    # Horizons are 1..T in both, so the shorter ends the comparison.
    for before, after in zip(baseline.summary.horizons, candidate.summary.horizons, strict=False):
        yield from _changes_at(before.horizon, "prefix", before.prefix, after.prefix)
        yield from _changes_at(before.horizon, "step", before.step, after.step)


def _changes_at(
    horizon: int, view: View, before: Mapping[str, Distribution], after: Mapping[str, Distribution]
) -> Iterator[HorizonChange]:
    for name in sorted(set(before) & set(after)):
        ours, theirs = before[name], after[name]
        yield HorizonChange(
            horizon=horizon,
            view=view,
            metric=name,
            baseline=ours.mean,
            candidate=theirs.mean,
            change=theirs.mean - ours.mean,
            baseline_count=ours.count,
            candidate_count=theirs.count,
        )


def _episode_changes(baseline: SuiteResult, candidate: SuiteResult) -> Iterator[EpisodeChange]:
    before = {episode.episode_id: episode.score for episode in baseline.episodes}
    after = {episode.episode_id: episode.score for episode in candidate.episodes}
    for episode_id in sorted(before):
        ours, theirs = before[episode_id], after[episode_id]
        if ours is not None and theirs is not None:
            yield EpisodeChange(episode_id, ours, theirs, theirs - ours)
