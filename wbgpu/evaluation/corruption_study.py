"""Measure every metric against the severity of every corruption."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wbgpu.aggregate.degradation import response
from wbgpu.corruptions import Corruption
from wbgpu.episodes.digests import dataset_identifier
from wbgpu.episodes.pairing import EpisodePair
from wbgpu.errors import NothingScoredError
from wbgpu.evaluation.corrupted_loader import CorruptedLoader, Variant
from wbgpu.evaluation.environment import EVALUATION_PACKAGES, environment
from wbgpu.evaluation.measure import run_module
from wbgpu.evaluation.module import EvaluationModule
from wbgpu.evaluation.request import EvaluationRequest, device_name, resolve_device
from wbgpu.records.corruption import CorruptionStudy, MeasuredMetric
from wbgpu.records.created_at import created_at
from wbgpu.records.metric import MetricInfo
from wbgpu.records.suite import EpisodeResult
from wbgpu.statistics import resolve_path
from wbgpu.version import __version__


@dataclass(frozen=True)
class CorruptionRequest:
    """What to measure.

    Attributes:
        evaluation: suite, metrics and device. Its predictions are corrupted; where there are none,
            the ground truth is.
        corruptions: by name.
        severities: rising, above 0, at most 1.
        seed: of what corruptions draw at random.
    """

    evaluation: EvaluationRequest
    corruptions: Mapping[str, Corruption]
    severities: tuple[float, ...]
    seed: int = 0


def run_study(request: CorruptionRequest, *, show_progress: bool = False) -> CorruptionStudy:
    """Corrupt and score every episode; each is decoded once.

    Args:
        request: what to measure.
        show_progress: show a progress bar on standard error.

    Raises:
        InputError, PairingError: the suite is missing or malformed.
        NothingScoredError: every episode failed; the message has the first reasons.
    """
    evaluation = request.evaluation
    device = resolve_device(evaluation.device)
    episodes = _episodes(evaluation)
    severities = (0.0, *request.severities)
    variants = [Variant(None, 0.0)] + [
        Variant(corruption, severity)
        for corruption in request.corruptions.values()
        for severity in request.severities
    ]
    loader = CorruptedLoader(evaluation, episodes, variants, seed=request.seed, device=device)
    pairs = [episode for episode in episodes for _ in variants]
    module = EvaluationModule(evaluation, pairs, {})
    run_module(module, loader, device, len(pairs), show_progress=show_progress)
    rows = [
        [module.episodes[first + v] for v in range(len(variants))]
        for first in range(0, len(pairs), len(variants))
    ]
    failures = {
        row[0].episode_id: failure for row in rows if (failure := row[0].failure) is not None
    }
    scored = [row for row in rows if row[0].failure is None]
    if not scored:
        raise NothingScoredError("\n".join(f.message for f in [*failures.values()][:3]))
    infos = _metric_infos(evaluation, scored[0][0])
    measured = {
        name: {
            metric: _measured(scored, metric, number * len(request.severities) + 1, len(severities))
            for metric in infos
        }
        for number, name in enumerate(request.corruptions)
    }
    return CorruptionStudy(
        producer=f"wbgpu {__version__}",
        created_at=created_at(),
        ground_truth_root=str(evaluation.ground_truth),
        predictions_root=(None if evaluation.predictions is None else str(evaluation.predictions)),
        num_context=evaluation.num_context,
        dataset_identifier=dataset_identifier({e.episode_id: e.ground_truth for e in episodes}),
        seed=request.seed,
        severities=severities,
        corruptions={name: kind.fault for name, kind in request.corruptions.items()},
        metric_infos=infos,
        episode_ids=tuple(row[0].episode_id for row in scored),
        failures=failures,
        measured=measured,
        responses={
            name: {
                metric: response(
                    values, severities, higher_is_better=infos[metric].higher_is_better
                )
                for metric, values in by_metric.items()
            }
            for name, by_metric in measured.items()
        },
        configuration=evaluation.configuration,
        environment=environment(EVALUATION_PACKAGES),
        device=device_name(device),
        statistics_path=resolve_path(evaluation.statistics_path, device),
        decoder=evaluation.decoder.name,
        command=evaluation.command_line,
    )


def _episodes(evaluation: EvaluationRequest) -> tuple[EpisodePair, ...]:
    if evaluation.predictions is not None:
        return evaluation.pairs()
    episodes = evaluation.layout.episodes(evaluation.ground_truth)
    return tuple(episode.with_prediction(episode.ground_truth) for episode in episodes)


def _metric_infos(evaluation: EvaluationRequest, episode: EpisodeResult) -> dict[str, MetricInfo]:
    """Of what was asked for; plain videos may lack what a metric needs, which the study says."""
    return {
        name: metric.info for name, metric in evaluation.metrics.items() if name in episode.metrics
    }


def _measured(
    scored: Sequence[Sequence[EpisodeResult]], metric: str, first: int, num_severities: int
) -> MeasuredMetric:
    """Values of one metric under the corruption whose first variant is ``first``."""
    variants = (0, *range(first, first + num_severities - 1))
    outcomes = [[row[variant].metrics[metric] for variant in variants] for row in scored]
    reasons = [outcome.reason for row in outcomes for outcome in row if outcome.value is None]
    return MeasuredMetric(
        values=tuple(tuple(outcome.value for outcome in row) for row in outcomes),
        reason=reasons[0] if reasons else None,
    )
