"""Temporal stability, worldbench's penalty for flicker and jumps in the prediction.

With d_t = mean abs(prediction_{t+1} - prediction_t) over the transitions of a prefix, median m,
maximum M, population standard deviation s, threshold J = max(18, 3 m + 8), n = number of d > J::

    score = 100 - min(60, 20 n + 0.8 max(0, M - J)) - min(35, 1.8 s) - min(20, 1.5 max(0, m - 8))

clamped to 0..100. All prefixes are found in O(T log T).
Matches worldbench 0.4.1. The target is not looked at: a frozen prediction scores 100, a perfect
one of a scene with a cut does not; see temporal_fidelity. There is no view of a single step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from wbgpu.metrics.episode_metric import OptionalNumbers
from wbgpu.metrics.horizon_metric import HorizonMetric
from wbgpu.metrics.horizon_values import HorizonValues, num_steps, prefix_mean
from wbgpu.metrics.prefix_order import PrefixOrder
from wbgpu.records.metric import SCORE_UNIT, MetricOutcome
from wbgpu.statistics import FrameStatistics

_SHORT_EPISODE_ISSUE = "Only one step was predicted, so nothing can be said about stability."
_LARGE_SPREAD = 12.0
_MAX_JUMPS_SHOWN = 5


def temporal_stability(statistics: FrameStatistics) -> HorizonValues:
    """Score 0-100 of ``statistics [B, T]`` with group ``frame_delta``.

    Returns:
        NaN at horizon 1, and in the whole step view. Details, by prefix: ``mean_frame_delta``,
        ``median_frame_delta``, ``max_frame_delta``, ``std_frame_delta``, ``jump_threshold``
        (intensity levels 0-255), ``num_jumps``, ``largest_jump_frame`` (the
        first largest transition, from 0); as float64, NaN at horizon 1.
    """
    deltas = statistics.require("prediction_delta_sum") / statistics.num_values.double()
    deltas = deltas[:, 1:]
    nothing = torch.full_like(statistics.num_values, torch.nan, dtype=torch.float64)
    columns = _prefix_columns(deltas) if deltas.shape[1] else {}
    columns = {k: torch.cat([nothing[:, :1], v.double()], dim=1) for k, v in columns.items()}
    return HorizonValues(columns.pop("score", nothing), nothing, columns)


def _prefix_columns(deltas: Tensor) -> dict[str, Tensor]:
    order = PrefixOrder(deltas)
    median = order.median()
    threshold = (3 * median + 8).clamp(min=18)
    num_jumps = order.count_above(threshold)
    maximum = deltas.cummax(dim=1).values
    std = _prefix_std(deltas)
    jump_penalty = (20 * num_jumps + 0.8 * (maximum - threshold).clamp(min=0)).clamp(max=60)
    spread_penalty = (1.8 * std).clamp(max=35)
    level_penalty = (1.5 * (median - 8).clamp(min=0)).clamp(max=20)
    return {
        "score": (100 - jump_penalty - spread_penalty - level_penalty).clamp(0, 100),
        "mean_frame_delta": prefix_mean(deltas),
        "median_frame_delta": median,
        "max_frame_delta": maximum,
        "std_frame_delta": std,
        "jump_threshold": threshold,
        "num_jumps": num_jumps,
        "largest_jump_frame": _first_argmax(deltas, maximum),
    }


def _prefix_std(deltas: Tensor) -> Tensor:
    """Population standard deviation of each prefix."""
    # Every prefix holds the first value, so with it as origin the subtraction cannot cancel badly.
    shifted = deltas - deltas[:, :1]
    n = num_steps(deltas)
    mean = shifted.cumsum(dim=1) / n
    return (shifted.square().cumsum(dim=1) / n - mean.square()).clamp(min=0).sqrt()


def _first_argmax(deltas: Tensor, maximum: Tensor) -> Tensor:
    index = torch.arange(deltas.shape[1], device=deltas.device).expand_as(deltas)
    is_record = deltas[:, 1:] > maximum[:, :-1]
    records = torch.where(is_record, index[:, 1:], torch.zeros_like(index[:, 1:]))
    return torch.cat([index[:, :1], records], dim=1).cummax(dim=1).values


def temporal_stability_issues(
    jump_indices: Sequence[int], std_frame_delta: float
) -> tuple[str, ...]:
    """Remarks on an episode, under worldbench's conditions.

    Args:
        jump_indices: transitions above the threshold, from 0.
        std_frame_delta: standard deviation of the transitions, in intensity levels.
    """
    issues = []
    if jump_indices:
        shown = ", ".join(f"{i + 1}->{i + 2}" for i in jump_indices[:_MAX_JUMPS_SHOWN])
        num_hidden = len(jump_indices) - _MAX_JUMPS_SHOWN
        more = f" and {num_hidden} more" if num_hidden > 0 else ""
        issues.append(f"Jumps between predicted steps {shown}{more}.")
    if std_frame_delta > _LARGE_SPREAD:
        issues.append(
            f"Uneven motion: the changes between steps have a standard deviation of "
            f"{std_frame_delta:.1f} levels, above {_LARGE_SPREAD:g}."
        )
    return tuple(issues)


class TemporalStability(HorizonMetric):
    """Worldbench's temporal stability of the prediction, 0-100."""

    name = "temporal_stability"
    metric_id = "temporal_stability/worldbench-1.0"
    unit = SCORE_UNIT
    higher_is_better = True
    statistics = frozenset({"frame_delta"})
    looks_at_target = False
    undefined_reason = "Temporal stability requires at least one future-frame transition."

    def episode_values(self, statistics: FrameStatistics) -> HorizonValues:
        """See `temporal_stability`."""
        return temporal_stability(statistics)

    def episode_outcome(
        self,
        statistics: FrameStatistics,
        prefix: OptionalNumbers,
        step: OptionalNumbers,
        details: Mapping[str, tuple[Any, ...]],
    ) -> MetricOutcome:
        """The record of one episode.

        As in worldbench an episode of one step scores 0 with an issue, although its horizon 1 is
        undefined. The detail ``jump_indices`` lists, by prefix, the transitions above the
        threshold, from 0.
        """
        if statistics.shape[1] == 1:
            return MetricOutcome(
                self.name,
                self.metric_id,
                "available",
                value=0.0,
                prefix=(None,),
                prefix_reasons=(self.undefined_reason,),
                issues=(_SHORT_EPISODE_ISSUE,),
            )
        delta_sums = statistics.require("prediction_delta_sum")[0, 1:].cpu().numpy()
        deltas = delta_sums / statistics.num_values[0, 1:].cpu().numpy().astype(np.float64)
        shown = dict(details)
        num_jumps, thresholds = shown.pop("num_jumps"), shown.pop("jump_threshold")
        shown["jump_indices"] = tuple(
            None
            if count is None
            else tuple(np.flatnonzero(deltas[:n] > thresholds[n]).tolist() if count else ())
            for n, count in enumerate(num_jumps)
        )
        frames = shown["largest_jump_frame"]
        shown["largest_jump_frame"] = tuple(None if f is None else int(f) for f in frames)
        issues = temporal_stability_issues(shown["jump_indices"][-1], shown["std_frame_delta"][-1])
        outcome = super().episode_outcome(statistics, prefix, step, shown)
        return replace(outcome, issues=issues)
