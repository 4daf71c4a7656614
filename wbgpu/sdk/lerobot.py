"""Copy episodes of a LeRobot dataset into worldbench's layout of frames."""

from __future__ import annotations

import io
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from PIL import Image

from wbgpu.episodes.digests import file_sha256
from wbgpu.episodes.lerobot.dataset import LeRobotDataset, LeRobotEpisode
from wbgpu.episodes.lerobot.download import download
from wbgpu.episodes.lerobot.records import action_records, metadata_record, state_records
from wbgpu.episodes.lerobot.timelines import TIMELINES, TimelineName
from wbgpu.errors import ConfigurationError, InputError
from wbgpu.records.strict_json import write_json

if TYPE_CHECKING:
    from wbgpu.records.clip import Clip

_FRAMES_AT_ONCE = 16


@dataclass(frozen=True)
class LeRobotImport:
    """What was written.

    Attributes:
        folder: holds ``episode_000000/frames/000000.png`` and so on.
        camera: whose frames they are.
        num_episodes, num_frames: how many.
    """

    folder: Path
    camera: str
    num_episodes: int
    num_frames: int


def import_lerobot(
    dataset: str | Path | None,
    out: str | Path,
    *,
    repo_id: str | None = None,
    revision: str | None = None,
    episodes: Sequence[int] | None = None,
    camera: str | None = None,
    timeline: TimelineName = "video",
    on_episode: Callable[[int, int], None] = lambda done, total: None,
) -> LeRobotImport:
    """Write every chosen episode as frames, ``actions.json``, ``states.json``, ``metadata.json``.

    Frames are lossless. ``out`` appears when all of it is written, or not at all.

    Args:
        dataset: a local folder in format v2.0, v2.1 or v3.0; ``None`` with ``repo_id``.
        out: must not exist.
        repo_id: a dataset on the Hugging Face Hub, of which the files needed are fetched.
        revision: its branch, tag or commit.
        episodes: numbers; ``None`` for all.
        camera: key of the video; ``None`` takes the only one.
        timeline: ``video`` writes each frame once, ``control`` one frame for each row; see
            `wbgpu.episodes.lerobot.timelines`.
        on_episode: is told how many episodes are done, and of how many.

    Raises:
        ConfigurationError: an argument is wrong, or ``out`` exists.
        InputError: the dataset cannot be fetched, is malformed, or has no actions.
        VideoError: frames cannot be decoded.
    """
    target = Path(out)
    if timeline not in TIMELINES:
        raise ConfigurationError(f"timeline: expected one of {TIMELINES}, got {timeline!r}")
    if os.path.lexists(target):
        raise ConfigurationError(f"{target} exists already; name a folder that is to be made")
    if (dataset is None) == (repo_id is None):
        raise ConfigurationError("give the dataset's folder, or the repo id of one on the Hub")
    if revision is not None and repo_id is None:
        raise ConfigurationError("revision: a local folder has none; it is for a repo id")
    if repo_id is not None:
        dataset = download(repo_id, episodes, camera, revision)
    assert dataset is not None
    root = Path(dataset)
    source = LeRobotDataset(root, camera)
    chosen = source.chosen(episodes)
    if source.action_key is None:
        raise InputError(
            f"{source.info.file}: $.features: there is no 'action', which a dataset of frames "
            "needs; without actions, evaluate it in place (suite=lerobot)"
        )
    provenance = {} if repo_id is None else {"repo_id": repo_id, "revision": root.name}
    temporary = target.parent / f".{target.name}.{secrets.token_hex(8)}.tmp"
    digests: dict[Path, str] = {}
    num_frames = 0
    try:
        with ThreadPoolExecutor(min(8, os.cpu_count() or 1), "wbgpu-png") as pool:
            for done, index in enumerate(chosen, start=1):
                episode = source.episode(index, timeline)
                _write_frames(episode, temporary / episode.episode_id / "frames", pool)
                _write_records(source, episode, temporary / episode.episode_id, provenance, digests)
                num_frames += len(episode.timeline.frames)
                on_episode(done, len(chosen))
        temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return LeRobotImport(target, source.camera, len(chosen), num_frames)


def _write_frames(episode: LeRobotEpisode, folder: Path, pool: ThreadPoolExecutor) -> None:
    folder.mkdir(parents=True)
    # Not falling, so the steps that show a frame follow one another.
    bounds = np.searchsorted(
        episode.timeline.frames, np.arange(episode.timeline.num_frames + 1), side="left"
    ).tolist()

    def write(index: int, frame: npt.NDArray[np.uint8]) -> None:
        buffer = io.BytesIO()
        Image.fromarray(frame).save(buffer, format="PNG", compress_level=1)
        for step in range(bounds[index], bounds[index + 1]):
            (folder / f"{step:06d}.png").write_bytes(buffer.getvalue())

    start = 0
    for frames in _decoded(episode.clip):
        list(pool.map(write, range(start, start + len(frames)), frames))
        start += len(frames)


def _decoded(clip: Clip) -> Iterator[npt.NDArray[np.uint8]]:
    """Frames ``[n, H, W, 3]``, some at once."""
    from wbgpu.video.clip_reader import open_clip
    from wbgpu.video.pyav import PyavDecoder

    with open_clip(clip, PyavDecoder()) as reader:
        num_frames = reader.info.num_frames
        for start in range(0, num_frames, _FRAMES_AT_ONCE):
            frames = reader.read(start, min(start + _FRAMES_AT_ONCE, num_frames))
            yield frames.permute(0, 2, 3, 1).contiguous().numpy()


def _write_records(
    source: LeRobotDataset,
    episode: LeRobotEpisode,
    folder: Path,
    provenance: dict[str, str],
    digests: dict[Path, str],
) -> None:
    files = (episode.data_file, episode.clip.path)
    for file in files:
        if file not in digests:
            digests[file] = file_sha256(file)
    metadata = metadata_record(source, episode) | provenance
    metadata["source_sha256"] = {
        file.relative_to(source.root).as_posix(): digests[file] for file in files
    }
    write_json(folder / "actions.json", action_records(episode))
    write_json(folder / "states.json", state_records(episode))
    write_json(folder / "metadata.json", metadata)
