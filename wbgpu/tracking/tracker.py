"""What a tracker must do. `wbgpu.tracking.check_tracker` proves that one does it."""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias, runtime_checkable

from torch import Tensor

from wbgpu.tracking.tracks import Tracks

Side: TypeAlias = Literal["prediction", "target"]
"""Whose frames are tracked."""


class TrackerSession(Protocol):
    """Follows things through one video, from its first frame on."""

    def track(self, frames: Tensor) -> Tracks:
        """Take the next n frames of the video.

        An episode of any length streams: what is kept between calls does not grow with it, and the
        tracks do not depend on how the video is cut into calls.

        Args:
            frames: uint8 RGB ``[n, 3, H, W]``, 0-255, any strides, all calls of one size.

        Returns:
            Tracks of these n frames, on the device of the frames.

        Raises:
            ValueError: frames that do not fit those before, or the tracker.
        """
        ...


@runtime_checkable
class Tracker(Protocol):
    """Finds things in frames. One tracker may follow many videos at once, a session each."""

    @property
    def tracker_id(self) -> str:
        """Name, definition and version, such as ``colour_blobs/worldbench-1.0``.

        With all settings that change a track: tracks under different ids are never compared.
        """
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """The roles of all its tracks."""
        ...

    def start(self) -> TrackerSession:
        """Begin a video."""
        ...


@runtime_checkable
class EpisodeTracker(Protocol):
    """Has a tracker of its own for each video, such as one that looks up supplied tracks."""

    @property
    def tracker_id(self) -> str:
        """Of all its trackers; see `Tracker`."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """The roles of all its tracks."""
        ...

    def for_episode(self, episode_id: str, side: Side, first_frame: int) -> Tracker:
        """The tracker of one video.

        Args:
            episode_id: as in results.
            side: of the episode.
            first_frame: index in the video of the first frame that the tracker is given.

        Raises:
            InputError: nothing is known about this video.
        """
        ...
