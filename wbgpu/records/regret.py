"""Regret of a contestant in a world: nats lost against the truth, over episodes of one length.

An infinite loss is ``math.inf`` here and ``null`` in files; its count and the finite part stand
beside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

REGRET_RESULT_TYPE = "regret_evaluation"
REGRET_SCHEMA_VERSION = "1"

REGRET_UNIT = "nats per step"
"""Of regret results where they are compared, ranked or gated."""

INTERVAL_LEVEL = 0.95
"""Confidence level of the intervals in results."""

MAX_LOSS_NATS = 1e90
"""A larger finite loss is damage: sums of as many as a result holds stay below 1e100, which files
hold, and squares of these stay finite. Logits may be half as large in magnitude."""


@dataclass(frozen=True)
class RegretTotals:
    """Nats over all steps of an episode, or the mean of that over episodes.

    Attributes:
        cumulative_regret_nats: log-loss minus reference loss of what happened.
        expected_regret_nats: sum of KL(truth || forecast).
        reference_loss_nats: the truth's own loss on what happened; finite.
        log_loss_nats: the forecasts' loss on what happened.
        num_infinite: steps at which something happened that the forecast had ruled out; over
            episodes the number of all such steps, not its mean.
        num_infinite_expected: steps at which the forecast ruled out something that could happen.
        finite_regret_nats: ``cumulative_regret_nats`` without the ``num_infinite`` steps.
        finite_expected_regret_nats: likewise for ``expected_regret_nats``.
    """

    cumulative_regret_nats: float
    expected_regret_nats: float
    reference_loss_nats: float
    log_loss_nats: float
    num_infinite: int
    num_infinite_expected: int
    finite_regret_nats: float
    finite_expected_regret_nats: float


@dataclass(frozen=True)
class EpisodeRegret:
    """One episode.

    Attributes:
        seed: of the world's draws.
        totals: over all steps and variables.
        per_variable: by name; losses of the variables add up to ``totals``.
        step_regret_nats: T numbers; may be negative, and infinite.
        step_expected_regret_nats: T numbers, not negative but for rounding; may be infinite.
    """

    seed: int
    totals: RegretTotals
    per_variable: Mapping[str, RegretTotals]
    step_regret_nats: tuple[float, ...]
    step_expected_regret_nats: tuple[float, ...]


@dataclass(frozen=True)
class NatsEstimate:
    """Mean of one number of nats over episodes.

    Attributes:
        mean: infinite when it is in one episode or more.
        standard_error: sample standard deviation / sqrt(count); ``None`` for one episode, and
            where the mean is infinite.
        count: episodes.
        num_infinite: episodes in which it is infinite.
        finite_mean: mean over all episodes of the finite part; equal to ``mean`` where that is
            finite.
    """

    mean: float
    standard_error: float | None
    count: int
    num_infinite: int
    finite_mean: float


@dataclass(frozen=True)
class HorizonRegret:
    """All episodes at one horizon (1-based).

    Attributes:
        prefix_regret, prefix_expected_regret: of the sum over steps 1..horizon.
        step_regret, step_expected_regret: of step ``horizon`` alone.
    """

    horizon: int
    prefix_regret: NatsEstimate
    prefix_expected_regret: NatsEstimate
    step_regret: NatsEstimate
    step_expected_regret: NatsEstimate


@dataclass(frozen=True)
class NatsInterval:
    """Student-t confidence interval of a mean over episodes, in nats per step.

    Attributes:
        mean: may be infinite.
        lower, upper: ``None`` for one episode, and where the mean is infinite.
        level: 0-1.
        count: episodes.
    """

    mean: float
    lower: float | None
    upper: float | None
    level: float
    count: int


@dataclass(frozen=True, repr=False)
class RegretResult:
    """What a contestant lost in a world.

    Attributes:
        world: its name.
        world_sha256: of all that decides what is drawn in it.
        contestant: name of who forecast.
        num_steps: T, steps of every episode.
        episodes: in the order of the seeds that were asked for; no seed twice.
        totals: means over episodes.
        per_variable: likewise, by name, in the world's order.
        regret_per_step, expected_regret_per_step: mean over episodes of totals / ``num_steps``.
        horizons: 1..T in order.
        configuration: settings of contestant and run, as far as they are known.
        environment: versions of what the numbers were made with.
        command: the command line, or ``None`` from Python.
    """

    producer: str
    created_at: str
    world: str
    world_sha256: str
    contestant: str
    num_steps: int
    episodes: tuple[EpisodeRegret, ...]
    totals: RegretTotals
    per_variable: Mapping[str, RegretTotals]
    regret_per_step: NatsInterval
    expected_regret_per_step: NatsInterval
    horizons: tuple[HorizonRegret, ...]
    configuration: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    command: str | None = None

    def __repr__(self) -> str:
        return (
            f"RegretResult({self.contestant!r} in {self.world!r}, {len(self.episodes)} episodes of "
            f"{self.num_steps} steps, expected_regret_nats={self.expected_regret_nats})"
        )

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds of the episodes, in order."""
        return tuple(episode.seed for episode in self.episodes)

    @property
    def cumulative_regret_nats(self) -> float:
        """Mean over episodes of the sum over steps."""
        return self.totals.cumulative_regret_nats

    @property
    def expected_regret_nats(self) -> float:
        """Mean over episodes of the sum over steps of KL(truth || forecast)."""
        return self.totals.expected_regret_nats
