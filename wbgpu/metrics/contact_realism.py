"""Contact realism, worldbench's check that the object moves only once the robot has touched it.

In predicted frame t, counted from 0, the object has moved by the distance of its position from the
first one at which it was seen; the robot touches it when the two were at most 23 pixels apart in
frame t - 1. Frame t is premature when the object has moved by more than 3 pixels and was not
touched. Over a prefix with n premature frames::

    score = 100 - min(85, 22 n) - (15 if the object moved and was never touched else 0)

clamped to 0..100; frames in which one of the two is not seen count as no motion and no contact.
Matches worldbench 0.4.1, at whose drawing scale the pixels are meant. Unsupported unless the
metadata says that the scene is synthetic, and where no object is seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from wbgpu.metrics.prefix_lists import prefix_lists
from wbgpu.metrics.synthetic import is_synthetic
from wbgpu.metrics.track_metric import TrackedEpisode, TrackMetric, optional_numbers
from wbgpu.records.metric import SCORE_UNIT, MetricOutcome
from wbgpu.records.signals import EpisodeSignals

NO_TRACKING = "Reliable robot and object tracking are unavailable for this rollout."
TOO_SHORT = "Need at least two predicted frames."

CONTACT_PIXELS = 23.0
MOTION_PIXELS = 3.0

_MAX_SHOWN = 8


def contact_realism(robot: Tensor, thing: Tensor) -> dict[str, Tensor]:
    """Score 0-100 of every prefix.

    Args:
        robot: float64 ``[T, 2]``, positions in pixels, NaN where not seen.
        thing: likewise, of the object.

    Returns:
        ``score``, float64 ``[T]``, NaN at the first frame and where no object was seen so far; bool
        ``[T]`` of each frame ``premature``, ``touched``, ``moved``; and ``max_motion``, float64
        ``[T]``, the farthest of the prefix in pixels.
    """
    seen = ~thing[:, 0].isnan()
    has_seen = seen.cumsum(dim=0) > 0
    origin = thing[int(seen.long().argmax())]
    distance = (robot - thing).square().sum(dim=1).sqrt()[:-1]
    motion = (thing - origin).square().sum(dim=1).sqrt()[1:]
    known = ~(distance.isnan() | motion.isnan())
    motion = torch.where(known, motion, torch.zeros_like(motion))
    touched = _after_first(known & (distance <= CONTACT_PIXELS))
    moved = _after_first(motion > MOTION_PIXELS)
    premature = moved & ~touched
    num_premature = premature.cumsum(dim=0)
    max_motion = torch.cat([motion.new_zeros(1), motion]).cummax(dim=0).values
    never_touched = (touched.cumsum(dim=0) == 0) & (max_motion > MOTION_PIXELS)
    score = 100 - (22.0 * num_premature).clamp(max=85) - 15.0 * never_touched
    is_defined = has_seen & (torch.arange(len(score), device=score.device) > 0)
    return {
        "score": torch.where(
            is_defined, score.clamp(0, 100), torch.full_like(max_motion, torch.nan)
        ),
        "premature": premature,
        "touched": touched,
        "moved": moved,
        "max_motion": max_motion,
    }


def _after_first(later: Tensor) -> Tensor:
    """A mask of all frames from one of the second on."""
    return torch.cat([later.new_zeros(1), later])


class ContactRealism(TrackMetric):
    """Worldbench's contact realism of the prediction, 0-100."""

    name = "contact_realism"
    metric_id = "contact_realism/worldbench-1.0"
    unit = SCORE_UNIT

    def refusal(self, signals: EpisodeSignals | None) -> str | None:
        """Not said to be synthetic."""
        return None if is_synthetic(signals) else NO_TRACKING

    def outcome(self, episode: TrackedEpisode) -> MetricOutcome:
        """See the module's formula."""
        tracks = episode.tracks["prediction"]
        columns = contact_realism(
            tracks.of("robot").position[:, 0], tracks.of("object").position[:, 0]
        )
        prefix = optional_numbers(columns["score"])
        available = [value is not None for value in prefix]
        premature, touched, moved = (
            prefix_lists(columns[key], available) for key in ("premature", "touched", "moved")
        )
        first_contact = _firsts(columns["touched"], available)
        first_motion = _firsts(columns["moved"], available)
        details: dict[str, tuple[Any, ...]] = {
            "premature_motion_frames": premature,
            "contact_frames": touched,
            "object_motion_frames": moved,
            "first_contact_frame": first_contact,
            "first_object_motion_frame": first_motion,
            "moved_before_contact": tuple(
                (move is not None and (contact is None or move < contact)) if has_value else None
                for move, contact, has_value in zip(
                    first_motion, first_contact, available, strict=True
                )
            ),
            "contact_threshold_px": tuple(CONTACT_PIXELS if a else None for a in available),
            "max_object_motion_px": tuple(
                v if a else None
                for v, a in zip(columns["max_motion"].tolist(), available, strict=True)
            ),
        }
        reasons = [TOO_SHORT, *[NO_TRACKING] * (len(prefix) - 1)]
        return self._outcome(
            prefix,
            [None if a else reason for a, reason in zip(available, reasons, strict=True)],
            details=details,
            issues=_issues(premature[-1], first_motion[-1], first_contact[-1]),
        )


def _firsts(mask: Tensor, available: Sequence[bool]) -> tuple[int | None, ...]:
    """The first frame of ``mask`` within each prefix that has a value."""
    first = int(mask.long().argmax()) if bool(mask.any()) else len(mask)
    return tuple(first if a and index >= first else None for index, a in enumerate(available))


def _issues(
    premature: tuple[int, ...] | None, first_motion: int | None, first_contact: int | None
) -> tuple[str, ...]:
    issues = []
    if premature:
        shown = ", ".join(map(str, premature[:_MAX_SHOWN]))
        more = f" and {len(premature) - _MAX_SHOWN} more" if len(premature) > _MAX_SHOWN else ""
        issues.append(
            f"The object moves untouched in predicted frames {shown}{more}, counted from 0."
        )
    if first_motion is not None and first_contact is None:
        issues.append(f"It moves from frame {first_motion} on, and is never touched.")
    elif premature and first_motion is not None and first_contact is not None:
        issues.append(
            f"It moves from frame {first_motion} on, and is first touched in frame {first_contact}."
        )
    return tuple(issues)
