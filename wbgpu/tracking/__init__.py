"""Where robot and objects are in frames: the protocol, and trackers that need no training."""

from wbgpu.tracking.colour_blobs import ColourBlobs
from wbgpu.tracking.tracker import EpisodeTracker, Side, Tracker, TrackerSession
from wbgpu.tracking.tracks import Tracks

__all__ = [
    "ColourBlobs",
    "EpisodeTracker",
    "Side",
    "Tracker",
    "TrackerSession",
    "Tracks",
]
