"""Where a file holds what a record says, so that an error about a record names a place in the file.

Horizons are 1-based, episodes are counted from 0. Metrics outside the composite, and the step view
of all metrics, stand in our extension.
"""

from __future__ import annotations

from dataclasses import dataclass

from wbgpu.records.comparison import View
from wbgpu.records.suite import SuiteResult
from wbgpu.records.worldbench.distances import DISTANCES
from wbgpu.records.worldbench.extension import EXTENSION
from wbgpu.records.worldbench.horizons import horizon_label

EPISODES = "$.episodes"
HORIZONS = "$.horizon"
COVERAGE = "$.coverage"
WORST_EPISODES = "$.worst_episodes"

_OWN = f"$.{EXTENSION}"


@dataclass(frozen=True)
class Places:
    """JSON paths in the file of one result."""

    is_batch: bool
    composite: frozenset[str]

    @staticmethod
    def of(result: SuiteResult) -> Places:
        """The places of a result that was read from a file."""
        return Places(result.result_type == "batch_evaluation", frozenset(result.enabled_metrics))

    @property
    def overall(self) -> str:
        """The suite's composite."""
        return "$.aggregate.overall" if self.is_batch else "$.score"

    def metrics(self, name: str) -> str:
        """The suite's summaries, among which that of ``name`` belongs."""
        if name not in self.composite:
            return f"{_OWN}.aggregate.metrics"
        return "$.aggregate.metrics" if self.is_batch else "$.metrics"

    @property
    def distances(self) -> str:
        """Distances of the suite as a whole."""
        return f"{_OWN}.{DISTANCES}"

    def horizon(self, horizon: int) -> str:
        """All of the suite at one horizon."""
        return f"{HORIZONS}.{horizon_label(horizon)}"

    def view(self, horizon: int, view: View, name: str) -> str:
        """The suite's distributions at one horizon, among which that of ``name`` belongs."""
        if view == "prefix" and name in self.composite:
            return f"{self.horizon(horizon)}.metrics"
        return f"{_OWN}.horizon.{horizon_label(horizon)}.{view}"

    def unavailable(self, horizon: int, name: str) -> str:
        """The counts of episodes that lack a metric at one horizon."""
        if name in self.composite:
            return f"{self.horizon(horizon)}.unavailable_metrics"
        return f"{_OWN}.horizon.{horizon_label(horizon)}.unavailable_metrics"

    def episode(self, index: int) -> str:
        """One episode."""
        return f"{EPISODES}[{index}]"

    def prefix_score(self, index: int, horizon: int) -> str:
        """Composite of one episode over steps 1..horizon."""
        return f"{self._scored(index)}.horizon.{horizon_label(horizon)}.score"

    def outcome(self, index: int, name: str) -> str:
        """One metric on one episode."""
        if name not in self.composite:
            return self._own_outcome(index, name)
        return f"{self.episode(index)}.metrics.{name}"

    def value(self, index: int, name: str) -> str:
        """Its value over all steps."""
        return f"{self.outcome(index, name)}.{'score' if name in self.composite else 'value'}"

    def prefix(self, index: int, name: str, horizon: int) -> str:
        """Its value over steps 1..horizon."""
        if name not in self.composite:
            return f"{self._own_outcome(index, name)}.prefix[{horizon - 1}]"
        return f"{self._scored(index)}.horizon.{horizon_label(horizon)}.metrics.{name}.score"

    def step(self, index: int, name: str, horizon: int) -> str:
        """Its value at step ``horizon`` alone."""
        return f"{self._own_outcome(index, name)}.step[{horizon - 1}]"

    def _own_outcome(self, index: int, name: str) -> str:
        return f"{self.episode(index)}.{EXTENSION}.metrics.{name}"

    def _scored(self, index: int) -> str:
        """A batch nests each episode as an evaluation of one episode."""
        inner = ".result.episodes[0]" if self.is_batch else ""
        return f"{self.episode(index)}{inner}"
