"""The rows of an episode: times, actions and states."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wbgpu.episodes.lerobot.index import EpisodeEntry
from wbgpu.episodes.lerobot.info import DatasetInfo
from wbgpu.episodes.lerobot.parquet import ParquetColumns
from wbgpu.errors import InputError

ACTION_KEYS = ("action",)
STATE_KEYS = ("observation.state", "observation_state", "state")
"""The first one that is there, as worldbench takes them."""

MAX_FRAMES = 2**31 - 1
"""More are damage."""

_INTEGERS = ("frame_index", "episode_index", "index")


@dataclass(frozen=True, eq=False)
class EpisodeRows:
    """What an episode's rows hold, in the order of time.

    Attributes:
        timestamps: float64 ``[N]``, seconds from the episode's begin; they do not fall.
        numbers: int64 ``[N]``, of the rows in the whole dataset.
        actions: ``[N, A]`` as stored, or ``None`` where the dataset has none.
        states: likewise ``[N, S]``.
    """

    timestamps: npt.NDArray[np.float64]
    numbers: npt.NDArray[np.int64]
    actions: npt.NDArray[Any] | None
    states: npt.NDArray[Any] | None


class RowReader:
    """Reads episodes' rows, one file at a time, which is kept: many may share it.

    Attributes:
        action_key, state_key: of the features that are read; ``None`` where there is none.

    Args:
        root: of the dataset.
        info: its ``meta/info.json``.

    Raises:
        InputError: the features of actions or states are no vectors.
    """

    def __init__(self, root: Path, info: DatasetInfo) -> None:
        self._root = root
        self.action_key = _vector_key(info, ACTION_KEYS)
        self.state_key = _vector_key(info, STATE_KEYS)
        self._info = info
        self._path: Path | None = None
        self._columns: dict[str, npt.NDArray[Any]] = {}

    def read(self, entry: EpisodeEntry) -> EpisodeRows:
        """The rows of one episode.

        Raises:
            InputError: the file is missing or malformed, or contradicts the metadata; the message
                names file, column and row.
        """
        path = self._root / entry.data_file
        columns = self._open(path)
        where = np.flatnonzero(columns["episode_index"] == entry.index)
        if len(where) != entry.num_rows:
            raise InputError(
                f"{path}: {len(where)} row(s) have episode_index {entry.index}, but "
                f"{entry.place} says length {entry.num_rows}"
            )
        rows = slice(int(where[0]), int(where[-1]) + 1)
        if rows.stop - rows.start != len(where):
            raise InputError(
                f"{path}: column 'episode_index': the rows of episode {entry.index} do not "
                "follow one another"
            )
        numbers = columns["index"][rows]
        first = int(numbers[0]) if entry.first_row is None else entry.first_row
        for name, start in (("frame_index", 0), ("index", first)):
            found, expected = columns[name][rows], start + np.arange(len(where))
            if (wrong := np.flatnonzero(found != expected)).size:
                row = int(wrong[0])
                raise InputError(
                    f"{path}: column {name!r}, row {rows.start + row}: expected {expected[row]}, "
                    f"got {found[row]}"
                )
        timestamps = columns["timestamp"][rows]
        if (falls := np.flatnonzero(np.diff(timestamps) < 0)).size or timestamps[0] < 0:
            row = int(falls[0]) + 1 if falls.size else 0
            raise InputError(
                f"{path}: column 'timestamp', row {rows.start + row}: {timestamps[row]:g} s; "
                "expected times from 0 that do not fall within an episode"
            )
        if timestamps[-1] * self._info.fps > MAX_FRAMES:
            raise InputError(
                f"{path}: column 'timestamp', row {rows.stop - 1}: {timestamps[-1]:g} s at the "
                f"{self._info.fps:g} frames per second of {self._info.file} are more than "
                f"{MAX_FRAMES} frames"
            )
        return EpisodeRows(
            timestamps=timestamps,
            numbers=numbers,
            actions=None if self.action_key is None else columns[self.action_key][rows],
            states=None if self.state_key is None else columns[self.state_key][rows],
        )

    def _open(self, path: Path) -> dict[str, npt.NDArray[Any]]:
        if self._path != path:
            keys = [key for key in (self.action_key, self.state_key) if key is not None]
            file = ParquetColumns(path, ["timestamp", *_INTEGERS, *keys])
            self._columns = {name: file.integers(name) for name in _INTEGERS}
            self._columns["timestamp"] = file.numbers("timestamp")
            for key in keys:
                self._columns[key] = file.vectors(key, self._info.features[key].shape[0])
            self._path = path
        return self._columns


def _vector_key(info: DatasetInfo, keys: tuple[str, ...]) -> str | None:
    key = next((key for key in keys if key in info.features), None)
    if key is not None:
        feature = info.features[key]
        if len(feature.shape) != 1:
            raise InputError(
                f"{info.file}: $.features.{key}.shape: expected the size of a vector, got "
                f"{list(feature.shape)}"
            )
        if not feature.dtype.startswith(("float", "int", "uint")):
            raise InputError(
                f"{info.file}: $.features.{key}.dtype: expected numbers, got {feature.dtype!r}"
            )
    return key
