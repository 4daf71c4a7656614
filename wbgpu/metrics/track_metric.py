"""Base of the metrics that follow from tracks and signals: where things are, and what was done."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from wbgpu.errors import ConfigurationError
from wbgpu.metrics.episode_metric import EpisodeMetric, OptionalNumbers
from wbgpu.metrics.horizon_values import check_valid
from wbgpu.records.metric import MetricOutcome
from wbgpu.records.signals import EpisodeSignals
from wbgpu.tracking import ColourBlobs, EpisodeTracker, Side, Tracker, Tracks


@dataclass(frozen=True, eq=False)
class TrackedEpisode:
    """What a `TrackMetric` sees of an episode of T steps.

    Attributes:
        tracks: of each side that the metric asks for, T frames.
        signals: actions, states and metadata, of the whole episode, context included; ``None``
            where the dataset has none.
        num_context: index of the frame at step 1.
    """

    tracks: Mapping[Side, Tracks]
    signals: EpisodeSignals | None = None
    num_context: int = 0

    @property
    def num_steps(self) -> int:
        """T."""
        return min(map(len, self.tracks.values()))


class TrackMetric(EpisodeMetric):
    """Mean over episodes of a metric of tracks and signals, at horizons 1..num_horizons.

    A subclass sets the class attributes and writes `outcome`, and `refusal` where an episode can be
    refused before its frames are tracked.

    Class attributes:
        name, metric_id, unit, higher_is_better: see `EpisodeMetric`.
        sides: whose frames are tracked. Where it is the prediction alone, it is seen in its own
            size, otherwise in the target's.
        needs_actions: whether it looks at action vectors, which may lie beside a suite that has
            none of its own.

    Args:
        num_horizons: the most steps that an episode given to `update` may have.
        tracker: finds things in frames. Its id is part of ``metric_id`` unless it is the default.
    """

    sides: ClassVar[frozenset[Side]] = frozenset({"prediction"})
    needs_actions: ClassVar[bool] = False
    higher_is_better = True

    def __init__(
        self,
        num_horizons: int = 16,
        tracker: Tracker | EpisodeTracker | None = None,
        **torchmetrics_arguments: Any,
    ) -> None:
        default = ColourBlobs()
        chosen = default if tracker is None else tracker
        if chosen.tracker_id != default.tracker_id:
            # Values of other tracks are never compared.
            self.metric_id = f"{self.metric_id}+{chosen.tracker_id}"
        super().__init__(num_horizons, **torchmetrics_arguments)
        self.tracker: Tracker | EpisodeTracker = chosen

    def refusal(self, signals: EpisodeSignals | None) -> str | None:
        """Why an episode of these signals has no value whatever its frames; ``None``: it may have.

        The frames of a refused episode are not tracked.
        """
        del signals
        return None

    @abstractmethod
    def outcome(self, episode: TrackedEpisode) -> MetricOutcome:
        """The record of an episode that is not refused; entry t of a view depends on steps 1..t."""

    def refused_outcome(self, reason: str, num_steps: int) -> MetricOutcome:
        """The record of an episode that is refused."""
        del num_steps
        return MetricOutcome(self.name, self.metric_id, "unsupported", reason=reason)

    def update(
        self,
        prediction: Tensor,
        target: Tensor,
        valid: Tensor | None = None,
        signals: Sequence[EpisodeSignals | None] | None = None,
        num_context: int = 0,
    ) -> None:
        """Add a batch of episodes.

        Args:
            prediction: uint8 RGB ``[B, T, 3, H, W]``, 0-255.
            target: likewise.
            valid: bool ``[B, T]``, steps that exist; all by default.
            signals: of each episode.
            num_context: index of the frame at step 1 among those that ``signals`` speak of.

        Raises:
            TypeError: frames that are not uint8, or a ``valid`` that is not a tensor of bool.
            ValueError: shapes that do not fit together, or more than ``num_horizons`` steps.
            ConfigurationError: a tracker that has to know which episode it sees.
        """
        if isinstance(self.tracker, EpisodeTracker):
            raise ConfigurationError(
                f"{self.name}: the tracker {self.tracker.tracker_id} looks episodes up by their "
                "names, which update is not given; evaluate the suite with it, or use a tracker "
                "that sees frames"
            )
        for name, frames in (("prediction", prediction), ("target", target)):
            if frames.dtype != torch.uint8:
                raise TypeError(f"{name}: expected uint8 frames, got {frames.dtype}")
        if prediction.ndim != 5 or prediction.shape != target.shape:
            raise ValueError(
                f"prediction {tuple(prediction.shape)} and target {tuple(target.shape)}: expected "
                "two equal shapes [B, T, 3, H, W]"
            )
        shape = prediction.shape[:2]
        self._check_num_steps(shape[1])
        if valid is None:
            lengths = [shape[1]] * shape[0]
        else:
            check_valid(valid, shape)
            lengths = valid.sum(dim=1).tolist()
        of_episode = [None] * shape[0] if signals is None else list(signals)
        if len(of_episode) != shape[0]:
            raise ValueError(f"signals of {len(of_episode)} episodes for {shape[0]} videos")
        views = torch.full((2, *shape), torch.nan, dtype=torch.float64)
        for index, (length, own) in enumerate(zip(lengths, of_episode, strict=True)):
            if length == 0 or self.refusal(own) is not None:
                continue
            sides = {"prediction": prediction, "target": target}
            tracks: dict[Side, Tracks] = {
                side: self.tracker.start().track(sides[side][index, :length]).to("cpu")
                for side in self.sides
            }
            outcome = self.outcome(TrackedEpisode(tracks, own, num_context))
            for view, column in enumerate((outcome.prefix, outcome.step)):
                for step, value in enumerate(column):
                    if value is not None:
                        views[view, index, step] = value
        self._add_views(views.to(prediction.device))

    def _outcome(
        self,
        prefix: OptionalNumbers,
        prefix_reasons: Sequence[str | None],
        *,
        reason: str | None = None,
        step: OptionalNumbers = (),
        details: Mapping[str, tuple[Any, ...]] | None = None,
        issues: tuple[str, ...] = (),
    ) -> MetricOutcome:
        """A record whose value is that of the last prefix, unless ``reason`` says there is none."""
        reason = reason or (prefix_reasons[-1] if prefix[-1] is None else None)
        has_prefix = any(value is not None for value in prefix)
        is_available = reason is None
        # What the record says as a whole it does not say again at every horizon.
        own_reasons = tuple(None if text == reason else text for text in prefix_reasons)
        return MetricOutcome(
            self.name,
            self.metric_id,
            "available" if is_available else "unsupported",
            value=prefix[-1] if is_available else None,
            reason=reason,
            prefix=prefix if has_prefix else (),
            prefix_reasons=own_reasons if any(own_reasons) else (),
            step=step if any(value is not None for value in step) else (),
            prefix_details=details if details is not None and has_prefix else {},
            issues=issues,
        )


def optional_numbers(values: Tensor) -> OptionalNumbers:
    """``values [T]`` with ``None`` for NaN."""
    return tuple(None if value != value else value for value in values.tolist())
