"""Refuse a result whose numbers contradict each other.

worldbench trusts a file's aggregates; here every aggregate is recomputed from the episodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

from wbgpu.aggregate.composite import episode_composite, prefix_composites
from wbgpu.aggregate.summary import summarize
from wbgpu.errors import ResultFileError
from wbgpu.records.comparison import View
from wbgpu.records.metric import SCORE_UNIT, MetricOutcome
from wbgpu.records.suite import EpisodeResult, SuiteResult
from wbgpu.records.summary import Coverage, Distribution, HorizonSummary, MetricSummary
from wbgpu.records.worldbench.places import (
    COVERAGE,
    EPISODES,
    HORIZONS,
    WORST_EPISODES,
    Places,
)

TOLERANCE = 1e-6
"""Scores are 0-100; other values may differ by this fraction of themselves."""


def check_result(result: SuiteResult, path: str | Path) -> None:
    """Recompute every aggregate of ``result`` and compare.

    Args:
        result: as :func:`wbgpu.records.worldbench.parse_result` read it.
        path: the file, named in errors.

    Raises:
        ResultFileError: there is no episode, an id stands twice, a score lies outside 0-100, or
            an aggregate does not follow from the episodes; the message names the place.
    """
    _Checker(result, Path(path), Places.of(result)).check()


_EFFECTIVE = "effective_normalized_weights"


@dataclass(frozen=True)
class _Checker:
    result: SuiteResult
    file: Path
    places: Places

    def check(self) -> None:
        self._check_ids()
        for index, episode in enumerate(self.result.episodes):
            self._check_episode(index, episode)
        result = self.result
        stated = result.summary
        expected = summarize(
            result.episodes,
            enabled_metrics=result.enabled_metrics,
            configured_weights=result.configured_weights,
            result_type=result.result_type,
        )
        self._check_distribution(stated.overall, expected.overall, self.places.overall)
        self._check_number(stated.score, expected.score, self.places.overall)
        self._check_names(stated.metrics, expected.metrics, self.places.metrics)
        for name, metric in expected.metrics.items():
            path = f"{self.places.metrics(name)}.{name}"
            self._check_metric(stated.metrics[name], metric, path)
        # After the metrics: old files state no coverage, and then it follows from them.
        self._check_coverage(stated.coverage, expected.coverage)
        if len(stated.horizons) != len(expected.horizons):
            self._contradiction(HORIZONS, len(stated.horizons), len(expected.horizons))
        for horizon, wanted in zip(stated.horizons, expected.horizons, strict=True):
            self._check_horizon(horizon, wanted)
        self._check_worst(stated.worst_episodes, expected.worst_episodes)
        self._check_distances()

    def _check_ids(self) -> None:
        ids = Counter(episode.episode_id for episode in self.result.episodes)
        if not ids:
            self._fail(EPISODES, "the result has no episode")
        if twice := [episode_id for episode_id, count in ids.items() if count > 1]:
            self._fail(EPISODES, f"the episode id {twice[0]!r} stands twice")

    def _check_episode(self, index: int, episode: EpisodeResult) -> None:
        places = self.places
        path = places.episode(index)
        if episode.failure is not None:
            if episode.score is not None or episode.metrics:
                self._fail(path, "the episode failed and yet has scores")
            return
        self._check_range(episode.score, f"{path}.score")
        composite = {}
        for name, outcome in episode.metrics.items():
            info = self.result.metric_infos.get(name)
            if info is None:
                self._fail(places.outcome(index, name), "the suite does not list this metric")
            if info.unit == SCORE_UNIT:
                self._check_scores(index, outcome)
            if name in self.result.enabled_metrics:
                composite[name] = outcome
        weights = self.result.configured_weights
        self._check_number(episode.score, episode_composite(composite, weights), f"{path}.score")
        expected = prefix_composites(composite, weights, len(episode.prefix_scores))
        for horizon, (score, wanted) in enumerate(
            zip(episode.prefix_scores, expected, strict=True), start=1
        ):
            self._check_number(score, wanted, places.prefix_score(index, horizon))

    def _check_scores(self, index: int, outcome: MetricOutcome) -> None:
        places, name = self.places, outcome.name
        self._check_range(outcome.value, places.value(index, name))
        for horizon, value in enumerate(outcome.prefix, start=1):
            self._check_range(value, places.prefix(index, name, horizon))
        for horizon, value in enumerate(outcome.step, start=1):
            self._check_range(value, places.step(index, name, horizon))

    def _check_metric(self, stated: MetricSummary, expected: MetricSummary, path: str) -> None:
        self._check_distribution(stated.distribution, expected.distribution, path)
        for key in ("available_count", "total_count"):
            if getattr(stated, key) != getattr(expected, key):
                self._contradiction(f"{path}.{key}", getattr(stated, key), getattr(expected, key))

    def _check_horizon(self, stated: HorizonSummary, expected: HorizonSummary) -> None:
        places, horizon = self.places, expected.horizon
        if stated.sample_count != expected.sample_count:
            path = f"{places.horizon(horizon)}.sample_count"
            self._contradiction(path, stated.sample_count, expected.sample_count)
        views: tuple[View, ...] = ("prefix", "step")
        for view in views:
            place = partial(places.view, horizon, view)
            found, wanted = getattr(stated, view), getattr(expected, view)
            self._check_names(found, wanted, place)
            for name, distribution in wanted.items():
                self._check_distribution(found[name], distribution, f"{place(name)}.{name}")
        place = partial(places.unavailable, horizon)
        self._check_names(stated.unavailable, expected.unavailable, place)
        for name, (count, _) in expected.unavailable.items():
            if stated.unavailable[name][0] != count:
                path = f"{place(name)}.{name}.count"
                self._contradiction(path, stated.unavailable[name][0], count)

    def _check_coverage(self, stated: Coverage, expected: Coverage) -> None:
        for key in ("configured_metrics", "available_metrics", "unsupported_metrics"):
            if set(getattr(stated, key)) != set(getattr(expected, key)):
                self._contradiction(
                    f"{COVERAGE}.{key}", list(getattr(stated, key)), list(getattr(expected, key))
                )
        for key in ("metric_coverage", "configured_weight_coverage"):
            self._check_number(getattr(stated, key), getattr(expected, key), f"{COVERAGE}.{key}")
        weights, path = stated.effective_normalized_weights, f"{COVERAGE}.{_EFFECTIVE}"
        self._check_names(weights, expected.effective_normalized_weights, lambda _: path)
        for name, weight in expected.effective_normalized_weights.items():
            self._check_number(weights[name], weight, f"{path}.{name}")

    def _check_worst(
        self,
        stated: tuple[tuple[str, float], ...],
        expected: tuple[tuple[str, float], ...],
    ) -> None:
        scores = {episode.episode_id: episode.score for episode in self.result.episodes}
        for index, (episode_id, score) in enumerate(stated):
            path = f"{WORST_EPISODES}[{index}]"
            if episode_id not in scores:
                self._fail(path, f"there is no episode {episode_id!r}")
            self._check_number(score, scores[episode_id], path)
        if len(stated) != len(expected):
            self._contradiction(WORST_EPISODES, len(stated), len(expected))

    def _check_distances(self) -> None:
        """They follow from no number in the file; but they cannot be of more than there is."""
        scored = [episode for episode in self.result.episodes if episode.failure is None]
        num_steps = sum(episode.num_steps for episode in scored)
        for index, distance in enumerate(self.result.distribution_distances):
            for key, most in (("num_episodes", len(scored)), ("num_observations", num_steps)):
                if getattr(distance, key) > most:
                    path = f"{self.places.distances}[{index}].{key}"
                    self._contradiction(path, getattr(distance, key), most, "there are ")

    def _check_distribution(
        self, stated: Distribution | None, expected: Distribution | None, path: str
    ) -> None:
        if stated is None or expected is None:
            if stated is not expected:
                self._contradiction(path, _count(stated), _count(expected), "a count of ")
            return
        if stated.count != expected.count:
            self._contradiction(f"{path}.count", stated.count, expected.count)
        for key in ("mean", "median", "std", "min", "max", "p10", "p25", "p50", "p75", "p90"):
            self._check_number(getattr(stated, key), getattr(expected, key), f"{path}.{key}")

    def _check_names(
        self,
        stated: Mapping[str, object],
        expected: Mapping[str, object],
        place: Callable[[str], str],
    ) -> None:
        if different := sorted(set(stated) ^ set(expected)):
            self._contradiction(place(different[0]), sorted(stated), sorted(expected))

    def _check_range(self, score: float | None, path: str) -> None:
        if score is not None and not 0.0 <= score <= 100.0:
            self._fail(path, f"expected a score between 0 and 100, got {score!r}")

    def _check_number(self, stated: float | None, expected: float | None, path: str) -> None:
        if stated is None or expected is None:
            if stated is not expected:
                self._contradiction(path, stated, expected)
        elif abs(stated - expected) > TOLERANCE * max(1.0, abs(expected)):
            self._contradiction(path, stated, expected)

    def _contradiction(self, path: str, stated: object, expected: object, of: str = "") -> NoReturn:
        self._fail(
            path,
            f"the file says {of}{stated!r}, but its episodes give {expected!r}; "
            "the file was changed after it was made, or is damaged",
        )

    def _fail(self, path: str, reason: str) -> NoReturn:
        raise ResultFileError(self.file, path, reason)


def _count(distribution: Distribution | None) -> int:
    return 0 if distribution is None else distribution.count
