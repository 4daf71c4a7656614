"""What every metric said of videos that were corrupted on purpose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from wbgpu.records.metric import MetricInfo
from wbgpu.records.suite import EpisodeFailure

CORRUPTION_RESULT_TYPE = "corruption_study"
CORRUPTION_SCHEMA_VERSION = "1"

OrderingVerdict = Literal["ordered", "level", "misordered", "rewarded", "blind", "unavailable"]
"""Of a metric's mean over episodes, from each severity to the next.

``ordered``: worse each time. ``level``: never better, worse at least once. ``misordered``: never
better than without the fault, but better than at a lower severity somewhere. ``rewarded``: at some
severity better than without the fault. ``blind``: always the same. ``unavailable``: no episode has
the metric at every severity.
"""

IN_ORDER: tuple[OrderingVerdict, ...] = ("ordered", "level")
"""Verdicts of a metric that never takes more of the fault for less."""


@dataclass(frozen=True)
class MeasuredMetric:
    """A metric's values under one corruption.

    Attributes:
        values: ``[E][S]``, of each episode at each severity, in the metric's unit; ``None`` where
            it has none.
        reason: why an episode has none, the first of them; ``None`` where all have one.
    """

    values: tuple[tuple[float | None, ...], ...]
    reason: str | None = None


@dataclass(frozen=True)
class Response:
    """How a metric responds to a corruption, over the episodes that have it at every severity.

    Attributes:
        verdict: see `OrderingVerdict`.
        num_episodes: those episodes.
        means: by severity, in the metric's unit; empty where the verdict is ``unavailable``.
        degradations: by severity, the mean change from severity 0, positive where worse.
        standardised: by severity, `degradations` over their standard deviation between episodes,
            at most 99 in size; 0 where nothing changes, ``None`` for one episode.
        num_worse: by severity, episodes that are worse than at severity 0.
        kendall_tau: mean over the episodes that change of Kendall's tau-b between severity and how
            bad the value is: 1 when all are in order, -1 when reversed; ``None`` where none
            changes.
        failures: indices s of severities where the mean is better than at severity s - 1.
        first_seen: the lowest severity at which the metric is worse than without the fault by
            more than chance (95 % interval of the mean paired change, Student's t); ``None`` where
            it never is, and for one episode.
        first_rewarded: likewise, at which it is better.
        sensitivity: mean of `standardised` over the severities above 0; ``None`` for one episode.
    """

    verdict: OrderingVerdict
    num_episodes: int
    means: tuple[float, ...] = ()
    degradations: tuple[float, ...] = ()
    standardised: tuple[float | None, ...] = ()
    num_worse: tuple[int, ...] = ()
    kendall_tau: float | None = None
    failures: tuple[int, ...] = ()
    first_seen: float | None = None
    first_rewarded: float | None = None
    sensitivity: float | None = None

    @property
    def sees(self) -> bool:
        """Whether the metric sees the fault: in order, and by more than chance.

        Of one episode nothing is known about chance.
        """
        return self.verdict in IN_ORDER and (self.first_seen is not None or self.num_episodes == 1)


@dataclass(frozen=True)
class CorruptionStudy:
    """Every metric against the severity of every corruption.

    Attributes:
        producer: tool and version.
        created_at: UTC, ISO 8601.
        ground_truth_root: the suite.
        predictions_root: what was corrupted; ``None`` for the ground truth itself.
        num_context: leading frames, not scored and not corrupted.
        dataset_identifier: ``sha256:...`` of the ground truth.
        seed: of what the corruptions drew at random.
        severities: rising, the first is 0.
        corruptions: by name, what a model with the fault does.
        metric_infos: by metric name.
        episode_ids: E, sorted; those that were measured.
        failures: by id, of the other episodes.
        measured: by corruption and metric name.
        responses: likewise.
        configuration: of the run.
        environment: versions of Python, torch and so on.
        device: where frames were corrupted and measured.
        statistics_path: ``reference``, ``cpu`` or ``triton``.
        decoder: its name.
        command: the command line, or ``None``.
    """

    producer: str
    created_at: str
    ground_truth_root: str
    predictions_root: str | None
    num_context: int
    dataset_identifier: str
    seed: int
    severities: tuple[float, ...]
    corruptions: Mapping[str, str]
    metric_infos: Mapping[str, MetricInfo]
    episode_ids: tuple[str, ...]
    failures: Mapping[str, EpisodeFailure]
    measured: Mapping[str, Mapping[str, MeasuredMetric]]
    responses: Mapping[str, Mapping[str, Response]]
    configuration: Mapping[str, Any]
    environment: Mapping[str, str]
    device: str
    statistics_path: str
    decoder: str
    command: str | None = None

    @property
    def available_metrics(self) -> tuple[str, ...]:
        """Metrics that some corruption could be measured by."""
        return tuple(
            m for m in self.metric_infos if any(r[m].means for r in self.responses.values())
        )

    @property
    def unseen(self) -> tuple[str, ...]:
        """Corruptions that no metric sees."""
        return tuple(name for name in self.corruptions if not self.seen_by(name))

    def seen_by(self, corruption: str) -> tuple[str, ...]:
        """Metrics that see a corruption, the most sensitive first."""
        responses = self.responses[corruption]
        return tuple(n for n in self.ranking(corruption) if responses[n].sees)

    def ranking(self, corruption: str) -> tuple[str, ...]:
        """Available metrics by how well they see a corruption, the best first.

        Those that see it come first; then by sensitivity, then by name.
        """
        responses = self.responses[corruption]

        def key(name: str) -> tuple[bool, float, str]:
            response = responses[name]
            sensitivity = response.sensitivity
            return not response.sees, -(sensitivity or 0.0), name

        return tuple(sorted(self.available_metrics, key=key))
