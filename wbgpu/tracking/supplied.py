"""Tracks that somebody else made: from a segmentation model, motion capture, or by hand.

A file is JSON: ``names`` (K roles), ``position`` ``[T][K]``, each ``[x, y]`` in pixels or ``null``
where the thing is not seen, and if they are known ``area`` and ``confidence`` ``[T][K]``. Where
they are not, area is 0 and confidence 1 of whatever is seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from wbgpu.errors import InputError
from wbgpu.records.node import Node
from wbgpu.records.strict_json import read_json, write_json
from wbgpu.tracking.tracker import Side
from wbgpu.tracking.tracks import Tracks


class SuppliedTracks:
    """A tracker that looks up the tracks of one video instead of looking at its frames.

    Args:
        tracks: of all frames of the video, from its first on.
        tracker_id: what made them, with its version.
    """

    def __init__(self, tracks: Tracks, tracker_id: str = "supplied") -> None:
        self._tracks = tracks
        self.names = tracks.names
        self.tracker_id = tracker_id

    def start(self) -> _SuppliedSession:
        """Begin at the first frame."""
        return _SuppliedSession(self._tracks)


class SuppliedFolder:
    """Supplied tracks of a suite, an `EpisodeTracker`.

    The tracks of the episode ``a/b.mp4`` are in ``target/a/b.json`` and ``prediction/a/b.json``.

    Args:
        folder: that holds the two.
        names: the roles; every file has these, in any order, and may have more.
        tracker_id: what made the tracks, with its version.
    """

    def __init__(
        self,
        folder: str | Path,
        names: Sequence[str] = ("robot", "object"),
        tracker_id: str = "supplied",
    ) -> None:
        self._folder = Path(folder)
        self.names = tuple(names)
        self.tracker_id = tracker_id

    def for_episode(self, episode_id: str, side: Side, first_frame: int) -> SuppliedTracks:
        """See `EpisodeTracker.for_episode`.

        Raises:
            InputError: there is no such file, it lacks a role, or it ends before ``first_frame``.
        """
        path = self._folder / side / Path(episode_id).with_suffix(".json")
        tracks = read_tracks(path)
        missing = [name for name in self.names if name not in tracks.names]
        if missing:
            raise InputError(f"{path}: expected the roles {self.names}, {missing} missing")
        if first_frame >= len(tracks):
            raise InputError(
                f"{path}: expected tracks of frame {first_frame} and later ones, got "
                f"{len(tracks)} frame(s)"
            )
        columns = [tracks.names.index(name) for name in self.names]
        chosen = Tracks(
            self.names,
            tracks.position[first_frame:, columns],
            tracks.area[first_frame:, columns],
            tracks.confidence[first_frame:, columns],
        )
        return SuppliedTracks(chosen, self.tracker_id)


class _SuppliedSession:
    def __init__(self, tracks: Tracks) -> None:
        self._tracks = tracks
        self._num_done = 0

    def track(self, frames: Tensor) -> Tracks:
        """See `TrackerSession.track`.

        Raises:
            ValueError: more frames than tracks.
        """
        stop = self._num_done + len(frames)
        if stop > len(self._tracks):
            raise ValueError(
                f"the video has frame {stop - 1}, but tracks were supplied for "
                f"{len(self._tracks)} frame(s) only"
            )
        tracks = self._tracks[self._num_done : stop].to(frames.device)
        self._num_done = stop
        return tracks


def read_tracks(path: str | Path) -> Tracks:
    """Read a file of tracks.

    Raises:
        ResultFileError: it is no JSON, or a value is missing, of the wrong length or out of range;
            the message names the file and the value.
    """
    root = Node(read_json(path), "$", path)
    names = root["names"].strings()
    if not names or len(set(names)) != len(names):
        root["names"].fail(f"expected one or more roles, all different, got {list(names)}")
    position = [
        [_point(cell) for cell in _row(row, len(names))] for row in root["position"].elements()
    ]
    positions = torch.tensor(position, dtype=torch.float64).reshape(len(position), len(names), 2)
    seen = ~positions[..., 0].isnan()
    area = _column(root, "area", seen, default=0.0, most=float("inf"))
    confidence = _column(root, "confidence", seen, default=1.0, most=1.0)
    return Tracks(names, positions, area, confidence)


def write_tracks(path: str | Path, tracks: Tracks) -> None:
    """Write a file that `read_tracks` reads; numbers keep every bit."""
    position = [
        [point if seen else None for point, seen in zip(points, row, strict=True)]
        for points, row in zip(tracks.position.tolist(), tracks.seen.tolist(), strict=True)
    ]
    payload = {
        "names": list(tracks.names),
        "position": position,
        "area": tracks.area.tolist(),
        "confidence": tracks.confidence.tolist(),
    }
    write_json(path, payload)


def _row(row: Node, num_roles: int) -> list[Node]:
    cells = row.elements()
    if len(cells) != num_roles:
        row.fail(f"expected an entry for each of the {num_roles} role(s), got {len(cells)}")
    return cells


def _point(cell: Node) -> list[float]:
    if cell.value is None:
        return [torch.nan, torch.nan]
    numbers = [element.number() for element in cell.elements()]
    if len(numbers) != 2:
        cell.fail(f"expected [x, y] or null, got {len(numbers)} number(s)")
    return numbers


def _column(root: Node, key: str, seen: Tensor, default: float, most: float) -> Tensor:
    node = root.get(key)
    if node is None:
        return torch.where(seen, default, 0.0).double()
    rows = node.elements()
    if len(rows) != len(seen):
        node.fail(f"expected {len(seen)} rows, as position has, got {len(rows)}")
    column = torch.zeros(seen.shape, dtype=torch.float64)
    for frame, row in enumerate(rows):
        for role, cell in enumerate(_row(row, seen.shape[1])):
            number = cell.number()
            if not 0 <= number <= most:
                cell.fail(f"expected a number from 0 to {most:g}, got {number:g}")
            if number and not seen[frame, role]:
                cell.fail(f"expected 0 where position is null, got {number:g}")
            column[frame, role] = number
    return column
