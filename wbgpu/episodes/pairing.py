"""Episodes, and how predictions are paired with them: by relative path.

The episode id is the ground truth's POSIX path relative to its root, extension included, as
worldbench's. A prediction belongs to it when its relative path is the same but for the
extension: ``a/b.mp4`` pairs with ``a/b.mkv``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from wbgpu.episodes.predictions import CLIP_EXTENSIONS, find_clips
from wbgpu.errors import PairingError
from wbgpu.records.clip import Clip
from wbgpu.records.signals import EpisodeSignals

_MAX_NAMES = 20


@dataclass(frozen=True)
class Episode:
    """One episode of a suite.

    Attributes:
        episode_id: its name in results.
        ground_truth: its frames, context first.
        signals: its actions, states and metadata, if the suite has any.
    """

    episode_id: str
    ground_truth: Clip
    signals: EpisodeSignals | None = None

    def with_prediction(self, prediction: Clip) -> EpisodePair:
        """The episode and frames that were predicted for it."""
        return EpisodePair(self.episode_id, self.ground_truth, self.signals, prediction=prediction)


@dataclass(frozen=True, kw_only=True)
class EpisodePair(Episode):
    """An episode and its predicted frames, which begin with the same context."""

    prediction: Clip


def pair_with_predictions(
    episodes: Sequence[Episode],
    ground_truth_root: Path,
    predictions_root: Path,
    unchosen: Collection[str] = (),
) -> tuple[EpisodePair, ...]:
    """Pair a suite's episodes with a folder of predictions, in the order of the episodes.

    Args:
        episodes: at least one.
        ground_truth_root: where they lie, for messages.
        predictions_root: see `wbgpu.episodes.predictions.find_clips`.
        unchosen: ids of the suite's other episodes, whose predictions are left alone.

    Raises:
        InputError: the folder of predictions cannot be read.
        PairingError: two predictions of one name, or episodes on one side only; the message counts
            and names them.
    """
    predictions = find_clips(predictions_root)
    return pair_clips(episodes, predictions, ground_truth_root, predictions_root, unchosen)


def pair_clips(
    episodes: Sequence[Episode],
    predictions: Mapping[str, Clip],
    ground_truth_root: Path,
    predictions_root: Path,
    unchosen: Collection[str] = (),
) -> tuple[EpisodePair, ...]:
    """As `pair_with_predictions`, with predictions by name that were found already."""
    prediction_by_key = by_key(predictions, predictions_root)
    episode_by_key = {pairing_key(episode.episode_id): episode for episode in episodes}
    missing = [e.episode_id for key, e in episode_by_key.items() if key not in prediction_by_key]
    known = {*episode_by_key, *map(pairing_key, unchosen)}
    extra = [name for key, name in prediction_by_key.items() if key not in known]
    if missing or extra:
        matched = len(episode_by_key) - len(missing)
        raise PairingError(
            f"ground truth and predictions do not pair up "
            f"({ground_truth_root} against {predictions_root})\n"
            f"Matched episodes: {matched}\n"
            f"Missing predictions: {counted(missing)}\n"
            f"Prediction-only episodes: {counted(extra)}"
        )
    return tuple(
        episode.with_prediction(predictions[prediction_by_key[key]])
        for key, episode in episode_by_key.items()
    )


def by_key(names: Iterable[str], root: Path) -> dict[str, str]:
    """Relative paths by themselves without extension, in which episodes and predictions agree.

    Raises:
        PairingError: two differ only in their extension.
    """
    ids: dict[str, list[str]] = {}
    for relative in names:
        ids.setdefault(pairing_key(relative), []).append(relative)
    twice = [f"{' and '.join(same)}" for same in ids.values() if len(same) > 1]
    if twice:
        raise PairingError(
            f"duplicate episodes under {root}: videos differ only in their extension: "
            f"{counted(twice)}"
        )
    return {key: same[0] for key, same in ids.items()}


def pairing_key(relative: str) -> str:
    """What pairs: the relative path without the extension of a file of frames."""
    path = PurePosixPath(relative)
    stem = path.with_suffix("") if path.suffix.lower() in CLIP_EXTENSIONS else path
    # File names typed on macOS are decomposed (NFD); the same name made on Linux is not.
    return unicodedata.normalize("NFC", str(stem))


def counted(names: Sequence[str]) -> str:
    """How many, and below each other the first of them."""
    shown = "".join(f"\n  {name}" for name in names[:_MAX_NAMES])
    more = len(names) - _MAX_NAMES
    return f"{len(names)}{shown}" + (f"\n  ... and {more} more" if more > 0 else "")
