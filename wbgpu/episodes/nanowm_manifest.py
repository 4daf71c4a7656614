"""Clips as worldbench's NanoWM adapter prepares them, and the ``manifest.json`` that it writes.

::

    PREPARED/manifest.json
    PREPARED/ground_truth/rt1/episode_000000.mp4
    PREPARED/baseline/rt1/episode_000000.mp4
    PREPARED/candidate/rt1/episode_000000.mp4       where a candidate was given
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from wbgpu.episodes.nanowm_folders import exported_clips
from wbgpu.episodes.pairing import counted, pairing_key
from wbgpu.errors import ConfigurationError, PairingError
from wbgpu.records.clip import Clip
from wbgpu.records.declared import Declared
from wbgpu.records.node import Node
from wbgpu.records.strict_json import read_json

MANIFEST = "manifest.json"
ADAPTER = "nanowm_rt1_prepare_worldbench_inputs"
SCHEMA_VERSION = "1"

_TRUTH = "ground_truth"
_ROLES = ("baseline", "candidate")


@dataclass(frozen=True)
class Manifest:
    """A manifest that was read and agrees with itself.

    Attributes:
        file: where it lies, beside the folders that it names.
        dataset: such as ``RT-1 / Fractal``.
        origin: the dataset's source and camera, where they are known.
        ground_truth: the folder.
        checkpoints: name by folder of predictions.
        episodes: what is said of each clip, by path relative to each folder, sorted.
        limitations: known limitations, in the words of whoever prepared it.
    """

    file: Path
    dataset: str
    origin: tuple[str, ...]
    ground_truth: Path
    checkpoints: Mapping[Path, str]
    episodes: Mapping[str, Declared]
    limitations: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """For every reader of a result."""
        return (f"Dataset: {', '.join((self.dataset, *self.origin))}", *self.limitations)

    def truths(self) -> dict[str, Clip]:
        """Ground truth by relative path.

        Raises:
            PairingError: the folder holds other clips than the manifest.
        """
        clips = exported_clips(self.ground_truth, "ground-truth")
        # A copy by way of macOS may have other names of the same letters.
        clips = {unicodedata.normalize("NFC", name): clip for name, clip in clips.items()}
        if differing := sorted(set(clips) ^ set(self.episodes)):
            where = "is not there" if differing[0] in self.episodes else f"is not in {self.file}"
            raise PairingError(
                f"{self.ground_truth / differing[0]} {where}; {self.file} and the folder differ in "
                f"{counted(differing)}"
            )
        return {name: replace(clips[name], declared=d) for name, d in self.episodes.items()}

    def checkpoint(self, predictions: Path, expected: str | None) -> str:
        """Who made a folder of predictions.

        Args:
            predictions: the folder.
            expected: who should have made it, or ``None``.

        Raises:
            ConfigurationError: the manifest knows no such folder, or another checkpoint made it.
        """
        for folder, name in self.checkpoints.items():
            if folder.resolve() == predictions.resolve():
                if expected not in (None, name):
                    raise ConfigurationError(
                        f"suite.layout.checkpoint: {expected!r} was expected, but {self.file} says "
                        f"that {name!r} made {predictions}"
                    )
                return name
        known = " or ".join(map(str, self.checkpoints))
        raise ConfigurationError(
            f"suite.predictions: expected a folder of {self.file}, {known}; got {predictions}"
        )


def read_manifest(
    root: Path, *, num_context: int, num_steps: int | None, dataset: str | None
) -> Manifest | None:
    """Read and check ``root/manifest.json``; ``None`` where there is none.

    Args:
        root: the prepared folder.
        num_context: context frames that are configured.
        num_steps: generated frames that are configured, or ``None``.
        dataset: what the manifest must call its dataset, or ``None``.

    Raises:
        ResultFileError: a field is missing or malformed, contradicts another one or the
            configuration, or names a path outside the folder; the message names file and field.
    """
    file = root / MANIFEST
    if not file.is_file():
        return None
    document = Node(read_json(file), "$", file)
    document["schema_version"].one_of(SCHEMA_VERSION)
    document["adapter"].one_of(ADAPTER)
    named = document["dataset"].string()
    if dataset not in (None, named):
        document["dataset"].fail(f"{named!r}, but suite.layout.dataset expects {dataset!r}")
    _check_count(document["context_frames"], num_context, "suite.num_context")
    _check_count(document["prediction_frames"], num_steps, "suite.layout.num_steps")
    fps = document["fps"].number()
    if fps <= 0:
        document["fps"].fail(f"expected a number above 0, got {fps:g}")
    folders = _folders(document)
    optional = (document.optional_string(key) for key in ("dataset_source", "camera"))
    return Manifest(
        file=file,
        dataset=named,
        origin=tuple(text for text in optional if text is not None),
        ground_truth=root / folders.pop(_TRUTH),
        checkpoints={
            root / folder: _name(document[f"{role}_checkpoint"]) for role, folder in folders.items()
        },
        episodes=_episodes(document, fps),
        limitations=document.optional_strings("known_limitations"),
    )


def _folders(document: Node) -> dict[str, str]:
    """By what they hold; ground truth that is also a prediction would score as perfect."""
    found = {_TRUTH: _inside(document[f"{_TRUTH}_directory"])}
    for role in _ROLES:
        if (node := document.get(f"{role}_directory")) is not None:
            folder = _inside(node)
            if folder in found.values():
                node.fail(f"{folder!r} is named as another folder already")
            found[role] = folder
    return found


def _episodes(document: Node, fps: float) -> dict[str, Declared]:
    counts = {key: document[key].integer() for key in ("context_frames", "prediction_frames")}
    nodes = document["episodes"].elements()
    if not nodes:
        document["episodes"].fail("expected at least one episode")
    found: dict[str, Declared] = {}
    known: dict[str, set[str]] = {"episode_id": set(), "output_relative_path": set()}
    for node in nodes:
        for key, count in counts.items():
            _check_count(node[key], count, f"$.{key}")
        total = sum(counts.values())
        _check_count(node["frame_count"], total, "context_frames + prediction_frames")
        for key, values in known.items():
            name = pairing_key(node[key].string())
            if name in values:
                node[key].fail(f"{node[key].value!r} stands there twice")
            values.add(name)
        size = tuple(side.integer() for side in node["resolution"].elements())
        if len(size) != 2 or 0 in size:
            node["resolution"].fail(f"expected width and height, got {list(size)}")
        path = unicodedata.normalize("NFC", _inside(node["output_relative_path"]))
        found[path] = Declared(f"{node.file}: {node.path}", total, (size[0], size[1]), fps)
    return dict(sorted(found.items()))


def _check_count(node: Node, expected: int | None, place: str) -> None:
    count = node.integer()
    if expected not in (None, count):
        node.fail(f"{count}, but {place} is {expected}")


def _inside(node: Node) -> str:
    path = PurePosixPath(node.string())
    is_outside = path.is_absolute() or ".." in path.parts or path == PurePosixPath()
    # A lone surrogate is text in JSON, and no name of a file.
    if is_outside or "\0" in node.value or re.search("[\ud800-\udfff]", node.value):
        node.fail(f"expected a path within the folder, got {node.value!r}")
    return path.as_posix()


def _name(node: Node) -> str:
    return node.string() or node.fail("expected a name, got an empty one")
