"""The rules of the gate. Each takes a comparison and the thresholds, and returns what broke it.

worldbench's rules in its order and with its tolerance (a drop fails when it exceeds the allowed
drop by more than :data:`UNCHANGED_TOLERANCE`), then ours, which stop results it would wave through.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wbgpu.gating.thresholds import Thresholds
from wbgpu.records.comparison import UNCHANGED_TOLERANCE, Comparison, Failure, Interval
from wbgpu.records.suite import SuiteResult

Rule = Callable[[Comparison, Thresholds], list[Failure]]

_COVERAGE_TOLERANCE = 1e-12


def metric_disappeared(comparison: Comparison, _: Thresholds) -> list[Failure]:
    """A metric that the baseline has was measured on no episode of the candidate."""
    lost = _available(comparison.baseline) - _available(comparison.candidate)
    # Not a loss: metrics outside the composite that the candidate was never asked to measure.
    known = set(comparison.candidate.metric_infos) | set(comparison.baseline.enabled_metrics)
    names = sorted(lost & known)
    return [Failure("metric_disappeared", {"metrics": names})] if names else []


def required_metric(comparison: Comparison, thresholds: Thresholds) -> list[Failure]:
    """A required metric is unavailable in the candidate."""
    required = {
        *thresholds.required_metrics,
        *comparison.baseline.required_metrics,
        *comparison.candidate.required_metrics,
    }
    names = sorted(required - _available(comparison.candidate))
    return [Failure("required_metric", {"metrics": names})] if names else []


def metric_count(comparison: Comparison, thresholds: Thresholds) -> list[Failure]:
    """Too few metrics of the composite are available."""
    actual = len(comparison.candidate.summary.coverage.available_metrics)
    return _below("metric_count", actual, thresholds.min_metric_count, 0.0)


def metric_coverage(comparison: Comparison, thresholds: Thresholds) -> list[Failure]:
    """Too small a share of the configured metrics is available."""
    actual = comparison.candidate.summary.coverage.metric_coverage
    minimum = thresholds.min_metric_coverage
    return _below("metric_coverage", actual, minimum, _COVERAGE_TOLERANCE)


def configured_weight_coverage(comparison: Comparison, thresholds: Thresholds) -> list[Failure]:
    """Too small a share of the configured weight is available."""
    actual = comparison.candidate.summary.coverage.configured_weight_coverage
    minimum = thresholds.min_configured_weight_coverage
    return _below("configured_weight_coverage", actual, minimum, _COVERAGE_TOLERANCE)


def configuration_mismatch(comparison: Comparison, thresholds: Thresholds) -> list[Failure]:
    """The two were measured differently."""
    if not comparison.mismatches or not thresholds.strict_config_match:
        return []
    return [Failure("configuration_mismatch", {"details": list(comparison.mismatches)})]


def overall_drop(comparison: Comparison, thresholds: Thresholds) -> list[Failure]:
    """The suite's composite dropped."""
    change = comparison.overall
    if change is None or not _dropped(change.change, thresholds.max_overall_drop):
        return []
    evidence = _change(change) | {"allowed_drop": thresholds.max_overall_drop}
    return [Failure("overall", evidence)]


def metric_drop(comparison: Comparison, thresholds: Thresholds) -> list[Failure]:
    """The mean of a metric of the composite dropped."""
    allowed = thresholds.max_metric_drop
    return [
        Failure("metric", {"metric": item.metric, **_change(item), "allowed_drop": allowed})
        for item in comparison.composite_metrics
        if _dropped(item.change, allowed)
    ]


def horizon_drop(comparison: Comparison, thresholds: Thresholds) -> list[Failure]:
    """The mean of a metric of the composite dropped at some horizon."""
    allowed = thresholds.max_horizon_drop
    return [
        Failure(
            "horizon",
            {
                "horizon": item.horizon,
                "metric": item.metric,
                **_change(item),
                "allowed_drop": allowed,
            },
        )
        for item in comparison.composite_horizons
        if _dropped(item.change, allowed)
    ]


def episode_regressions(comparison: Comparison, thresholds: Thresholds) -> list[Failure]:
    """Too many episodes got worse."""
    allowed = thresholds.max_episode_regressions
    actual = len(comparison.regressed)
    if allowed is None or actual <= allowed:
        return []
    return [Failure("episode_regressions", {"actual": actual, "allowed": allowed})]


def composite_improvement(comparison: Comparison, thresholds: Thresholds) -> list[Failure]:
    """The suite's composite improved too little."""
    change, required = comparison.overall, thresholds.min_composite_improvement
    if change is None or required is None or change.change + UNCHANGED_TOLERANCE >= required:
        return []
    return [Failure("composite_improvement", _change(change) | {"required_improvement": required})]


def episode_error(comparison: Comparison, _: Thresholds) -> list[Failure]:
    """An episode could not be scored. Ours: what is missing may be what broke."""
    return [
        Failure(
            "episode_error",
            {
                "result": side,
                "episodes": [episode.episode_id for episode in result.failed_episodes],
            },
        )
        for side, result in _sides(comparison)
        if result.failed_episodes
    ]


def metric_error(comparison: Comparison, _: Thresholds) -> list[Failure]:
    """A metric broke on an episode. Ours: worldbench takes it for one that does not apply."""
    failures = []
    for side, result in _sides(comparison):
        broken = {
            episode.episode_id: [n for n, m in episode.metrics.items() if m.status == "error"]
            for episode in result.episodes
        }
        names = sorted({name for metrics in broken.values() for name in metrics})
        if names:
            episodes = sorted(episode_id for episode_id, metrics in broken.items() if metrics)
            evidence = {"result": side, "metrics": names, "episodes": episodes}
            failures.append(Failure("metric_error", evidence))
    return failures


def no_score(comparison: Comparison, _: Thresholds) -> list[Failure]:
    """A result, or an episode on one side only, has no composite. Ours: missing is not 0."""
    empty = [side for side, result in _sides(comparison) if result.summary.score is None]
    if empty:
        return [Failure("no_score", {"results": empty})]
    baseline, candidate = _unscored(comparison.baseline), _unscored(comparison.candidate)
    return [
        Failure("no_score", {"result": side, "episodes": sorted(episodes)})
        for side, episodes in (
            ("baseline", baseline - candidate),
            ("candidate", candidate - baseline),
        )
        if episodes
    ]


def confidence_lower_bound(interval: Interval | None, thresholds: Thresholds) -> list[Failure]:
    """The interval of the paired change reaches too low."""
    minimum = thresholds.min_confidence_lower_bound
    if interval is None or minimum is None:
        return []
    return _below("confidence_lower_bound", interval.lower, minimum, 0.0)


WORLDBENCH_RULES: tuple[Rule, ...] = (
    metric_disappeared,
    required_metric,
    metric_count,
    metric_coverage,
    configured_weight_coverage,
    configuration_mismatch,
    overall_drop,
    metric_drop,
    horizon_drop,
    episode_regressions,
    composite_improvement,
)

OWN_RULES: tuple[Rule, ...] = (episode_error, metric_error, no_score)


def _available(result: SuiteResult) -> set[str]:
    return {n for n, metric in result.summary.metrics.items() if metric.distribution is not None}


def _sides(comparison: Comparison) -> tuple[tuple[str, SuiteResult], tuple[str, SuiteResult]]:
    return ("baseline", comparison.baseline), ("candidate", comparison.candidate)


def _unscored(result: SuiteResult) -> set[str]:
    return {e.episode_id for e in result.episodes if e.score is None and e.failure is None}


def _dropped(change: float, allowed: float) -> bool:
    return -change > allowed + UNCHANGED_TOLERANCE


def _below(kind: str, actual: float, minimum: float, tolerance: float) -> list[Failure]:
    if actual + tolerance >= minimum:
        return []
    return [Failure(kind, {"actual": actual, "minimum": minimum})]


def _change(item: Any) -> dict[str, float]:
    return {"baseline": item.baseline, "candidate": item.candidate, "change": item.change}
