"""One episode of a batch as a result of its own, as worldbench nests and saves it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from wbgpu.records.metric import MetricOutcome
from wbgpu.records.suite import EpisodeResult, Provenance, SuiteResult
from wbgpu.records.summary import (
    Coverage,
    Distribution,
    HorizonSummary,
    MetricSummary,
    SuiteSummary,
    Unavailable,
)

EPISODE_NAME = "episode_001"
"""worldbench's name for the only episode of a video pair."""


def single_episode(
    result: SuiteResult, episode: EpisodeResult, *, with_horizons: bool = True
) -> SuiteResult:
    """An evaluation that holds only ``episode``, which must have been scored.

    Args:
        result: the batch.
        episode: one of it.
        with_horizons: summarise the horizons too.
    """
    names = sorted(episode.metrics)
    available = [name for name, outcome in episode.metrics.items() if outcome.is_available]
    overall = None if episode.score is None else _constant(episode.score)
    return replace(
        result,
        result_type="evaluation",
        ground_truth_root=episode.ground_truth_path,
        predictions_root=episode.prediction_path,
        dataset_identifier=None,
        provenance=_provenance(result.provenance, episode.episode_id),
        episodes=(replace(episode, episode_id=EPISODE_NAME),),
        summary=SuiteSummary(
            overall=overall,
            metrics={name: _metric(episode.metrics[name]) for name in names},
            horizons=_horizons(episode, names) if with_horizons else (),
            coverage=Coverage.of(result.enabled_metrics, result.configured_weights, available),
            worst_episodes=() if episode.score is None else ((EPISODE_NAME, episode.score),),
            score=episode.score,
        ),
        distribution_distances=(),
    )


def _provenance(suite: Provenance | None, episode_id: str) -> Provenance | None:
    """Without the digests of the other episodes, which every episode's file would repeat."""
    if suite is None:
        return None
    digests = {
        key: digest
        for key, digest in suite.input_sha256.items()
        if key.partition("/")[2] in ("", episode_id)
    }
    return replace(suite, input_sha256=digests)


def _metric(outcome: MetricOutcome) -> MetricSummary:
    missing = Unavailable(EPISODE_NAME, outcome.status, outcome.reason, outcome.error_type)
    return MetricSummary(
        status=outcome.status,
        distribution=None if outcome.value is None else _constant(outcome.value),
        available_count=int(outcome.is_available),
        total_count=1,
        error_count=int(outcome.status == "error"),
        reason=outcome.reason,
        unavailable=() if outcome.is_available else (missing,),
    )


def _horizons(episode: EpisodeResult, names: Sequence[str]) -> tuple[HorizonSummary, ...]:
    outcomes = [(name, episode.metrics[name]) for name in names]
    prefix = [(name, outcome.prefix) for name, outcome in outcomes]
    step = [(name, outcome.step) for name, outcome in outcomes]
    lacking = [(name, outcome.lacking_prefixes(episode.num_steps)) for name, outcome in outcomes]
    return tuple(
        HorizonSummary(
            horizon=index + 1,
            sample_count=1,
            prefix=_constants(prefix, index),
            step=_constants(step, index),
            unavailable={
                name: (1, (reason,) if (reason := reasons[index + 1]) else ())
                for name, reasons in lacking
                if index + 1 in reasons
            },
        )
        for index in range(episode.num_steps)
    )


def _constants(
    columns: Iterable[tuple[str, Sequence[float | None]]], index: int
) -> dict[str, Distribution]:
    return {
        name: _constant(value)
        for name, column in columns
        if index < len(column) and (value := column[index]) is not None
    }


def _constant(value: float) -> Distribution:
    """The distribution of one value, without NumPy's cost."""
    return Distribution(1, value, value, 0.0, *([value] * 7))
