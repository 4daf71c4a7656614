"""From the statistics of episodes to their records."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from wbgpu.aggregate.composite import episode_composite, prefix_composites
from wbgpu.episodes.pairing import EpisodePair
from wbgpu.errors import WbgpuError
from wbgpu.evaluation.networks import EpisodeNetworks
from wbgpu.evaluation.tracking import EpisodeTracks
from wbgpu.metrics import EpisodeMetric, FrameValueMetric, HorizonMetric, TrackMetric
from wbgpu.records.metric import MetricInfo, MetricOutcome
from wbgpu.records.profile import REASONS_WITHOUT_SIGNALS, Profile, worldbench_metric_info
from wbgpu.records.suite import EpisodeFailure, EpisodeResult
from wbgpu.records.video import Alignment
from wbgpu.statistics import FrameStatistics, RaggedStatistics

NOT_CHOSEN = "The metric was not chosen for this run."


@dataclass(frozen=True)
class MeasuredEpisode:
    """An episode whose every step is measured.

    Attributes:
        pair: the episode.
        alignment: how its videos were laid together.
        statistics: ``[1, T]``, in step order, on the CPU; ``None`` where no frames were predicted.
        token_log_loss: of its logits, if there are any.
        own_statistics: of the predictions in their own size and length, for metrics that look at
            nothing else; ``None`` where these are the target's.
        tracks: for the metrics that need them.
        networks: likewise.
        num_more_steps: predicted frames past the last step that such metrics look at.
    """

    pair: EpisodePair
    alignment: Alignment
    statistics: FrameStatistics | None
    token_log_loss: MetricOutcome | None = None
    own_statistics: FrameStatistics | None = None
    tracks: EpisodeTracks | None = None
    networks: EpisodeNetworks | None = None
    num_more_steps: int = 0


def scored_episodes(
    episodes: Sequence[MeasuredEpisode], metrics: Mapping[str, EpisodeMetric], profile: Profile
) -> list[EpisodeResult]:
    """Score every metric at every horizon of every episode.

    A record does not depend on the episodes that are scored with it; together they cost little more
    than one.

    Args:
        episodes: at least one.
        metrics: by name.
        profile: of the composite.
    """
    measured = [episode for episode in episodes if episode.statistics is not None]
    by_metric: dict[str, list[MetricOutcome]] = {}
    if measured:
        statistics = RaggedStatistics.of([e.statistics for e in measured if e.statistics])
        own = _of_predictions_alone(measured) or statistics
        for name, metric in metrics.items():
            if isinstance(metric, TrackMetric):
                by_metric[name] = [_track_outcome(metric, episode) for episode in measured]
            elif isinstance(metric, FrameValueMetric):
                by_metric[name] = [_network_outcome(metric, episode) for episode in measured]
            elif isinstance(metric, HorizonMetric):
                by_metric[name] = _outcomes(metric, statistics if metric.looks_at_target else own)
    rows = iter(range(len(measured)))
    records = []
    for episode in episodes:
        if episode.statistics is None:
            outcomes = {name: _without_frames(metric) for name, metric in metrics.items()}
        else:
            row = next(rows)
            outcomes = {name: found[row] for name, found in by_metric.items()}
            if episode.num_more_steps:
                outcomes = {
                    name: outcome.with_views_up_to(episode.alignment.num_steps)
                    if _looks_at_prediction_alone(metrics[name])
                    else outcome
                    for name, outcome in outcomes.items()
                }
        records.append(_scored_episode(episode, outcomes, profile))
    return records


def _of_predictions_alone(episodes: Sequence[MeasuredEpisode]) -> RaggedStatistics | None:
    """Statistics of the predictions in their own sizes; ``None`` where all have the target's."""
    own = [episode.own_statistics for episode in episodes if episode.own_statistics is not None]
    if not own:
        return None
    names = own[0].present()
    return RaggedStatistics.of(
        [
            statistics.select(names)
            for episode in episodes
            if (statistics := episode.own_statistics or episode.statistics) is not None
        ]
    )


def _without_frames(metric: EpisodeMetric) -> MetricOutcome:
    return MetricOutcome(
        name=metric.name,
        metric_id=metric.metric_id,
        status="unsupported",
        reason="The model predicts logits and no frames.",
    )


def _outcomes(metric: HorizonMetric, episodes: RaggedStatistics) -> list[MetricOutcome]:
    """A metric that raises costs the one value and not the run."""
    try:
        return metric.outcomes(episodes)
    except Exception as error:
        if len(episodes.episodes) > 1:
            return [
                outcome
                for episode in episodes.episodes
                for outcome in _outcomes(metric, RaggedStatistics.of([episode]))
            ]
        return [_error(metric, error)]


def _track_outcome(metric: TrackMetric, episode: MeasuredEpisode) -> MetricOutcome:
    try:
        signals = episode.pair.signals
        if (reason := metric.refusal(signals)) is not None:
            num_steps = episode.alignment.num_steps
            if _looks_at_prediction_alone(metric):
                num_steps += episode.num_more_steps
            return metric.refused_outcome(reason, num_steps)
        assert episode.tracks is not None
        return metric.outcome(episode.tracks.seen_by(metric))
    except Exception as error:
        return _error(metric, error)


def _looks_at_prediction_alone(metric: EpisodeMetric) -> bool:
    if isinstance(metric, TrackMetric):
        return metric.sides == {"prediction"}
    return isinstance(metric, HorizonMetric) and not metric.looks_at_target


def _network_outcome(metric: FrameValueMetric, episode: MeasuredEpisode) -> MetricOutcome:
    try:
        assert episode.networks is not None
        return episode.networks.outcome(metric)
    except Exception as error:
        return _error(metric, error)


def _error(metric: EpisodeMetric, error: Exception) -> MetricOutcome:
    return MetricOutcome(
        name=metric.name,
        metric_id=metric.metric_id,
        status="error",
        reason=str(error) or repr(error),
        error_type=type(error).__name__,
    )


def _scored_episode(
    episode: MeasuredEpisode, outcomes: dict[str, MetricOutcome], profile: Profile
) -> EpisodeResult:
    if episode.token_log_loss is not None:
        outcomes[episode.token_log_loss.name] = episode.token_log_loss
    for info in unmeasured_infos(profile, outcomes).values():
        has_signals = episode.pair.signals is not None
        outcomes[info.name] = MetricOutcome(
            name=info.name,
            metric_id=info.metric_id,
            status="unsupported",
            reason=NOT_CHOSEN if has_signals else REASONS_WITHOUT_SIGNALS[info.name],
        )
    weights, alignment = profile.configured_weights, episode.alignment
    return EpisodeResult(
        episode_id=episode.pair.episode_id,
        ground_truth_path=str(episode.pair.ground_truth.path),
        prediction_path=str(episode.pair.prediction.path),
        num_steps=alignment.num_steps,
        score=episode_composite(outcomes, weights),
        prefix_scores=prefix_composites(outcomes, weights, alignment.num_steps),
        metrics=outcomes,
        alignment=alignment,
        warnings=alignment.warnings,
    )


def failed_episode(pair: EpisodePair, error: WbgpuError) -> EpisodeResult:
    """Record an episode that has no scores."""
    return EpisodeResult(
        episode_id=pair.episode_id,
        ground_truth_path=str(pair.ground_truth.path),
        prediction_path=str(pair.prediction.path),
        num_steps=0,
        score=None,
        failure=EpisodeFailure(error_type=type(error).__name__, message=str(error)),
    )


def unmeasured_infos(profile: Profile, measured: Container[str]) -> dict[str, MetricInfo]:
    """Enabled composite metrics that were not chosen, and that plain videos cannot support."""
    return {
        name: worldbench_metric_info(name)
        for name in profile.enabled_metrics
        if name in REASONS_WITHOUT_SIGNALS and name not in measured
    }
