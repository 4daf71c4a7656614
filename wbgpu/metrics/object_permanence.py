"""Object permanence, worldbench's check that the object stays visible and of one size.

With a_t the object's area in predicted frame t, in pixels, over a prefix: m the median and s the
population standard deviation of the areas above 10, r the share of frames with a_t >= max(10,
0.35 m)::

    score = 100 r - min(25, 25 s / max(m, 1))

clamped to 0..100. Matches worldbench 0.4.1. Unsupported unless the metadata says that the scene is
synthetic (`wbgpu.metrics.synthetic`), and where no frame has more than 10 pixels of the object. The
ground truth is not looked at: an object that leaves the scene costs a perfect prediction points.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from wbgpu.metrics.prefix_lists import prefix_lists
from wbgpu.metrics.prefix_order import PrefixOrder
from wbgpu.metrics.synthetic import is_synthetic
from wbgpu.metrics.track_metric import TrackedEpisode, TrackMetric, optional_numbers
from wbgpu.records.metric import SCORE_UNIT, MetricOutcome
from wbgpu.records.signals import EpisodeSignals

NO_TRACKING = "Reliable object tracking is unavailable for this rollout."

_MIN_AREA = 10.0
_VISIBLE_SHARE = 0.35
_LARGE_SPREAD = 0.35
_MAX_SHOWN = 8


def object_permanence(area: Tensor) -> dict[str, Tensor]:
    """Score 0-100 of every prefix of ``area``, float64 ``[T]`` in pixels, T >= 1.

    Returns:
        ``score``, NaN where no frame so far shows the object; with it ``visible_frames``,
        ``reference_area``, ``area_cv``, and ``threshold``, the area below which the object counts
        as missing. All float64 ``[T]``.
    """
    nothing = torch.full_like(area, torch.nan)
    is_large = area > _MIN_AREA
    num_large = is_large.cumsum(dim=0)
    if not bool(is_large.any()):
        return dict.fromkeys(
            ("score", "visible_frames", "reference_area", "area_cv", "threshold"), nothing
        )
    large = area[is_large]
    of_large = (num_large - 1).clamp(min=0)
    median = PrefixOrder(large[None]).median()[0][of_large]
    deviation = _prefix_std(large)[of_large]
    threshold = (_VISIBLE_SHARE * median).clamp(min=_MIN_AREA)
    # Areas at the threshold are visible: above the number before it.
    below = torch.nextafter(threshold, torch.full_like(threshold, -torch.inf))
    visible = PrefixOrder(area[None]).count_above(below[None])[0].double()
    num_frames = torch.arange(1, len(area) + 1, dtype=torch.float64, device=area.device)
    missing_ratio = (num_frames - visible) / num_frames
    spread = deviation / median.clamp(min=1)
    score = 100 * (1 - missing_ratio) - (25 * spread).clamp(max=25)
    columns = {
        "score": score.clamp(0, 100),
        "visible_frames": visible,
        "reference_area": median,
        "area_cv": spread,
        "threshold": threshold,
    }
    return {key: torch.where(num_large > 0, column, nothing) for key, column in columns.items()}


def _prefix_std(values: Tensor) -> Tensor:
    """Population standard deviation of each prefix of ``values [N]``."""
    # Every prefix holds the first value, so with it as origin the subtraction cannot cancel badly.
    shifted = values - values[0]
    n = torch.arange(1, len(values) + 1, dtype=torch.float64, device=values.device)
    mean = shifted.cumsum(dim=0) / n
    return (shifted.square().cumsum(dim=0) / n - mean.square()).clamp(min=0).sqrt()


class ObjectPermanence(TrackMetric):
    """Worldbench's object permanence of the prediction, 0-100."""

    name = "object_permanence"
    metric_id = "object_permanence/worldbench-1.0"
    unit = SCORE_UNIT

    def refusal(self, signals: EpisodeSignals | None) -> str | None:
        """Not said to be synthetic."""
        return None if is_synthetic(signals) else NO_TRACKING

    def outcome(self, episode: TrackedEpisode) -> MetricOutcome:
        """See the module's formula."""
        area = episode.tracks["prediction"].of("object").area[:, 0]
        columns = object_permanence(area)
        prefix = optional_numbers(columns["score"])
        available = [value is not None for value in prefix]
        steps = range(len(prefix))
        is_missing = area[None, :] < columns["threshold"][:, None]
        missing = prefix_lists(is_missing, available)
        visible = columns["visible_frames"].nan_to_num().long().tolist()
        details: dict[str, tuple[Any, ...]] = {
            "visible_frames": tuple(visible),
            "total_frames": tuple(index + 1 for index in steps),
            "missing_frames": missing,
            "disappearance_percentage": tuple(
                100.0 * (index + 1 - visible[index]) / (index + 1) for index in steps
            ),
            "reference_area": optional_numbers(columns["reference_area"]),
            "area_cv": optional_numbers(columns["area_cv"]),
        }
        details = {
            key: tuple(v if available[i] else None for i, v in enumerate(column))
            for key, column in details.items()
        }
        return self._outcome(
            prefix,
            [None if has_value else NO_TRACKING for has_value in available],
            details=details,
            issues=_issues(missing[-1], len(prefix), details["area_cv"][-1]),
        )


def _issues(
    missing: tuple[int, ...] | None, num_frames: int, area_cv: float | None
) -> tuple[str, ...]:
    issues = []
    if missing:
        shown = ", ".join(map(str, missing[:_MAX_SHOWN]))
        more = f" and {len(missing) - _MAX_SHOWN} more" if len(missing) > _MAX_SHOWN else ""
        issues.append(
            f"The object is gone or too small in {len(missing)} of {num_frames} predicted frames "
            f"({shown}{more}, counted from 0)."
        )
    if area_cv is not None and area_cv > _LARGE_SPREAD:
        issues.append(
            f"The object's size is unsteady: its areas spread by {area_cv:.2f} of their median."
        )
    return tuple(issues)
