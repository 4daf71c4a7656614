"""All that is wrong with a frame dataset, for a person who is about to use it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from wbgpu.episodes.frame_dataset import episode_folders, read_episode
from wbgpu.episodes.pairing import Episode
from wbgpu.errors import InputError, VideoError
from wbgpu.records.clip import Clip
from wbgpu.records.image_file import open_image
from wbgpu.records.image_folder import image_clip


@dataclass(frozen=True)
class DatasetReport:
    """What `check_dataset` found.

    Attributes:
        dataset: its root.
        num_episodes: folders ``episode_*``.
        num_frames: images of ground truth.
        errors: what keeps it from being evaluated; messages that name file and place.
        warnings: what is unusual, and what is done about it.
    """

    dataset: Path
    num_episodes: int
    num_frames: int
    errors: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def is_valid(self) -> bool:
        """Whether it can be evaluated."""
        return not self.errors


def check_dataset(root: Path) -> DatasetReport:
    """Read a dataset's JSON files and the headers of its images.

    Predictions within the dataset are checked where there are some.
    """
    try:
        folders = episode_folders(root)
    except InputError as error:
        return DatasetReport(root, 0, 0, (str(error),), ())
    errors: list[str] = []
    warnings: list[str] = []
    num_frames = 0
    for folder in folders:
        read = read_episode(folder)
        errors += read.faults
        if read.episode is not None:
            num_frames += len(read.episode.ground_truth.images)
            errors += _image_faults(read.episode.ground_truth)
            warnings += _count_warnings(read.episode)
            wrong, unusual = _of_predictions(folder, read.episode)
            errors += wrong
            warnings += unusual
    return DatasetReport(root, len(folders), num_frames, tuple(errors), tuple(warnings))


def _of_predictions(folder: Path, episode: Episode) -> tuple[list[str], list[str]]:
    predictions = folder / "predictions"
    if not predictions.is_dir():
        return [], [f"{predictions}: no such folder; give predictions with --predictions"]
    try:
        clip = image_clip(predictions)
    except InputError as error:
        return [str(error)], []
    warnings = []
    num_frames, num_predicted = len(episode.ground_truth.images), len(clip.images)
    if num_frames != num_predicted:
        warnings.append(
            f"{predictions}: {num_predicted} images, but the episode has {num_frames} frames; the "
            f"first {min(num_frames, num_predicted)} are scored, unless the difference is too large"
        )
    return [*_image_faults(clip)], warnings


def _count_warnings(episode: Episode) -> Iterator[str]:
    assert episode.signals is not None
    folder, num_frames = episode.ground_truth.path.parent, len(episode.ground_truth.images)
    num_actions = len(episode.signals.actions or ())
    if num_actions < num_frames - 1:
        yield (
            f"{folder / 'actions.json'}: {num_actions} actions for {num_frames} frames; expected "
            f"{num_frames - 1}, one from each to the next. What has no action is not scored for it"
        )
    elif num_actions > num_frames:
        yield (
            f"{folder / 'actions.json'}: {num_actions} actions for {num_frames} frames; those "
            "after the last frame are not used"
        )
    num_states = len(episode.signals.states or ())
    if num_states != num_frames:
        yield f"{folder / 'states.json'}: {num_states} states for {num_frames} frames"


def _image_faults(clip: Clip) -> Iterator[str]:
    """Images that cannot be opened, and the first of another size than most."""
    sizes: dict[tuple[int, int], Path] = {}
    for path in clip.images:
        try:
            with open_image(path) as image:
                sizes.setdefault(image.size, path)
        except VideoError as error:
            yield str(error)
    if len(sizes) > 1:
        (first, one), (other, path) = list(sizes.items())[:2]
        yield (
            f"{path}: the image is {other[0]}x{other[1]}, but {one.name} is {first[0]}x{first[1]}; "
            "all frames of an episode must have one size"
        )
