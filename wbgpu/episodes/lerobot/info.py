"""``meta/info.json`` of a LeRobot dataset: what its files are called and what they hold."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from wbgpu.errors import InputError
from wbgpu.records.node import Node
from wbgpu.records.strict_json import read_json

INFO_FILE = PurePosixPath("meta/info.json")

VERSIONS = ("v2.0", "v2.1", "v3.0")
"""v2.0 and v2.1 differ only in statistics, which are not read."""

_PATH_FIELDS = {
    "v2": ("episode_chunk", "episode_index", "video_key"),
    "v3": ("chunk_index", "file_index", "video_key"),
}
# Others could ask for gigabytes of blanks.
_FORMAT = re.compile(r"\d{0,2}[ds]?", re.ASCII)


@dataclass(frozen=True)
class Feature:
    """One entry of ``features``.

    Attributes:
        dtype: such as ``video``, ``image`` or ``float32``.
        shape: of one row.
        names: of the elements of a vector; ``None`` where they are not declared one by one.
    """

    dtype: str
    shape: tuple[int, ...]
    names: tuple[str, ...] | None


@dataclass(frozen=True)
class DatasetInfo:
    """The parts of ``meta/info.json`` that are needed to read a dataset.

    Attributes:
        file: where they were read.
        version: one of `VERSIONS`.
        fps: frames per second of the videos, above 0.
        robot_type: or ``None``.
        features: by key.
        data_path, video_path: templates of relative paths; there may be no video.
        chunks_size: episodes in a folder (v2).
        total_episodes, total_frames: what the dataset claims to hold, or ``None``.
    """

    file: Path
    version: str
    fps: float
    robot_type: str | None
    features: Mapping[str, Feature]
    data_path: str
    video_path: str | None
    chunks_size: int
    total_episodes: int | None
    total_frames: int | None

    @property
    def is_v3(self) -> bool:
        """Whether many episodes share a file."""
        return self.version.startswith("v3")

    @property
    def cameras(self) -> tuple[str, ...]:
        """Keys of the videos, sorted."""
        return tuple(sorted(key for key, f in self.features.items() if f.dtype == "video"))

    def data_file(self, **fields: int) -> PurePosixPath:
        """Where rows lie, relative to the dataset."""
        return self._path("data_path", self.data_path, fields)

    def video_file(self, camera: str, **fields: int) -> PurePosixPath:
        """Where a camera's frames lie, relative to the dataset.

        Raises:
            InputError: the dataset has no videos.
        """
        if self.video_path is None:
            raise InputError(f"{self.file}: $.video_path: it is null, but {camera!r} is a video")
        return self._path("video_path", self.video_path, {"video_key": camera, **fields})

    def _path(self, key: str, template: str, fields: Mapping[str, int | str]) -> PurePosixPath:
        try:
            return PurePosixPath(template.format(**fields))
        except (KeyError, ValueError) as error:
            raise InputError(
                f"{self.file}: $.{key}: cannot be filled in with {', '.join(fields)}: {template!r}"
            ) from error


def is_lerobot_dataset(root: Path) -> bool:
    """Whether a folder looks like one."""
    return (root / INFO_FILE).is_file() and (root / "data").is_dir()


def read_info(root: Path) -> DatasetInfo:
    """Read and check ``meta/info.json``.

    Raises:
        InputError: the folder is no LeRobot dataset, or one of another format.
        ResultFileError: a field is missing or malformed; the message names file and field.
    """
    if not root.is_dir():
        raise InputError(f"LeRobot dataset: the folder does not exist or is none: {root}")
    file = root / INFO_FILE
    if not file.is_file():
        raise InputError(
            f"{root}: no LeRobot dataset, {INFO_FILE} is missing; give the folder that holds meta/ "
            "and data/"
        )
    document = Node(read_json(file), "$", file)
    version = document["codebase_version"].string()
    if version not in VERSIONS:
        document["codebase_version"].fail(
            f"expected one of {', '.join(VERSIONS)}, got {version!r}; convert the dataset with "
            "LeRobot's own scripts"
        )
    fps = document["fps"].number()
    if fps <= 0:
        document["fps"].fail(f"expected a number above 0, got {fps:g}")
    is_v3 = version.startswith("v3")
    fields = _PATH_FIELDS[version[:2]]
    return DatasetInfo(
        file=file,
        version=version,
        fps=fps,
        robot_type=document.optional_string("robot_type"),
        features={key: _feature(node) for key, node in document["features"].items()},
        data_path=_template(document["data_path"], fields),
        video_path=None
        if document.get("video_path") is None
        else _template(document["video_path"], fields),
        chunks_size=1 if is_v3 else _positive(document["chunks_size"]),
        total_episodes=_optional_count(document, "total_episodes"),
        total_frames=_optional_count(document, "total_frames"),
    )


def _feature(node: Node) -> Feature:
    shape = tuple(_positive(size) for size in node["shape"].elements())
    return Feature(node["dtype"].string(), shape, _names(node.get("names"), shape))


def _names(node: Node | None, shape: tuple[int, ...]) -> tuple[str, ...] | None:
    """A list, or a list under one key such as ``motors``; anything else names no elements."""
    if node is None:
        return None
    value = node.value
    while isinstance(value, (dict, list)) and len(value) == 1 and len(shape) == 1:
        (inner,) = value.values() if isinstance(value, dict) else value
        if not isinstance(inner, (dict, list)):
            break
        value = inner
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        return None
    return tuple(value) if shape == (len(value),) else None


def _template(node: Node, allowed: tuple[str, ...]) -> str:
    template = node.string()
    try:
        parts = list(string.Formatter().parse(template))
    except ValueError as error:
        node.fail(f"no template of a path: {template!r} ({error})")
    for _, field, spec, conversion in parts:
        if field is None:
            continue
        if field not in allowed or conversion is not None:
            node.fail(f"{{{field}}} is unknown in {template!r}; known: {', '.join(allowed)}")
        if not _FORMAT.fullmatch(spec or ""):
            node.fail(f"expected a format such as 03d in {template!r}, got {spec!r}")
    if "\0" in template:
        node.fail(f"expected a path, got {template!r}")
    path = PurePosixPath(template)
    if path.is_absolute() or ".." in path.parts:
        node.fail(f"expected a path within the dataset, got {template!r}")
    return template


def _positive(node: Node) -> int:
    value = node.integer()
    if value < 1:
        node.fail(f"expected an integer above 0, got {value}")
    return value


def _optional_count(document: Node, key: str) -> int | None:
    node = document.get(key)
    return None if node is None else node.integer()
