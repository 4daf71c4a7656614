"""Frame datasets, worldbench's layout: a folder of images and three JSON files an episode.

::

    DATASET/episode_001/frames/000.png, 001.png ...
                        predictions/000.png ...       may lie elsewhere
                        actions.json                  from each frame to the next
                        states.json                   of each frame
                        metadata.json
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wbgpu.episodes.frame_dataset_json import (
    read_actions_json,
    read_metadata_json,
    read_states_json,
    vectors,
)
from wbgpu.episodes.lerobot.info import is_lerobot_dataset
from wbgpu.episodes.pairing import Episode, EpisodePair, counted, pair_with_predictions
from wbgpu.episodes.videos import check_name
from wbgpu.errors import InputError, PairingError
from wbgpu.records.clip import Clip
from wbgpu.records.image_folder import has_images, image_clip
from wbgpu.records.signals import EpisodeSignals

SIGNAL_FILES = ("actions", "states", "metadata")
"""Roles of the JSON files; the file of each has its name and ``.json``."""

_EPISODE_PREFIX = "episode_"
_DEFAULT_FPS = 5.0
_MAX_FAULTS = 20


@dataclass(frozen=True)
class EpisodeFolder:
    """An episode as it lies on disk.

    Attributes:
        path: its folder.
        episode: what could be read of it; ``None`` where there are no frames.
        faults: what keeps it from being used, or makes it another than was meant; messages that
            name file and place.
    """

    path: Path
    episode: Episode | None
    faults: tuple[str, ...]


class FrameDataset:
    """A `wbgpu.episodes.layout.Layout`: worldbench's frame datasets."""

    def episodes(self, ground_truth: Path) -> tuple[Episode, ...]:
        """The folders ``episode_*`` of a dataset.

        Raises:
            InputError: there is none, or some have faults; the message lists them.
        """
        folders = [read_episode(folder) for folder in episode_folders(ground_truth)]
        faults = [fault for folder in folders for fault in folder.faults]
        if faults:
            more = len(faults) - _MAX_FAULTS
            raise InputError(
                f"{ground_truth}: not a valid frame dataset: {len(faults)} fault(s)"
                + "".join(f"\n  {fault}" for fault in faults[:_MAX_FAULTS])
                + (f"\n  ... and {more} more (wbgpu validate lists all)" if more > 0 else "")
            )
        return tuple(folder.episode for folder in folders if folder.episode is not None)

    def pairs(self, ground_truth: Path, predictions: Path | None) -> tuple[EpisodePair, ...]:
        """The episodes with their predictions.

        Args:
            ground_truth: the dataset.
            predictions: a folder with ``<episode>/predictions/`` or ``<episode>/`` of images, or
                one of videos and arrays called ``<episode>``; or ``<episode>/predictions`` itself,
                for that episode alone; or, for a dataset of one episode, a folder of its images.
                ``None``: those within the dataset.

        Raises:
            InputError: the dataset or a folder of images has faults.
            PairingError: episodes without predictions, or predictions without an episode.
        """
        episodes = self.episodes(ground_truth)
        if predictions is None:
            return _paired(episodes, ground_truth)
        if not predictions.is_dir():
            missing = "is not a folder" if predictions.exists() else "does not exist"
            raise InputError(f"predictions {predictions}: {missing}")
        if has_images(predictions):
            return (_flat(episodes, predictions),)
        if not any(_image_folder(predictions, e.episode_id) for e in episodes):
            return pair_with_predictions(episodes, ground_truth, predictions)
        return _paired(episodes, predictions)


def is_frame_dataset(root: Path) -> bool:
    """Whether a path looks like a frame dataset."""
    return root.is_dir() and any(
        (folder / "frames").is_dir() for folder in root.glob(f"{_EPISODE_PREFIX}*")
    )


def episode_folders(root: Path) -> tuple[Path, ...]:
    """The episodes' folders, sorted.

    Raises:
        InputError: the dataset is not there, no folder, or has no episodes, or one has a name that
            is not UTF-8.
    """
    if not root.exists():
        raise InputError(f"dataset {root}: does not exist")
    if not root.is_dir():
        raise InputError(f"dataset {root}: is not a folder")
    folders = sorted(p for p in root.iterdir() if p.name.startswith(_EPISODE_PREFIX) and p.is_dir())
    if not folders:
        instead = (
            "; it is a LeRobot dataset: evaluate it with wbgpu eval suite=lerobot, or copy it into "
            "frames with wbgpu import-lerobot"
            if is_lerobot_dataset(root)
            else ""
        )
        raise InputError(f"dataset {root}: no folders {_EPISODE_PREFIX}* in it{instead}")
    for folder in folders:
        check_name(folder.name, root)
    return tuple(folders)


def read_episode(folder: Path) -> EpisodeFolder:
    """An episode's frames and what its JSON files say. No image is opened."""
    faults: list[str] = []
    actions, action_faults = read_actions_json(folder / "actions.json")
    states, state_faults = read_states_json(folder / "states.json")
    metadata, metadata_faults = read_metadata_json(folder / "metadata.json")
    clip: Clip | None = None
    try:
        clip = image_clip(folder / "frames", _fps(metadata) if not metadata_faults else None)
    except InputError as error:
        faults.append(str(error))
    faults += map(str, (*action_faults, *state_faults, *metadata_faults))
    if clip is None:
        return EpisodeFolder(folder, None, tuple(faults))
    signals = EpisodeSignals(
        action_vectors=None if faults else vectors(actions, "action"),
        state_vectors=None if faults else vectors(states, "observation_state"),
        actions=actions,
        states=states,
        metadata=metadata,
        files={role: folder / f"{role}.json" for role in SIGNAL_FILES},
    )
    return EpisodeFolder(folder, Episode(folder.name, clip, signals), tuple(faults))


def _fps(metadata: dict[str, Any]) -> float:
    return float(metadata.get("fps", _DEFAULT_FPS))


def _image_folder(root: Path, episode_id: str) -> Path | None:
    """Where below ``root`` the images of an episode lie, in worldbench's order of search."""
    folder = root / episode_id
    if (folder / "predictions").is_dir():
        return folder / "predictions"
    return folder if has_images(folder) else None


def _paired(episodes: Sequence[Episode], root: Path) -> tuple[EpisodePair, ...]:
    found = {e.episode_id: _image_folder(root, e.episode_id) for e in episodes}
    missing = [episode_id for episode_id, folder in found.items() if folder is None]
    extra = [
        p.name
        for p in sorted(root.glob(f"{_EPISODE_PREFIX}*"))
        if p.name not in found and _image_folder(root, p.name) is not None
    ]
    if missing or extra:
        raise PairingError(
            f"the dataset and its predictions under {root} do not pair up\n"
            f"Matched episodes: {len(found) - len(missing)}\n"
            f"Missing predictions: {counted(missing)}\n"
            f"Prediction-only episodes: {counted(extra)}\n"
            "Expected images in <episode>/predictions/ or <episode>/"
        )
    return tuple(_with_images(e, folder) for e in episodes if (folder := found[e.episode_id]))


def _flat(episodes: Sequence[Episode], folder: Path) -> EpisodePair:
    """Images that are given by themselves: of the one episode, or of the one they lie in."""
    # Made absolute, because "predictions" alone may be given from within the episode's folder.
    owner = folder.absolute().parent.name if folder.absolute().name == "predictions" else None
    named = [episode for episode in episodes if episode.episode_id == owner]
    chosen = named or list(episodes)
    if owner is not None and owner.startswith(_EPISODE_PREFIX) and not named:
        raise PairingError(f"predictions {folder}: the dataset has no episode {owner!r}")
    if len(chosen) > 1:
        raise PairingError(
            f"predictions {folder}: images of one episode, but the dataset has {len(episodes)}; "
            "give a folder with one <episode>/ of images each"
        )
    return _with_images(chosen[0], folder)


def _with_images(episode: Episode, folder: Path) -> EpisodePair:
    return episode.with_prediction(image_clip(folder, episode.ground_truth.fps))
