"""Which episodes a report shows with pictures, and the videos that they come from.

Scores come from results alone; pictures show where they come from, so a video that has gone or has
changed since it was scored gives none, and the report says why.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wbgpu.episodes.digests import clip_sha256
from wbgpu.errors import InputError
from wbgpu.records.clip import Clip
from wbgpu.records.image_folder import image_clip
from wbgpu.records.suite import EpisodeResult, SuiteResult


class NoFilmError(Exception):
    """An episode whose videos cannot be shown, and why."""


@dataclass(frozen=True)
class FilmSide:
    """One video of the film, from its first scored frame.

    Attributes:
        label: of its row and panel.
        clip: its frames.
        first: index of the frame at horizon 1.
        num_steps: scored steps.
    """

    label: str
    clip: Clip
    first: int
    num_steps: int


def film_sides(
    episode_id: str, result: SuiteResult, baseline: SuiteResult | None, folders: Sequence[Path]
) -> tuple[FilmSide, ...]:
    """The videos of one episode, ground truth first and the result's prediction last.

    Args:
        episode_id: which.
        result: its prediction is called by its checkpoint.
        baseline: its prediction is shown as well, likewise.
        folders: where paths that are not found from the current folder may start.

    Raises:
        NoFilmError: a video is missing or has changed, or the episode has no scores.
    """
    episode = _scored(episode_id, result)
    sides = [_side("ground truth", "ground_truth", episode, result, folders)]
    if baseline is not None:
        before = _scored(episode_id, baseline)
        sides.append(_side(baseline.checkpoint_name, "prediction", before, baseline, folders))
    return (*sides, _side(result.checkpoint_name, "prediction", episode, result, folders))


def _scored(episode_id: str, result: SuiteResult) -> EpisodeResult:
    for episode in result.episodes:
        if episode.episode_id == episode_id and episode.failure is None:
            return episode
    raise NoFilmError(f"{result.checkpoint_name} has no scores of it")


def _side(
    label: str, kind: str, episode: EpisodeResult, result: SuiteResult, folders: Sequence[Path]
) -> FilmSide:
    recorded = episode.ground_truth_path if kind == "ground_truth" else episode.prediction_path
    path = _found(Path(recorded), folders)
    if path is None:
        raise NoFilmError(f"{recorded} is not there any more (from this folder)")
    known = {} if result.provenance is None else result.provenance.input_sha256
    digest = known.get(f"{kind}/{episode.episode_id}")
    clip = _clip(kind, path, episode)
    if digest is not None and clip_sha256(clip) != digest:
        raise NoFilmError(f"{path} has changed since it was scored")
    return FilmSide(label, clip, result.num_context or 0, episode.num_steps)


def _clip(kind: str, path: Path, episode: EpisodeResult) -> Clip:
    if path.is_dir():
        try:
            return image_clip(path)
        except InputError as error:
            raise NoFilmError(str(error)) from error
    if episode.alignment is None:
        return Clip(path)
    video = episode.alignment.target if kind == "ground_truth" else episode.alignment.prediction
    return dataclasses.replace(Clip.of(video), path=path)


def _found(path: Path, folders: Sequence[Path]) -> Path | None:
    candidates = [path, *(folder / path for folder in folders)]
    return next((candidate for candidate in candidates if candidate.exists()), None)


def worst_and_best(
    result: SuiteResult, changes: Mapping[str, float] | None, count: int
) -> tuple[str, ...]:
    """Ids of the ``count`` worst and ``count`` best episodes, the worst first, none twice.

    Args:
        result: episodes without a score are left out.
        changes: by episode id, what to order by; ``None`` for scores.
        count: of each kind.
    """
    values = {
        e.episode_id: e.score if changes is None else changes.get(e.episode_id)
        for e in result.episodes
    }
    known = {name: value for name, value in values.items() if value is not None}
    ordered = sorted(known, key=lambda name: (known[name], name))
    worst = ordered[:count]
    best = ordered[max(count, len(ordered) - count) :]
    return (*worst, *best)
