"""Does the predicted robot move as its actions say?

With d_t the displacement of the predicted robot from step t-1 to step t and m_t the motion that an
action adapter makes of the action between them, both in pixels of the picture::

    following = 1 - sum abs(d_t - m_t)^2 / sum abs(m_t)^2

over the steps of a prefix in which both are known. 1 is exact, 0 is a robot that stands still, and
negative is worse than standing still; there is no lower bound. The detail ``target_following`` is
the same number of the ground truth: what the adapter and the tracker can see at best, so a
prediction is to be read beside it. A prediction above it has smoother motion, not better.

The adapter is declared (`wbgpu.action_adapters`), or fitted to the ground truth of the very
episode, never to a prediction; where the actions do not explain the ground truth's motion the
episode is unsupported, and so is one without actions.
No other tool computes it: worldbench's action_consistency compares directions of synthetic blobs.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from wbgpu.action_adapters import ActionAdapter, ActionsAndTrack, ImageMotion, LinearFit
from wbgpu.errors import ConfigurationError
from wbgpu.metrics.horizon_values import HorizonValues
from wbgpu.metrics.pooled_ratio import pooled_ratio
from wbgpu.metrics.track_metric import TrackedEpisode, TrackMetric, optional_numbers
from wbgpu.records.metric import MetricOutcome
from wbgpu.records.signals import EpisodeSignals
from wbgpu.tracking import Side, Tracks

_NO_ACTIONS = "The dataset has no action vectors for this episode."
_NO_ADAPTER = "No action adapter is configured, so nobody knows what the actions mean."
_TOO_FEW_ACTIONS = "There are {num_actions} actions, and {num_needed} from frame to frame."
_NOT_MOVING = "No motion is commanded so far while the robot is seen."
_WHOLE_EPISODE = "episode"


def action_following(displacement: Tensor, motion: Tensor) -> HorizonValues:
    """Skill of displacements against standing still.

    Args:
        displacement: float64 ``[T, 2]``, pixels from step t-1 to step t; NaN where not known, as at
            step 1.
        motion: float64 ``[T, 2]``, what the actions command, likewise.

    Returns:
        ``[1, T]``, NaN where no motion is commanded.
    """
    known = ~(displacement + motion).isnan().any(dim=1)
    error = (displacement - motion).square().sum(dim=1)
    commanded = motion.square().sum(dim=1)
    prefix, step = pooled_ratio(
        torch.where(known, error, 0.0)[None], torch.where(known, commanded, 0.0)[None]
    )
    return HorizonValues(1 - prefix, 1 - step)


def displacement(tracks: Tracks) -> Tensor:
    """Pixels from step t-1 to step t of the first role, float64 ``[T, 2]``; NaN at step 1."""
    position = tracks.position[:, 0]
    return torch.cat([torch.full_like(position[:1], torch.nan), position.diff(dim=0)])


class ActionFollowing(TrackMetric):
    """Skill of the predicted robot's motion against its actions.

    Args:
        adapter: what the actions mean; a `LinearFit` of scope ``episode`` is fitted to each
            episode's ground truth. ``None``: every episode is unsupported.
        role: what the actions move.
    """

    name = "action_following"
    metric_id = "action_following/wbgpu-1.0"
    unit = "skill"
    needs_actions = True
    sides = frozenset[Side]({"prediction", "target"})

    def __init__(
        self,
        num_horizons: int = 16,
        adapter: ActionAdapter | LinearFit | None = None,
        role: str = "robot",
        **arguments: Any,
    ) -> None:
        if isinstance(adapter, LinearFit) and adapter.scope != _WHOLE_EPISODE:
            raise ConfigurationError(
                f"adapter of action_following: a LinearFit of scope {adapter.scope!r} has to see "
                "the whole suite first; fit it with LinearFit.fit and give the LinearMap, or "
                "choose scope=episode"
            )
        if adapter is not None:
            self.metric_id = f"{self.metric_id}+{adapter.adapter_id}"
        super().__init__(num_horizons, **arguments)
        self.adapter = adapter
        self._role = role

    def refusal(self, signals: EpisodeSignals | None) -> str | None:
        """No actions, or nothing that says what they mean."""
        if self.adapter is None:
            return _NO_ADAPTER
        if signals is None or signals.action_vectors is None:
            return _NO_ACTIONS
        return None

    def outcome(self, episode: TrackedEpisode) -> MetricOutcome:
        """See the module's formula."""
        num_steps, signals = episode.num_steps, episode.signals
        if signals is not None and signals.action_vectors is not None:
            num_needed = max(0, episode.num_context + num_steps - 1)
            if (num_actions := len(signals.action_vectors)) < num_needed:
                reason = _TOO_FEW_ACTIONS.format(num_actions=num_actions, num_needed=num_needed)
                return self.refused_outcome(reason, num_steps)
        moved = {
            side: displacement(tracks.of(self._role)[:num_steps])
            for side, tracks in episode.tracks.items()
        }
        adapted = self._motion(episode, moved["target"])
        if adapted.pixels is None:
            return self.refused_outcome(adapted.reason or _NO_ADAPTER, num_steps)
        motion = _aligned(torch.from_numpy(adapted.pixels), episode.num_context, num_steps)
        values = action_following(moved["prediction"], motion)
        ceiling = action_following(moved["target"], motion)
        prefix = optional_numbers(values.prefix[0])
        details = {"target_following": optional_numbers(ceiling.prefix[0])}
        if adapted.r_squared is not None:
            details["adapter_r_squared"] = (adapted.r_squared,) * num_steps
        return self._outcome(
            prefix,
            [_NOT_MOVING if value is None else None for value in prefix],
            step=optional_numbers(values.step[0]),
            details=details,
        )

    def _motion(self, episode: TrackedEpisode, moved: Tensor) -> ImageMotion:
        signals, adapter = episode.signals, self.adapter
        if adapter is None or signals is None or signals.action_vectors is None:
            return ImageMotion(None, self.refusal(signals))
        actions, names = signals.action_vectors, signals.action_names
        if isinstance(adapter, LinearFit):
            # Of the frame before step 1 and earlier ones nothing is tracked.
            num_unseen = max(0, episode.num_context - 1)
            unseen = torch.full((num_unseen, 2), torch.nan, dtype=torch.float64)
            path = torch.cat([unseen, moved if episode.num_context else moved[1:]])
            own = ActionsAndTrack(actions, names, path.numpy())
            return adapter.fit({"episode": own})["episode"].motion(actions, names)
        return adapter.motion(actions, names)


def _aligned(pixels: Tensor, num_context: int, num_steps: int) -> Tensor:
    """Motion ``[T, 2]`` to each step, from ``pixels [N, 2]`` by action; NaN where there is none."""
    motion = torch.full((num_steps, 2), torch.nan, dtype=torch.float64)
    # The action that leads to the frame of step 1 is the one of the frame before it.
    first, start = (num_context - 1, 0) if num_context else (0, 1)
    found = pixels[first : first + num_steps - start]
    motion[start : start + len(found)] = found
    return motion
