"""From the statistics of one episode to its record."""

from __future__ import annotations

from collections.abc import Mapping

from wbgpu.aggregate.composite import episode_composite, prefix_composites
from wbgpu.episodes.pairing import EpisodePair
from wbgpu.errors import WbgpuError
from wbgpu.metrics import HorizonMetric
from wbgpu.records.metric import MetricInfo, MetricOutcome
from wbgpu.records.profile import REASONS_WITHOUT_SIGNALS, Profile, worldbench_metric_info
from wbgpu.records.suite import EpisodeFailure, EpisodeResult
from wbgpu.records.video import Alignment
from wbgpu.statistics import FrameStatistics


def scored_episode(
    pair: EpisodePair,
    alignment: Alignment,
    statistics: FrameStatistics,
    metrics: Mapping[str, HorizonMetric],
    profile: Profile,
    token_log_loss: MetricOutcome | None = None,
) -> EpisodeResult:
    """Score every metric at every horizon.

    Args:
        pair: the episode.
        alignment: how its videos were laid together.
        statistics: one entry a step, in step order.
        metrics: by name.
        profile: of the composite.
        token_log_loss: of the episode's saved logits, if there are any.
    """
    outcomes = {name: _outcome(metric, statistics) for name, metric in metrics.items()}
    if token_log_loss is not None:
        outcomes[token_log_loss.name] = token_log_loss
    for info in unsupported_infos(profile).values():
        outcomes[info.name] = MetricOutcome(
            name=info.name,
            metric_id=info.metric_id,
            status="unsupported",
            reason=REASONS_WITHOUT_SIGNALS[info.name],
        )
    weights = profile.configured_weights
    return EpisodeResult(
        episode_id=pair.episode_id,
        ground_truth_path=str(pair.ground_truth),
        prediction_path=str(pair.prediction),
        num_steps=alignment.num_steps,
        score=episode_composite(outcomes, weights),
        prefix_scores=prefix_composites(outcomes, weights, alignment.num_steps),
        metrics=outcomes,
        alignment=alignment,
        warnings=alignment.warnings,
    )


def _outcome(metric: HorizonMetric, statistics: FrameStatistics) -> MetricOutcome:
    """A metric that raises costs this one value and not the run."""
    try:
        return metric.outcome(statistics)
    except Exception as error:
        return MetricOutcome(
            name=metric.name,
            metric_id=metric.metric_id,
            status="error",
            reason=str(error) or repr(error),
            error_type=type(error).__name__,
        )


def failed_episode(pair: EpisodePair, error: WbgpuError) -> EpisodeResult:
    """Record an episode that has no scores."""
    return EpisodeResult(
        episode_id=pair.episode_id,
        ground_truth_path=str(pair.ground_truth),
        prediction_path=str(pair.prediction),
        num_steps=0,
        score=None,
        failure=EpisodeFailure(error_type=type(error).__name__, message=str(error)),
    )


def unsupported_infos(profile: Profile) -> dict[str, MetricInfo]:
    """Enabled composite metrics that plain videos cannot support."""
    return {
        name: worldbench_metric_info(name)
        for name in profile.enabled_metrics
        if name in REASONS_WITHOUT_SIGNALS
    }
