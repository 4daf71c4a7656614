"""Compare results, rank them, and decide."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wbgpu.aggregate.bootstrap import change_interval
from wbgpu.aggregate.comparison import compare as _compare
from wbgpu.aggregate.evidence import (
    Weighing,
    composite_evidence,
    metric_evidence,
    regret_evidence,
)
from wbgpu.aggregate.horizon_tests import horizon_tests
from wbgpu.aggregate.ranking import rank_regret, rank_results
from wbgpu.aggregate.regret_comparison import compare_regret as _compare_regret
from wbgpu.errors import ConfigurationError
from wbgpu.gating.load import Policy, load_policy
from wbgpu.gating.noninferiority import (
    Noninferiority,
    decide_noninferiority,
    decide_regret_noninferiority,
)
from wbgpu.gating.policy import decide as _decide
from wbgpu.gating.regret_policy import RegretThresholds, decide_regret
from wbgpu.gating.thresholds import Thresholds
from wbgpu.records.regret import INTERVAL_LEVEL, RegretResult
from wbgpu.records.suite import SuiteResult
from wbgpu.sdk.results import AnyResult, regret_of, result_of, suite_of

if TYPE_CHECKING:
    from wbgpu.records.comparison import Comparison, Verdict
    from wbgpu.records.evidence import Evidence
    from wbgpu.records.ranking import Ranking
    from wbgpu.records.regret_comparison import RegretComparison, RegretVerdict


def compare(
    baseline: SuiteResult | str | Path,
    candidate: SuiteResult | str | Path,
    *,
    strict: bool = True,
) -> Comparison:
    """Compare two results on the same episodes; change is candidate - baseline.

    Raises:
        IncompatibleResultsError: other episodes, other ground truth, two definitions of one
            metric, (``strict``) another number of context frames, or a result of regret.
        ResultFileError: as :func:`load_result`.
    """
    return _compare(suite_of(baseline), suite_of(candidate), strict=strict)


def rank(
    results: Sequence[AnyResult | str | Path],
    *,
    labels: Sequence[str] | None = None,
    clusters: Mapping[str, str] | None = None,
    level: float = 0.95,
) -> Ranking:
    """Rank two or more results of the same episodes by composite, or by expected regret.

    Args:
        results: all of videos or all of regret; results, their files or their run folders.
        labels: unique names; ``None`` takes the checkpoints'.
        clusters: cluster by episode id, such as scenes; not for regret.
        level: of intervals and ranks.

    Raises:
        IncompatibleResultsError, ResultFileError: as :func:`compare`.
        ConfigurationError: fewer than two results, or clusters with regret.
    """
    loaded = [result_of(value) for value in results]
    if any(isinstance(result, RegretResult) for result in loaded):
        if clusters is not None:
            raise ConfigurationError("clusters: regret is paired by seed and has none")
        return rank_regret([regret_of(result) for result in loaded], labels=labels, level=level)
    suites = [suite_of(result) for result in loaded]
    return rank_results(suites, labels=labels, clusters=clusters, level=level)


def gate(
    baseline: SuiteResult | str | Path,
    candidate: SuiteResult | str | Path,
    *,
    policy: str | Path | Policy = "worldbench",
    clusters: Mapping[str, str] | None = None,
    baseline_regret: AnyResult | str | Path | None = None,
    candidate_regret: AnyResult | str | Path | None = None,
    **settings: Any,
) -> Verdict:
    """Decide PASS or FAIL, and with the policy ``noninferiority`` also INCONCLUSIVE.

    Args:
        baseline, candidate: results, their files or their run folders.
        policy: an option of ``configs/gate``, a YAML file, or settings of a policy.
        clusters: cluster by episode id, such as scenes, for policies that weigh evidence.
        baseline_regret, candidate_regret: regret of the same two checkpoints, which enters the
            verdict; give both or neither.
        **settings: fields of :class:`wbgpu.gating.thresholds.Thresholds` (policy ``worldbench``) or
            of :class:`wbgpu.gating.noninferiority.Noninferiority`.

    Raises:
        ConfigurationError: a setting is unknown, not finite or out of range, or does not go with
            the policy.
        IncompatibleResultsError, ResultFileError: as :func:`compare`.
    """
    limits = _policy(policy, settings)
    if (baseline_regret is None) != (candidate_regret is None):
        raise ConfigurationError("regret: give baseline_regret and candidate_regret, or neither")
    regret = None
    if baseline_regret is not None and candidate_regret is not None:
        regret = compare_regret(baseline_regret, candidate_regret, level=limits.confidence_level)
    comparison = compare(baseline, candidate, strict=limits.strict_config_match)
    return decide(comparison, limits, clusters=clusters, regret=regret)


def compare_regret(
    baseline: AnyResult | str | Path,
    candidate: AnyResult | str | Path,
    *,
    level: float = INTERVAL_LEVEL,
) -> RegretComparison:
    """Compare two regret results, paired by seed; change is candidate - baseline, nats per step.

    Args:
        baseline, candidate: results of ``wbgpu regret``, their files or their run folders.
        level: confidence of the interval of the paired change.

    Raises:
        IncompatibleResultsError: another world, other seeds, another number of steps, or a result
            that is not of regret.
        ResultFileError: as :func:`load_result`.
    """
    return _compare_regret(regret_of(baseline), regret_of(candidate), level=level)


def gate_regret(
    baseline: AnyResult | str | Path,
    candidate: AnyResult | str | Path,
    *,
    policy: Noninferiority | None = None,
    **thresholds: Any,
) -> RegretVerdict:
    """Decide PASS or FAIL on regret, and with a policy of noninferiority also INCONCLUSIVE.

    Args:
        baseline, candidate: results of ``wbgpu regret``, their files or their run folders.
        policy: ``None`` fails every increase above the thresholds, whatever the noise.
        **thresholds: fields of :class:`wbgpu.gating.regret_policy.RegretThresholds`.

    Raises:
        ConfigurationError: a threshold is unknown, not finite or out of range.
        IncompatibleResultsError, ResultFileError: as :func:`compare_regret`.
    """
    if policy is not None:
        if thresholds:
            raise ConfigurationError(f"gate: {sorted(thresholds)[0]} does not go with a policy")
        comparison = compare_regret(baseline, candidate, level=policy.confidence_level)
        return decide_regret_noninferiority(
            comparison, policy, _regret_evidence(comparison, policy)
        )
    limits = RegretThresholds(**_known(thresholds, RegretThresholds))
    return decide_regret(compare_regret(baseline, candidate, level=limits.confidence_level), limits)


def decide(
    comparison: Comparison,
    thresholds: Policy,
    *,
    clusters: Mapping[str, str] | None = None,
    regret: RegretComparison | None = None,
) -> Verdict:
    """Decide on a comparison by the policy whose settings are given.

    Args:
        comparison: made with ``strict=thresholds.strict_config_match``.
        thresholds: settings; an interval is computed where they ask for one.
        clusters, regret: as :func:`gate`, for policies that weigh evidence.

    Raises:
        ConfigurationError: clusters or regret with a policy that does not weigh evidence.
    """
    if isinstance(thresholds, Noninferiority):
        return _decide_noninferiority(comparison, thresholds, clusters, regret)
    if clusters is not None or regret is not None:
        raise ConfigurationError(
            "gate: clusters and regret need a policy that weighs evidence; use "
            "policy='noninferiority'"
        )
    interval = None
    if thresholds.bootstrap_samples:
        interval = change_interval(
            comparison,
            num_samples=thresholds.bootstrap_samples,
            seed=thresholds.bootstrap_seed,
            level=thresholds.confidence_level,
        )
    return _decide(comparison, thresholds, interval)


def _decide_noninferiority(
    comparison: Comparison,
    settings: Noninferiority,
    clusters: Mapping[str, str] | None,
    regret: RegretComparison | None,
) -> Verdict:
    weighing = replace(_weighing(settings), clusters=clusters)
    evidence = [
        composite_evidence(comparison, settings.margin, weighing),
        *(
            metric_evidence(comparison, name, margin, weighing)
            for name, margin in settings.metric_margins.items()
        ),
    ]
    names = [change.metric for change in comparison.composite_metrics]
    tests = horizon_tests(
        comparison,
        metrics=names,
        clusters=clusters,
        margins=dict.fromkeys(names, settings.margin_at_horizons),
        seed=settings.seed,
    )
    found = [item for item in evidence if item is not None]
    if regret is not None:
        found += _regret_evidence(regret, settings)
    return decide_noninferiority(comparison, settings, found, tests, regret)


def _regret_evidence(comparison: RegretComparison, settings: Noninferiority) -> list[Evidence]:
    evidence = regret_evidence(comparison, settings.regret_margin, _weighing(settings))
    return [] if evidence is None else [evidence]


def _weighing(settings: Noninferiority) -> Weighing:
    return Weighing(settings.interval, settings.confidence_level, settings.seed)


def _policy(policy: str | Path | Policy, settings: dict[str, Any]) -> Policy:
    if isinstance(policy, (Thresholds, Noninferiority)):
        if settings:
            raise ConfigurationError(
                f"gate: {sorted(settings)[0]} is given beside a policy's settings; use "
                "dataclasses.replace on them"
            )
        return policy
    if policy == "worldbench":
        return Thresholds(**_known(settings, Thresholds))
    return load_policy(policy, **settings)


def _known(thresholds: dict[str, Any], kind: type) -> dict[str, Any]:
    """The thresholds, which must be fields of ``kind``."""
    known = [field.name for field in fields(kind)]
    if unknown := sorted(set(thresholds) - set(known)):
        near = difflib.get_close_matches(unknown[0], known, n=1, cutoff=0.0)[0]
        raise ConfigurationError(f"gate: unknown threshold {unknown[0]!r}; nearest: {near!r}")
    return thresholds
