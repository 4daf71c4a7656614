"""Do prediction and target show things in the same places, at the same times?

All of them compare tracks of the predicted frames with tracks of the target's, made by the same
tracker: they are as good as it is. p and q are positions of a role in prediction and target, in
pixels; a prefix pools its steps (sums, then the ratio).

- ``track_error``: mean of abs(p - q) over roles and steps in which both are seen.
- ``track_presence``: of the roles and steps that the target shows, the share that the prediction
  shows too. Read it beside ``track_error``, which cannot see what is gone.
- ``motion_onset_error``: steps at which the object has moved in one of the two and not yet in the
  other; it has moved from the step on at which it is first more than ``min_displacement`` pixels
  from where it was first seen. Late, missing and needless motion count alike.
- ``contact_agreement``: steps with contact in both, over steps with contact in either. There is
  contact where robot and object are seen with centres no further apart than ``margin`` pixels plus
  the radii of discs of their areas.

No other tool computes these; they are not worldbench's metrics of similar names.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar

import torch
from torch import Tensor

from wbgpu.errors import ConfigurationError
from wbgpu.metrics.horizon_values import HorizonValues
from wbgpu.metrics.pooled_ratio import pooled_ratio
from wbgpu.metrics.synthetic import is_synthetic
from wbgpu.metrics.track_metric import TrackedEpisode, TrackMetric, optional_numbers
from wbgpu.records.metric import MetricOutcome
from wbgpu.records.signals import EpisodeSignals
from wbgpu.tracking import ColourBlobs, Side, Tracks

_BOTH_SIDES = frozenset[Side]({"prediction", "target"})
_NOT_DRAWN = (
    "Colour blobs follow drawn scenes only, and the metadata does not say synthetic; set a tracker."
)


def track_error(prediction: Tracks, target: Tracks) -> HorizonValues:
    """Mean distance in pixels, of tracks of the same T steps and roles.

    Returns:
        ``[1, T]``, NaN where no role is seen in both.
    """
    distance = (prediction.position - target.position).norm(dim=-1)
    both = prediction.seen & target.seen
    total = torch.where(both, distance, 0.0).sum(dim=1)
    return HorizonValues(*pooled_ratio(total[None], both.sum(dim=1)[None]))


def track_presence(prediction: Tracks, target: Tracks) -> HorizonValues:
    """Share, 0 to 1, ``[1, T]``; NaN where the target shows nothing."""
    both = (prediction.seen & target.seen).sum(dim=1)
    return HorizonValues(*pooled_ratio(both[None], target.seen.sum(dim=1)[None]))


def motion_onset_error(
    prediction: Tracks, target: Tracks, min_displacement: float
) -> HorizonValues:
    """Steps of disagreement about whether a thing has moved, of tracks of one role.

    Returns:
        ``[1, T]``; a prefix is a count of steps, a step is 0 or 1; NaN as long as neither has
        moved.
    """
    moved = [_has_moved(tracks, min_displacement) for tracks in (prediction, target)]
    differs, either = (moved[0] != moved[1]).double(), moved[0] | moved[1]
    nothing = torch.full_like(differs, torch.nan)
    return HorizonValues(
        torch.where(either, differs.cumsum(dim=0), nothing)[None],
        torch.where(either, differs, nothing)[None],
    )


def contact_agreement(prediction: Tracks, target: Tracks, margin: float) -> HorizonValues:
    """Share, 0 to 1, ``[1, T]``, of tracks of the roles robot and object; NaN without contact."""
    predicted, real = has_contact(prediction, margin), has_contact(target, margin)
    return HorizonValues(*pooled_ratio((predicted & real)[None], (predicted | real)[None]))


def has_contact(tracks: Tracks, margin: float) -> Tensor:
    """Whether robot and object touch, bool ``[T]``."""
    robot, other = tracks.of("robot"), tracks.of("object")
    distance = (robot.position - other.position).norm(dim=-1)[:, 0]
    reach = margin + (robot.area / math.pi).sqrt()[:, 0] + (other.area / math.pi).sqrt()[:, 0]
    # A comparison with the NaN of what is not seen is false.
    touches: Tensor = distance <= reach
    return touches


def _has_moved(tracks: Tracks, min_displacement: float) -> Tensor:
    """From when on, bool ``[T]``."""
    position, seen = tracks.position[:, 0], tracks.seen[:, 0]
    if not bool(seen.any()):
        return torch.zeros_like(seen)
    first = position[int(seen.int().argmax())]
    is_away = (position - first).norm(dim=-1) > min_displacement
    moved: Tensor = is_away.int().cummax(dim=0).values.bool()
    return moved


class _AgreementMetric(TrackMetric):
    """Compares the tracks of both sides."""

    sides = _BOTH_SIDES
    undefined_reason: ClassVar[str]

    def refusal(self, signals: EpisodeSignals | None) -> str | None:
        """Red and green things of a real video are neither robot nor object."""
        is_blind = isinstance(self.tracker, ColourBlobs) and not is_synthetic(signals)
        return _NOT_DRAWN if is_blind else None

    def outcome(self, episode: TrackedEpisode) -> MetricOutcome:
        """See the module's formulas."""
        num_steps = episode.num_steps
        sides = episode.tracks
        values = self.values(sides["prediction"][:num_steps], sides["target"][:num_steps])
        prefix = optional_numbers(values.prefix[0])
        reasons = [self.undefined_reason if value is None else None for value in prefix]
        return self._outcome(prefix, reasons, step=optional_numbers(values.step[0]))

    @abstractmethod
    def values(self, prediction: Tracks, target: Tracks) -> HorizonValues:
        """Values ``[1, T]`` of tracks of T steps."""


class TrackError(_AgreementMetric):
    """Mean distance of things between prediction and target, in pixels."""

    name = "track_error"
    metric_id = "track_error/wbgpu-1.0"
    unit = "pixels"
    higher_is_better = False
    undefined_reason = "No tracked thing is seen in both prediction and target so far."

    def values(self, prediction: Tracks, target: Tracks) -> HorizonValues:
        """See `track_error`."""
        return track_error(prediction, target)


class TrackPresence(_AgreementMetric):
    """Share of what the target shows that the prediction shows."""

    name = "track_presence"
    metric_id = "track_presence/wbgpu-1.0"
    unit = "share"
    undefined_reason = "No tracked thing is seen in the target so far."

    def values(self, prediction: Tracks, target: Tracks) -> HorizonValues:
        """See `track_presence`."""
        return track_presence(prediction, target)


class MotionOnsetError(_AgreementMetric):
    """Steps by which the object begins to move too early or too late.

    Args:
        min_displacement: pixels; above what the tracker's own noise makes.
    """

    name = "motion_onset_error"
    metric_id = "motion_onset_error/wbgpu-1.0"
    unit = "steps"
    higher_is_better = False
    undefined_reason = "The object has not moved so far, in neither prediction nor target."

    def __init__(
        self, num_horizons: int = 16, min_displacement: float = 4.0, **arguments: Any
    ) -> None:
        self._min_displacement = _positive("min_displacement", min_displacement)
        if min_displacement != 4:
            self.metric_id = f"{self.metric_id}({min_displacement:g})"
        super().__init__(num_horizons, **arguments)

    def values(self, prediction: Tracks, target: Tracks) -> HorizonValues:
        """See `motion_onset_error`."""
        return motion_onset_error(
            prediction.of("object"), target.of("object"), self._min_displacement
        )


class ContactAgreement(_AgreementMetric):
    """Share of the steps with contact of robot and object that both sides have in common.

    Args:
        margin: pixels.
    """

    name = "contact_agreement"
    metric_id = "contact_agreement/wbgpu-1.0"
    unit = "share"
    undefined_reason = "Robot and object do not touch so far, in neither prediction nor target."

    def __init__(self, num_horizons: int = 16, margin: float = 4.0, **arguments: Any) -> None:
        self._margin = _positive("margin", margin)
        if margin != 4:
            self.metric_id = f"{self.metric_id}({margin:g})"
        super().__init__(num_horizons, **arguments)

    def values(self, prediction: Tracks, target: Tracks) -> HorizonValues:
        """See `contact_agreement`."""
        return contact_agreement(prediction, target, self._margin)


def _positive(name: str, pixels: float) -> float:
    if not (math.isfinite(pixels) and pixels > 0):
        raise ConfigurationError(f"{name}: expected pixels above 0, got {pixels}")
    return pixels
