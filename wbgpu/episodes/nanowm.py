"""Saved rollouts of NanoWM (Nano World Model), scored where they lie.

Three kinds of folder, told apart by what is in them: those of NanoWM's own scripts, see
`wbgpu.episodes.nanowm_clips`; those that worldbench's adapter has prepared, see
`wbgpu.episodes.nanowm_manifest`; and else a folder of ground truth and one of predictions, paired
by relative path, of videos, arrays or folders of images.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from wbgpu.episodes.layout import SuiteDescription
from wbgpu.episodes.nanowm_clips import (
    EXPECTED_NAMES,
    SavedRollouts,
    check_same_truth,
    find_rollouts,
)
from wbgpu.episodes.nanowm_folders import exported_clips, is_one_clip
from wbgpu.episodes.nanowm_manifest import Manifest, read_manifest
from wbgpu.episodes.pairing import Episode, EpisodePair, counted, pair_clips, pairing_key
from wbgpu.errors import ConfigurationError, InputError, PairingError
from wbgpu.records.clip import Clip
from wbgpu.records.declared import Declared
from wbgpu.records.signals import EpisodeSignals

_OF_CODEC = (
    "The ground truth is what the model's codec makes of the video (NanoWM saves *_gt so): "
    "the codec's own error is not counted."
)


class NanoWMRollouts:
    """A `wbgpu.episodes.layout.DescribedLayout`.

    Every clip must have ``num_context + num_steps`` frames; one that has not costs its episode.

    Args:
        num_context: leading frames of each clip that were given to the model.
        num_steps: frames that it generated after them; ``None`` for whatever there are.
        fps: frames per second that every video must have; ``None`` for any.
        episodes: ids of the episodes to score; ``None`` for all.
        checkpoint: who made the predictions: what a manifest must say, or the checkpoint's name
            where there is none.
        dataset: what a manifest must call its dataset; where there is none, what it is.
        same_truth: whether ground truth beside predictions in another folder must be the same
            files as those scored against.

    Raises:
        ConfigurationError: a value is out of range or of another type, or an episode is named
            twice.
    """

    def __init__(
        self,
        num_context: int,
        num_steps: int | None = 8,
        fps: float | None = None,
        episodes: Sequence[str] | None = None,
        checkpoint: str | int | None = None,
        dataset: str | int | None = None,
        same_truth: bool = True,
    ) -> None:
        if num_steps is not None and (type(num_steps) is not int or num_steps < 1):
            raise ConfigurationError(
                f"suite.layout.num_steps: expected an integer >= 1 or null, got {num_steps!r}"
            )
        if fps is not None and not (type(fps) in (int, float) and 0 < fps < math.inf):
            raise ConfigurationError(
                f"suite.layout.fps: expected a number above 0 or null, got {fps!r}"
            )
        if not isinstance(same_truth, bool):
            raise ConfigurationError(
                f"suite.layout.same_truth: expected true or false, got {same_truth!r}"
            )
        self._num_context = num_context
        self._num_steps = num_steps
        self._fps = fps
        self._chosen = None if episodes is None else _different_ids(episodes)
        self._checkpoint = _name("checkpoint", checkpoint)
        self._dataset = _name("dataset", dataset)
        self._same_truth = same_truth

    def describe(self, ground_truth: Path, predictions: Path | None) -> SuiteDescription:
        """The checkpoint, the dataset, and what has to be known of the ground truth."""
        suite = self._suite(ground_truth)
        if isinstance(suite, Manifest):
            made_by = None
            if predictions is not None:
                made_by = suite.checkpoint(predictions, self._checkpoint)
            return SuiteDescription(made_by, suite.notes)
        notes = () if self._dataset is None else (f"Dataset: {self._dataset}",)
        if suite is not None and suite.of_codec:
            notes = (*notes, _OF_CODEC)
        return SuiteDescription(self._checkpoint, notes)

    def episodes(self, ground_truth: Path) -> tuple[Episode, ...]:
        """Ground truth of the chosen episodes."""
        return self._chosen_of(self._all(self._suite(ground_truth), ground_truth), ground_truth)

    def pairs(self, ground_truth: Path, predictions: Path | None) -> tuple[EpisodePair, ...]:
        """The chosen episodes with their predictions."""
        suite = self._suite(ground_truth)
        every = self._all(suite, ground_truth)
        chosen = self._chosen_of(every, ground_truth)
        if isinstance(suite, SavedRollouts):
            clips = self._saved_predictions(suite, chosen, predictions)
        elif predictions is None:
            raise ConfigurationError(
                f"suite.predictions: give the folder of predictions; {ground_truth} itself holds "
                f"none ({EXPECTED_NAMES})"
            )
        else:
            if isinstance(suite, Manifest):
                suite.checkpoint(predictions, self._checkpoint)
            clips = exported_clips(predictions, "predictions")
            if is_one_clip(ground_truth) and is_one_clip(predictions):
                clips = {chosen[0].episode_id: next(iter(clips.values()))}
        declared = {pairing_key(e.episode_id): e.ground_truth.declared for e in every}
        clips = {
            name: replace(clip, declared=declared.get(pairing_key(name)))
            for name, clip in clips.items()
        }
        ids = {episode.episode_id for episode in chosen}
        unchosen = [e.episode_id for e in every if e.episode_id not in ids]
        return pair_clips(chosen, clips, ground_truth, predictions or ground_truth, unchosen)

    def _suite(self, root: Path) -> Manifest | SavedRollouts | None:
        """What lies there; ``None`` for a folder of clips of any name."""
        if not root.exists():
            raise InputError(f"ground truth does not exist: {root}")
        manifest = read_manifest(
            root, num_context=self._num_context, num_steps=self._num_steps, dataset=self._dataset
        )
        if manifest is not None or is_one_clip(root):
            return manifest
        saved = find_rollouts(root, "ground-truth")
        return saved if saved.truths or saved.predictions else None

    def _all(self, suite: Manifest | SavedRollouts | None, root: Path) -> list[Episode]:
        if isinstance(suite, Manifest):
            signals = EpisodeSignals(files={"metadata": suite.file})
            return [Episode(name, clip, signals) for name, clip in suite.truths().items()]
        if suite is None:
            clips: Mapping[str, Clip] = exported_clips(root, "ground-truth")
        elif suite.truths:
            clips = {name: Clip(path) for name, path in suite.truths.items()}
        else:
            raise PairingError(f"no ground truth under {root}; expected {EXPECTED_NAMES}")
        declared = self._declared()
        return [Episode(name, replace(clip, declared=declared)) for name, clip in clips.items()]

    def _saved_predictions(
        self, suite: SavedRollouts, chosen: Sequence[Episode], predictions: Path | None
    ) -> dict[str, Clip]:
        found = suite
        if predictions is not None:
            found = find_rollouts(predictions, "predictions")
            if not found.predictions:
                raise PairingError(f"no predictions under {predictions}; expected {EXPECTED_NAMES}")
            if self._same_truth:
                check_same_truth(suite, found, [episode.episode_id for episode in chosen])
        return {name: Clip(path) for name, path in found.predictions.items()}

    def _declared(self) -> Declared:
        num_frames = None if self._num_steps is None else self._num_context + self._num_steps
        settings = {"suite.layout.num_steps": self._num_steps, "suite.layout.fps": self._fps}
        named = [f"{key}={value}" for key, value in settings.items() if value is not None]
        place = " ".join([f"suite.num_context={self._num_context}", *named])
        return Declared(place, num_frames, fps=self._fps)

    def _chosen_of(self, episodes: Sequence[Episode], root: Path) -> tuple[Episode, ...]:
        if self._chosen is None:
            return tuple(episodes)
        known = [pairing_key(episode.episode_id) for episode in episodes]
        if unknown := [name for name in self._chosen if name not in known]:
            raise ConfigurationError(
                f"suite.layout.episodes: {unknown[0]!r} is not under {root}; there are: "
                f"{counted(known)}"
            )
        return tuple(e for e, name in zip(episodes, known, strict=True) if name in self._chosen)


def _different_ids(given: Sequence[str]) -> list[str]:
    """As pairing sees them. Text is a sequence too, of letters."""
    is_list = isinstance(given, Sequence) and not isinstance(given, str)
    are_ids = is_list and all(type(name) in (str, int) for name in given)
    ids = [pairing_key(str(name)) for name in given] if are_ids else []
    if not ids or len(set(ids)) < len(ids):
        raise ConfigurationError(
            f"suite.layout.episodes: expected different ids such as [sample_0000], got {given!r}"
        )
    return ids


def _name(key: str, given: str | int | None) -> str | None:
    """A number is a name as well: that of a step."""
    if given is None:
        return None
    if type(given) not in (str, int) or given == "":
        raise ConfigurationError(f"suite.layout.{key}: expected a name or null, got {given!r}")
    return str(given)
