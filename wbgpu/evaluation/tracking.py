"""The tracks of an episode, made while its frames come by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from wbgpu.episodes.pairing import EpisodePair
from wbgpu.metrics import TrackedEpisode, TrackMetric
from wbgpu.tracking import EpisodeTracker, Side, TrackerSession, Tracks


@dataclass(frozen=True)
class _View:
    """Frames as one tracker sees them."""

    tracker_id: str
    side: Side
    in_own_size: bool


class EpisodeTracks:
    """Runs each tracker once on each side that some metric asks for.

    Args:
        metrics: those that refuse the episode's signals ask for nothing.
        pair: the episode.
        num_context: leading frames that are not scored.
    """

    def __init__(self, metrics: Sequence[TrackMetric], pair: EpisodePair, num_context: int) -> None:
        self._pair = pair
        self._num_context = num_context
        self._sessions: dict[_View, TrackerSession] = {}
        self._parts: dict[_View, list[Tracks]] = {}
        self._errors: dict[_View, Exception] = {}
        for metric in metrics:
            if _refuses(metric, pair):
                continue
            for view in _views(metric).values():
                if view not in self._parts:
                    self._parts[view] = []
                    self._start(view, metric)

    @property
    def is_wanted(self) -> bool:
        """Whether any metric asks for tracks."""
        return bool(self._sessions)

    def take(self, *, prediction: Tensor, target: Tensor, own_prediction: Tensor) -> None:
        """The next frames, uint8 ``[n, 3, H, W]``; the own prediction may be of another size."""
        for view, session in [*self._sessions.items()]:
            frames = target
            if view.side == "prediction":
                frames = own_prediction if view.in_own_size else prediction
            self._take(view, session, frames)

    def take_rest(self, own_prediction: Tensor) -> None:
        """Predicted frames past the last step, for what looks at the prediction alone."""
        for view, session in [*self._sessions.items()]:
            if view.in_own_size:
                self._take(view, session, own_prediction)

    def seen_by(self, metric: TrackMetric) -> TrackedEpisode:
        """What a metric is given when the last frame has been taken; on the CPU.

        Raises:
            Exception: what the tracker raised.
        """
        tracks: dict[Side, Tracks] = {}
        for side, view in _views(metric).items():
            if view in self._errors:
                raise self._errors[view]
            tracks[side] = Tracks.cat(self._parts[view]).to("cpu")
        return TrackedEpisode(tracks, self._pair.signals, self._num_context)

    def _take(self, view: _View, session: TrackerSession, frames: Tensor) -> None:
        try:
            self._parts[view].append(session.track(frames))
        except Exception as error:
            self._fail(view, error)

    def _start(self, view: _View, metric: TrackMetric) -> None:
        tracker = metric.tracker
        try:
            if isinstance(tracker, EpisodeTracker):
                tracker = tracker.for_episode(self._pair.episode_id, view.side, self._num_context)
            self._sessions[view] = tracker.start()
        except Exception as error:
            self._fail(view, error)

    def _fail(self, view: _View, error: Exception) -> None:
        """Costs the metrics that ask for it their values, and not the episode."""
        self._errors[view] = error
        self._sessions.pop(view, None)


def _views(metric: TrackMetric) -> dict[Side, _View]:
    tracker_id, is_alone = metric.tracker.tracker_id, metric.sides == {"prediction"}
    return {side: _View(tracker_id, side, is_alone) for side in sorted(metric.sides)}


def _refuses(metric: TrackMetric, pair: EpisodePair) -> bool:
    try:
        return metric.refusal(pair.signals) is not None
    except Exception:
        # It is asked again when it scores, and raises there.
        return True
