"""Where two jobs of a sweep differ: mean paired change of every metric at every horizon."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from wbgpu.aggregate.sweep_pairing import COMPOSITE, metrics_of, unit_of
from wbgpu.records.regret import RegretResult
from wbgpu.records.suite import EpisodeResult
from wbgpu.records.sweep import AnyResult, HorizonChanges

Floats = npt.NDArray[np.float64]


def horizon_changes(
    reference: AnyResult, candidate: AnyResult, episode_ids: Sequence[str]
) -> dict[str, HorizonChanges]:
    """Changes by metric, the composite first; metrics that only one side has are left out.

    Args:
        reference, candidate: of the same episodes.
        episode_ids: those to compare on.
    """
    changes = {}
    for name in metrics_of(reference):
        if name not in metrics_of(candidate):
            continue
        before, after = (_prefixes(side, name, episode_ids) for side in (reference, candidate))
        # An infinite regret has no difference.
        with np.errstate(invalid="ignore"):
            difference = after - before
        if np.isfinite(difference).any():
            changes[name] = _changes(difference, *unit_of(reference, name))
    return changes


def _prefixes(result: AnyResult, name: str, episode_ids: Sequence[str]) -> Floats:
    """Values over steps 1..t, ``[E, T]``; NaN where there is none."""
    if isinstance(result, RegretResult):
        return _regret_prefixes(result, name, episode_ids)
    by_id = {episode.episode_id: episode for episode in result.episodes}
    episodes = [by_id[episode_id] for episode_id in episode_ids]
    table = np.full((len(episodes), max(episode.num_steps for episode in episodes)), np.nan)
    for row, episode in zip(table, episodes, strict=True):
        prefix = _prefix(episode, name)
        row[: len(prefix)] = [np.nan if value is None else value for value in prefix]
    return table


def _prefix(episode: EpisodeResult, name: str) -> tuple[float | None, ...]:
    if name == COMPOSITE:
        return episode.prefix_scores
    outcome = episode.metrics.get(name)
    return () if outcome is None else outcome.prefix


def _regret_prefixes(result: RegretResult, name: str, seeds: Sequence[str]) -> Floats:
    by_seed = {str(episode.seed): episode for episode in result.episodes}
    steps = np.array([getattr(by_seed[seed], f"step_{name}_nats") for seed in seeds])
    return np.cumsum(steps, axis=1) / np.arange(1, result.num_steps + 1)


def _changes(difference: Floats, unit: str, higher_is_better: bool) -> HorizonChanges:
    counts = np.isfinite(difference).sum(axis=0)
    means: list[float | None] = []
    errors: list[float | None] = []
    for column, count in zip(difference.T, counts, strict=True):
        present = column[np.isfinite(column)]
        means.append(float(present.mean()) if count > 1 else None)
        errors.append(float(present.std(ddof=1) / np.sqrt(count)) if count > 1 else None)
    return HorizonChanges(
        unit=unit,
        higher_is_better=higher_is_better,
        changes=tuple(means),
        standard_errors=tuple(errors),
        num_episodes=tuple(int(count) for count in counts),
    )
