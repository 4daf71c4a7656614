"""Action consistency, worldbench's check that the robot moves as it was told to.

With p_t the robot's position in predicted frame t, the action between frames t and t + 1 scores
how its direction e agrees with the observed motion o = p_{t+1} - p_t, in pixels::

    |e| < 0.1:   100 - 25 |o|                                        (told to stand still)
    |o| < 0.75:  10                                                  (did not move)
    else:        0.8 * 50 (1 + cos(e, o)) + 0.2 * min(100, 25 |o|)
    no robot:    0

clamped to 0..100; a prefix is the mean over its actions, and step t is the action that leads to it.
Actions say their direction by name (left, right, up, down; hold, stationary, open_gripper and
close_gripper stand still) or by ``dx`` and ``dy``; a vector without them needs an action adapter.
Matches worldbench 0.4.1, but that names are read as words: there ``bright`` is right.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from wbgpu.metrics.horizon_values import prefix_mean
from wbgpu.metrics.prefix_lists import MAX_LISTED_PREFIXES
from wbgpu.metrics.track_metric import TrackedEpisode, TrackMetric, optional_numbers
from wbgpu.records.metric import SCORE_UNIT, MetricOutcome
from wbgpu.records.signals import EpisodeSignals

TOO_SHORT = "Need at least two predicted frames."
NO_ACTIONS = "No actions aligned to predicted frames."
NEEDS_ADAPTER = "unsupported raw numeric action vectors require an action adapter."

_STILL_NORM = 0.1
_MOVED_NORM = 0.75
_FULL_NORM = 4.0
_FAILED_SCORE = 50.0
_MAX_ROWS, _MAX_FAILURES = 20, 10

_DIRECTION = re.compile(r"(?:move|go|push|pull|turn|shift|step)?(left|right|up|down)(?:wards?)?")
_STILL_WORDS = frozenset({"stationary", "hold", "holding"})


def expected_motion(action: Mapping[str, Any]) -> tuple[float, float] | None:
    """Direction of one entry of ``actions.json``, x to the right and y downwards.

    Returns:
        ``None`` where the entry does not say one: no text, and ``dx`` and ``dy`` are 0.
    """
    name = action.get("action", "noop")
    dx, dy = float(action.get("dx", 0.0)), float(action.get("dy", 0.0))
    if not isinstance(name, str):
        return (dx, dy) if dx or dy else None
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())
    pairs = {*words, *map("".join, pairwise(words))}
    if words and (_STILL_WORDS & set(words) or {"closegripper", "opengripper"} & pairs):
        return 0.0, 0.0
    named = {match[1] for word in words if (match := _DIRECTION.fullmatch(word))}
    if "right" in named:
        dx = max(abs(dx), 1.0)
    elif "left" in named:
        dx = -max(abs(dx), 1.0)
    if "down" in named:
        dy = max(abs(dy), 1.0)
    elif "up" in named:
        dy = -max(abs(dy), 1.0)
    return dx, dy


def action_scores(position: Tensor, expected: Tensor) -> Tensor:
    """Score 0-100 of each action.

    Args:
        position: float64 ``[T, 2]``, of the robot in pixels, NaN where it was not seen.
        expected: float64 ``[N, 2]``; row i is the direction from frame i to frame i + 1.

    Returns:
        float64 ``[min(N, T - 1)]``.
    """
    observed = position[1:] - position[:-1]
    num_actions = min(len(expected), len(observed))
    observed, expected = observed[:num_actions], expected[:num_actions]
    observed_norm = observed.square().sum(dim=1).sqrt()
    expected_norm = expected.square().sum(dim=1).sqrt()
    cosine = (expected * observed).sum(dim=1) / (expected_norm * observed_norm)
    length_score = (observed_norm / _FULL_NORM * 100).clamp(0, 100)
    score = 0.8 * ((cosine + 1) * 50) + 0.2 * length_score
    score = torch.where(observed_norm < _MOVED_NORM, torch.full_like(score, 10.0), score)
    still = 100 - observed_norm * 25
    score = torch.where(expected_norm < _STILL_NORM, still, score).clamp(0, 100)
    return torch.where(observed_norm.isnan(), torch.zeros_like(score), score)


class ActionConsistency(TrackMetric):
    """Worldbench's action consistency of the predicted robot, 0-100."""

    name = "action_consistency"
    metric_id = "action_consistency/worldbench-1.0"
    unit = SCORE_UNIT

    def refusal(self, signals: EpisodeSignals | None) -> str | None:
        """No actions at all, or none that says a direction."""
        if signals is None or not signals.actions:
            return NO_ACTIONS
        if all(expected_motion(action) is None for action in signals.actions):
            return NEEDS_ADAPTER
        return None

    def refused_outcome(self, reason: str, num_steps: int) -> MetricOutcome:
        """As worldbench, a single frame is the first thing that it says."""
        reasons = [TOO_SHORT, *[reason] * (num_steps - 1)][:num_steps]
        return self._outcome((None,) * num_steps, reasons, reason=reasons[-1])

    def outcome(self, episode: TrackedEpisode) -> MetricOutcome:
        """See the module's formula."""
        assert episode.signals is not None
        assert episode.signals.actions is not None
        actions = episode.signals.actions[episode.num_context :]
        motions = [expected_motion(action) for action in actions]
        # Those up to the first that says nothing: worldbench gives no value from there on.
        spoken = motions.index(None) if None in motions else len(motions)
        expected = torch.tensor([m or (0.0, 0.0) for m in motions], dtype=torch.float64)
        position = episode.tracks["prediction"].of("robot").position[:, 0]
        scores = action_scores(position, expected.reshape(-1, 2))
        num_steps, num_scores = episode.num_steps, len(scores)
        means = prefix_mean(scores[None])[0].tolist()
        prefix: list[float | None] = []
        reasons: list[str | None] = []
        for num_frames in range(1, num_steps + 1):
            used = min(num_frames - 1, num_scores)
            reason = None
            if num_frames < 2:
                reason = TOO_SHORT
            elif min(num_frames - 1, len(motions)) > spoken:
                reason = NEEDS_ADAPTER
            elif not used:
                reason = NO_ACTIONS
            reasons.append(reason)
            prefix.append(None if reason else min(100.0, max(0.0, means[used - 1])))
        whole = None
        if num_steps >= 2 and spoken < len(motions):
            whole = NEEDS_ADAPTER
        failed = (scores < _FAILED_SCORE) | position[1 : num_scores + 1].isnan().any(dim=1)
        failed |= position[:num_scores].isnan().any(dim=1)
        is_failed = failed.tolist()
        is_available = prefix[-1] is not None and whole is None
        return self._outcome(
            tuple(prefix),
            reasons,
            reason=whole,
            step=_steps(scores, num_steps, spoken),
            details=_details(actions, motions, position, is_failed, prefix),
            issues=_issues(actions, is_failed) if is_available else (),
        )


def _steps(scores: Tensor, num_steps: int, spoken: int) -> tuple[float | None, ...]:
    # The first step has no action that leads to it.
    found = [None, *optional_numbers(scores[:spoken])]
    return tuple(found + [None] * (num_steps - len(found)))


def _details(
    actions: Sequence[Mapping[str, Any]],
    motions: Sequence[tuple[float, float] | None],
    position: Tensor,
    is_failed: Sequence[bool],
    prefix: Sequence[float | None],
) -> dict[str, tuple[Any, ...]]:
    rows: list[dict[str, Any]] = []
    failures: list[dict[str, Any]] = []
    num_failed = [0]
    observed = (position[1:] - position[:-1]).tolist()
    for index, has_failed in enumerate(is_failed):
        num_failed.append(num_failed[-1] + has_failed)
        if len(rows) >= _MAX_ROWS and len(failures) >= _MAX_FAILURES:
            continue
        row, failure = _rows(actions[index], motions[index] or (0.0, 0.0), observed[index])
        rows.append(row)
        if has_failed:
            failures.append(failure)
    columns: dict[str, list[Any]] = {
        key: []
        for key in ("steps", "failed_steps", "failure_rate", "commanded_vs_predicted", "failures")
    }
    for index, value in enumerate(prefix):
        used = min(index, len(is_failed))
        failed = num_failed[used]
        has_lists = index < MAX_LISTED_PREFIXES or index == len(prefix) - 1
        entry: tuple[Any, ...] = (
            used,
            failed,
            failed / used if used else 0.0,
            tuple(rows[: min(used, _MAX_ROWS)]) if has_lists else None,
            tuple(failures[: min(failed, _MAX_FAILURES)]) if has_lists else None,
        )
        for column, cell in zip(columns.values(), entry, strict=True):
            column.append(None if value is None else cell)
    return {key: tuple(column) for key, column in columns.items()}


def _rows(
    action: Mapping[str, Any], expected: tuple[float, float], observed: Sequence[float]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """An action as it stands among all, and among the failures if it is one; worldbench's keys."""
    head = {"t": action["t"], "action": action.get("action", "noop")}
    dx, dy = observed
    if dx != dx:
        return (
            {
                **head,
                "commanded_direction": direction(*expected),
                "predicted_motion_direction": "missing",
            },
            {**head, "reason": "robot centroid missing"},
        )
    seen = {"observed_dx": round(dx, 3), "observed_dy": round(dy, 3)}
    return (
        {
            **head,
            "commanded_direction": direction(*expected),
            "predicted_motion_direction": direction(dx, dy),
            **seen,
        },
        {**head, "expected_dx": expected[0], "expected_dy": expected[1], **seen},
    )


def direction(dx: float, dy: float) -> str:
    """``right``, ``left``, ``down``, ``up``, or ``stationary`` below half a pixel."""
    if (dx * dx + dy * dy) ** 0.5 < 0.5:
        return "stationary"
    if abs(dx) >= abs(dy):
        return "right" if dx > 0 else "left"
    return "down" if dy > 0 else "up"


def _issues(actions: Sequence[Mapping[str, Any]], is_failed: Sequence[bool]) -> tuple[str, ...]:
    num_failed = sum(is_failed)
    if not num_failed:
        return ()
    names = [str(action.get("action")) for action in actions]
    by_name: dict[str, int] = {}
    for name, has_failed in zip(names, is_failed, strict=False):
        if has_failed:
            by_name[name] = by_name.get(name, 0) + 1
    most = sorted(by_name.items(), key=lambda item: -item[1])[:3]
    shown = ", ".join(f"{name} ({count})" for name, count in most)
    return (
        f"The predicted robot did not follow {num_failed} of {len(is_failed)} actions: {shown}.",
    )
