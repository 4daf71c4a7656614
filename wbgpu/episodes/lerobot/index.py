"""Which episodes a LeRobot dataset has, and in which files they lie."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from wbgpu.episodes.lerobot.info import DatasetInfo
from wbgpu.episodes.lerobot.parquet import ParquetColumns
from wbgpu.errors import InputError
from wbgpu.records.node import Node
from wbgpu.records.strict_json import parse_json

EPISODES_FILE = PurePosixPath("meta/episodes.jsonl")
EPISODES_FOLDER = PurePosixPath("meta/episodes")


@dataclass(frozen=True)
class EpisodeEntry:
    """One episode, as the metadata describe it.

    Attributes:
        index: its number in the dataset.
        num_rows: at least 1.
        tasks: what it was told to do.
        place: file and field that say so, for messages.
        data_file, video_file: relative to the dataset.
        first_row: the dataset-wide number of its first row, or ``None`` where it is not told (v2).
        video_seconds: when its frames begin and end within the video file; ``None`` where they are
            the whole file (v2).
    """

    index: int
    num_rows: int
    tasks: tuple[str, ...]
    place: str
    data_file: PurePosixPath
    video_file: PurePosixPath
    first_row: int | None = None
    video_seconds: tuple[float, float] | None = None


def read_index(root: Path, info: DatasetInfo, camera: str) -> dict[int, EpisodeEntry]:
    """All episodes by number, rising.

    Args:
        root: of the dataset.
        info: its ``meta/info.json``.
        camera: key of the video.

    Raises:
        InputError: a file is missing or malformed, or they contradict each other; the message names
            file and field.
    """
    entries: dict[int, EpisodeEntry] = {}
    for entry in _read_v3(root, info, camera) if info.is_v3 else _read_v2(root, info, camera):
        if entry.index in entries:
            raise InputError(f"{entry.place}: episode_index {entry.index} stands there twice")
        if entry.num_rows < 1:
            raise InputError(f"{entry.place}: length: expected at least 1, got {entry.num_rows}")
        entries[entry.index] = entry
    if not entries:
        raise InputError(f"{info.file}: the dataset has no episode")
    for key, claimed, found in (
        ("total_episodes", info.total_episodes, len(entries)),
        ("total_frames", info.total_frames, sum(e.num_rows for e in entries.values())),
    ):
        if claimed is not None and claimed != found:
            raise InputError(
                f"{info.file}: $.{key}: it says {claimed}, but the episodes listed under "
                f"{EPISODES_FOLDER if info.is_v3 else EPISODES_FILE} make {found}"
            )
    return dict(sorted(entries.items()))


def _read_v2(root: Path, info: DatasetInfo, camera: str) -> Iterator[EpisodeEntry]:
    file = root / EPISODES_FILE
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: cannot be read ({error})") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        place = f"{file}, line {number}"
        node = Node(parse_json(line, place), "$", place)
        index = node["episode_index"].integer()
        fields = {"episode_chunk": index // info.chunks_size, "episode_index": index}
        yield EpisodeEntry(
            index=index,
            num_rows=node["length"].integer(),
            tasks=node.optional_strings("tasks"),
            place=place,
            data_file=info.data_file(**fields),
            video_file=info.video_file(camera, **fields),
        )


def _read_v3(root: Path, info: DatasetInfo, camera: str) -> Iterator[EpisodeEntry]:
    files = sorted((root / EPISODES_FOLDER).glob("chunk-*/file-*.parquet"))
    if not files:
        raise InputError(f"{root / EPISODES_FOLDER}: no chunk-*/file-*.parquet in it")
    video = f"videos/{camera}"
    names = ["episode_index", "length", "data/chunk_index", "data/file_index"]
    names += ["dataset_from_index", f"{video}/chunk_index", f"{video}/file_index"]
    times = [f"{video}/from_timestamp", f"{video}/to_timestamp"]
    for file in files:
        columns = ParquetColumns(file, [*names, *times, "tasks"])
        integers = [columns.integers(name).tolist() for name in names]
        seconds = [columns.numbers(name).tolist() for name in times]
        tasks = columns.strings("tasks") if "tasks" in columns else [()] * columns.num_rows
        for row, told in enumerate(tasks):
            index, length, data_chunk, data_file, first, video_chunk, video_file = (
                column[row] for column in integers
            )
            start, stop = (column[row] for column in seconds)
            place = f"{file}, row {row}"
            if not 0 <= start < stop:
                raise InputError(
                    f"{place}: {times[0]} and {times[1]}: expected 0 <= from < to, got "
                    f"{start:g} and {stop:g}"
                )
            if min(index, data_chunk, data_file, first, video_chunk, video_file) < 0:
                raise InputError(f"{place}: an index is negative")
            yield EpisodeEntry(
                index=index,
                num_rows=length,
                tasks=told,
                place=place,
                data_file=info.data_file(chunk_index=data_chunk, file_index=data_file),
                video_file=info.video_file(camera, chunk_index=video_chunk, file_index=video_file),
                first_row=first,
                video_seconds=(start, stop),
            )
