"""Files in which NanoWM's own scripts save rollouts, told apart by their names.

``rollout.py`` writes ``sample_0000_gt.mp4``, ``sample_0000_gen.mp4`` and a comparison of both,
``sample_dfot.py`` the same with ``_pred``. Validation during training writes
``traj_0003_start_0010/gt_video.mp4`` and ``pred_video.mp4``.
"""

from __future__ import annotations

import filecmp
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from wbgpu.episodes.pairing import counted, pairing_key
from wbgpu.episodes.videos import find_videos
from wbgpu.errors import PairingError

_TRUTH, _PREDICTION = "ground truth", "prediction"
_SUFFIXES = {"_gt": _TRUTH, "_gen": _PREDICTION, "_pred": _PREDICTION}
_NAMES = {"gt_video": _TRUTH, "pred_video": _PREDICTION}

EXPECTED_NAMES = "*_gt, *_gen and *_pred, or gt_video and pred_video in a folder for each episode"
"""For messages; the extensions are those of videos."""


@dataclass(frozen=True)
class SavedRollouts:
    """Clips by episode, such as ``sample_0000`` or ``traj_0003_start_0010``.

    Attributes:
        truths, predictions: sorted by episode.
        of_codec: whether some truths are what the model's codec makes of the video, and not the
            video itself: those of ``rollout.py`` and ``sample_dfot.py``.
    """

    truths: Mapping[str, Path]
    predictions: Mapping[str, Path]
    of_codec: bool


def find_rollouts(root: Path, role: str) -> SavedRollouts:
    """What NanoWM's scripts have saved below ``root``; other files are left alone.

    Raises:
        InputError: as `wbgpu.episodes.videos.find_videos`.
        PairingError: an episode has two clips of one kind.
    """
    found: dict[str, dict[str, Path]] = {_TRUTH: {}, _PREDICTION: {}}
    of_codec = False
    for name, path in find_videos(root, role).items():
        relative = PurePosixPath(name)
        if (kind := _NAMES.get(relative.stem)) is not None:
            parent = relative.parent.as_posix()
            episode = root.resolve().name if parent == "." else parent
        elif (suffix := _suffix(relative.stem)) is not None:
            kind = _SUFFIXES[suffix]
            episode = (relative.parent / relative.stem.removesuffix(suffix)).as_posix()
            of_codec = of_codec or kind == _TRUTH
        else:
            continue
        if (other := found[kind].get(episode)) is not None:
            raise PairingError(
                f"{root}: episode {episode} has two clips of its {kind}: {other.name} and "
                f"{path.name}; keep one"
            )
        found[kind][episode] = path
    truths, predictions = (dict(sorted(found[kind].items())) for kind in (_TRUTH, _PREDICTION))
    return SavedRollouts(truths, predictions, of_codec)


def check_same_truth(truths: SavedRollouts, other: SavedRollouts, names: Iterable[str]) -> None:
    """Refuse predictions that lie beside other ground truth than they are scored against.

    NanoWM counts its samples, so after a change of ``rollout_length`` or of the dataset the same
    number is another scene.

    Args:
        truths: of the suite.
        other: of the predictions; episodes without ground truth there pass.
        names: the episodes to look at.

    Raises:
        PairingError: some are not the same bytes.
    """
    beside = {pairing_key(name): path for name, path in other.truths.items()}
    differing = [
        name
        for name in names
        if (theirs := beside.get(pairing_key(name))) is not None
        and not filecmp.cmp(truths.truths[name], theirs, shallow=False)
    ]
    if differing:
        name = differing[0]
        raise PairingError(
            f"{beside[pairing_key(name)]} is not the file {truths.truths[name]}, so the same name "
            "may be another scene; score the predictions against the ground truth beside them, or, "
            "where both were only encoded on other machines, set suite.layout.same_truth=false\n"
            f"Episodes with other ground truth: {counted(differing)}"
        )


def _suffix(stem: str) -> str | None:
    return next((s for s in _SUFFIXES if stem.endswith(s) and stem != s), None)
