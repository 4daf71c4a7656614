"""The result of evaluating one checkpoint's predictions on a suite of episodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from wbgpu.records.distribution_distance import DistributionDistance
from wbgpu.records.metric import MetricInfo, MetricOutcome
from wbgpu.records.summary import SuiteSummary, Unavailable
from wbgpu.records.video import Alignment

SCHEMA_VERSION = "2"
"""worldbench's result schema, of which ours is a superset."""

ResultType = Literal["batch_evaluation", "evaluation"]


@dataclass(frozen=True)
class EpisodeFailure:
    """Why an episode has no scores.

    Attributes:
        error_type: exception class name.
        message: names the file and the cause.
    """

    error_type: str
    message: str


@dataclass(frozen=True, repr=False)
class EpisodeResult:
    """All metrics on one episode.

    Attributes:
        episode_id: the ground truth's path relative to its root, POSIX, extension included.
        num_steps: T, scored steps; 0 when the episode failed.
        score: composite over the available composite metrics, 0-100; ``None`` when none is
            available or the episode failed.
        prefix_scores: composite over steps 1..t, t = 1..T.
        metrics: by metric name; empty when the episode failed.
        alignment: how the pair was laid together; ``None`` where a file does not say. What
            worldbench does not record of its videos reads ``unknown``.
        failure: set exactly when the episode could not be scored.
        warnings: remarks of the alignment.
    """

    episode_id: str
    ground_truth_path: str
    prediction_path: str
    num_steps: int
    score: float | None
    prefix_scores: tuple[float | None, ...] = ()
    metrics: Mapping[str, MetricOutcome] = field(default_factory=dict)
    alignment: Alignment | None = None
    failure: EpisodeFailure | None = None
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        failed = "" if self.failure is None else f", failure={self.failure.error_type}"
        return (
            f"EpisodeResult({self.episode_id!r}, num_steps={self.num_steps}, "
            f"score={self.score}{failed})"
        )


def unavailable_episodes(episodes: Iterable[EpisodeResult], name: str) -> tuple[Unavailable, ...]:
    """Scored episodes whose metric ``name`` has no value, and why."""
    return tuple(
        Unavailable(episode.episode_id, outcome.status, outcome.reason, outcome.error_type)
        for episode in episodes
        if (outcome := episode.metrics.get(name)) is not None and not outcome.is_available
    )


@dataclass(frozen=True)
class Protocol:
    """Everything that must be equal for two results to be comparable.

    Attributes:
        metric_ids: by metric name.
        num_context: leading frames not scored.
        alignment_policy: ``strict`` or ``safe``.
        resize_policy: how predictions of another size were treated.
        whole_predictions: whether metrics of the prediction alone go on where it is longer than the
            ground truth.
    """

    metric_ids: Mapping[str, str]
    num_context: int
    alignment_policy: str
    resize_policy: str
    whole_predictions: bool = False


@dataclass(frozen=True)
class Provenance:
    """How the numbers came about; may differ between comparable results.

    Attributes:
        environment: versions of Python, torch, the decoder and so on, and the machine's kind.
        device: where statistics ran, such as ``cpu`` or ``cuda:0 (NVIDIA H200)``.
        statistics_path: ``reference``, ``cpu`` or ``triton``.
        decoder: backend name.
        input_sha256: by ``ground_truth/<episode_id>`` and ``prediction/<episode_id>``, and where
            there are saved logits ``logits/<episode_id>`` and so on; ``targets/<episode_id>`` is of
            the target tokens themselves, whatever file holds them. Where a model was run, there is
            ``actions/<episode_id>`` if it was given actions, ``checkpoint`` if it has a file, and
            no prediction.
        configuration: the resolved configuration of the run.
        configuration_file: the wbgpu.yml or worldbench.yml that was read, or ``None``.
        command: the command line, or ``None`` when called from Python.
    """

    environment: Mapping[str, str]
    device: str
    statistics_path: str
    decoder: str
    input_sha256: Mapping[str, str]
    configuration: Mapping[str, Any]
    configuration_file: str | None = None
    command: str | None = None


@dataclass(frozen=True, repr=False)
class SuiteResult:
    """One checkpoint on one suite.

    Attributes:
        result_type: ``batch_evaluation`` (paired folders) or ``evaluation`` (one pair or dataset).
        schema_version: as in the file; ``"2"`` for results made here.
        producer: tool and version, such as ``wbgpu 0.1.0`` or ``worldbench 0.4.1``.
        created_at: UTC, ISO 8601.
        num_context: leading frames not scored; ``None`` in files that do not say.
        dataset_identifier: ``sha256:...`` over ids and bytes of the ground truth, or ``None``.
        enabled_metrics, required_metrics, configured_weights, configuration_hash: of the
            composite; the hash is ``None`` in files older than schema 2.
        metric_infos: by metric name, composite metrics and others.
        episodes: sorted by id, failed ones included.
        summary: aggregates over the scored episodes.
        protocol, provenance: ``None`` in results of other tools.
        notes: such as demo notices.
        distribution_distances: such as FVD: of the suite as a whole, in no composite and no
            episode.
    """

    result_type: ResultType
    schema_version: str
    producer: str
    created_at: str
    checkpoint_name: str
    ground_truth_root: str
    predictions_root: str
    num_context: int | None
    dataset_identifier: str | None
    enabled_metrics: tuple[str, ...]
    required_metrics: tuple[str, ...]
    configured_weights: Mapping[str, float]
    configuration_hash: str | None
    metric_infos: Mapping[str, MetricInfo]
    episodes: tuple[EpisodeResult, ...]
    summary: SuiteSummary
    protocol: Protocol | None = None
    provenance: Provenance | None = None
    notes: tuple[str, ...] = ()
    distribution_distances: tuple[DistributionDistance, ...] = ()

    def __repr__(self) -> str:
        failed = f" ({len(self.failed_episodes)} failed)" if self.failed_episodes else ""
        return (
            f"SuiteResult({self.checkpoint_name!r}, {len(self.episodes)} episodes{failed}, "
            f"score={self.summary.score})"
        )

    @property
    def failed_episodes(self) -> tuple[EpisodeResult, ...]:
        """Episodes that could not be scored."""
        return tuple(episode for episode in self.episodes if episode.failure is not None)

    @property
    def measured_metrics(self) -> tuple[str, ...]:
        """Names in the summary: the composite's in configured order, then the others by name."""
        composite = [name for name in self.enabled_metrics if name in self.summary.metrics]
        return (*composite, *sorted(set(self.summary.metrics) - set(composite)))
