"""Where robot and objects are in frames: the protocol, and trackers that need no training."""

from wbgpu.tracking.check_tracker import check_tracker
from wbgpu.tracking.colour_blobs import ColourBlobs
from wbgpu.tracking.flow import FlowTracker
from wbgpu.tracking.supplied import SuppliedFolder, SuppliedTracks, read_tracks, write_tracks
from wbgpu.tracking.tracker import EpisodeTracker, Side, Tracker, TrackerSession
from wbgpu.tracking.tracks import Tracks

__all__ = [
    "ColourBlobs",
    "EpisodeTracker",
    "FlowTracker",
    "SuppliedFolder",
    "Side",
    "SuppliedTracks",
    "Tracker",
    "TrackerSession",
    "Tracks",
    "check_tracker",
    "read_tracks",
    "write_tracks",
]
