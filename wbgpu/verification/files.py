"""Whether the files that a result was computed from are still the same."""

from __future__ import annotations

import dataclasses
import importlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from wbgpu.episodes.actions import find_actions
from wbgpu.episodes.digests import clip_sha256, dataset_identifier
from wbgpu.episodes.layout import Layout
from wbgpu.episodes.logits import TENSORS, find_logits
from wbgpu.errors import ConfigurationError, InputError
from wbgpu.records.clip import Clip
from wbgpu.records.image_folder import image_clip
from wbgpu.records.suite import EpisodeResult, SuiteResult
from wbgpu.records.verification import Check

_SIGNALS = ("actions", "states", "metadata")

_FLAGS = {"ground_truth": "--ground-truth", "prediction": "--predictions"}

_SHA256 = re.compile(r"(?:sha256:)?([0-9a-f]{64})")


@dataclass(frozen=True)
class InputRoots:
    """Where the files lie now; ``None`` takes what the result says."""

    ground_truth: Path | None = None
    predictions: Path | None = None
    logits: Path | None = None
    actions: Path | None = None


class UnsafePathError(ValueError):
    """A recorded path that is not followed: ``..`` in it could lead anywhere."""


def file_checks(
    result: SuiteResult, document: Mapping[str, Any], roots: InputRoots
) -> Iterator[Check]:
    """Check the digest of every video, and that of the ground truth as a whole.

    Args:
        result: as it was read.
        document: the JSON it was read from.
        roots: where the files lie now.
    """
    digests = _recorded(result, document)
    truths: dict[str, Clip] = {}
    moved = missing_roles(result, roots)
    yield from _missing(result, moved, roots)
    for episode in result.episodes:
        for role in ("ground_truth", "prediction"):
            if role in moved:
                continue
            subject = f"{role}/{episode.episode_id}"
            try:
                path = video_path(result, episode, role, roots)
            except UnsafePathError as error:
                yield Check(subject, "unknown", str(error))
                continue
            clip = _clip(path)
            if role == "ground_truth":
                truths[episode.episode_id] = _part(clip, episode)
            yield _file(subject, clip, digests.get(subject), episode.failure is not None)
    yield from _logit_checks(result, digests, roots)
    if "ground_truth" in moved:
        return
    yield from _signal_checks(result, digests, roots)
    yield _dataset(result, truths)


def missing_roles(result: SuiteResult, roots: InputRoots) -> tuple[str, ...]:
    """``ground_truth`` or ``prediction``, of which not a single file is where it should be.

    Then they have been moved, or the command runs in another folder; one that is missing among
    others that are there has been removed, which is another matter.
    """
    return tuple(
        role
        for role in ("ground_truth", "prediction")
        if result.episodes and not any(_exists(result, e, role, roots) for e in result.episodes)
    )


def _exists(result: SuiteResult, episode: EpisodeResult, role: str, roots: InputRoots) -> bool:
    try:
        return video_path(result, episode, role, roots).exists()
    except UnsafePathError:
        # Not followed, which is said of each.
        return True


def _missing(result: SuiteResult, moved: Sequence[str], roots: InputRoots) -> Iterator[Check]:
    """One line for all files that are not found.

    That is wrong only where they were looked for in a folder that the user named.
    """
    given = {"ground_truth": roots.ground_truth, "prediction": roots.predictions}
    unnamed = [role for role in moved if given[role] is None]
    for role in moved:
        if role not in unnamed:
            path = video_path(result, result.episodes[0], role, roots)
            hint = f"is {_FLAGS[role]} {given[role]} the right folder?"
            yield Check(role, "failed", f"no file is found, such as {path}; {hint}")
    if unnamed:
        path = video_path(result, result.episodes[0], unnamed[0], roots)
        where = "" if path.is_absolute() else f" from {Path.cwd()}"
        flags = " and ".join(_FLAGS[role] for role in unnamed)
        yield Check(
            " and ".join(unnamed),
            "unknown",
            f"none of {len(unnamed) * len(result.episodes)} files is found, such as {path}"
            f"{where}; say with {flags} where they lie now",
        )


def logits_root(result: SuiteResult, roots: InputRoots) -> Path | None:
    """Where saved logits lie; ``None`` where the result was made without any.

    Raises:
        UnsafePathError: the recorded path has ``..`` in it.
    """
    return _recorded_folder(result, "logits", roots.logits)


def actions_root(result: SuiteResult, roots: InputRoots) -> Path | None:
    """Where saved actions lie; ``None`` where the result was made with the suite's own, or none.

    Raises:
        UnsafePathError: the recorded path has ``..`` in it.
    """
    return _recorded_folder(result, "actions", roots.actions)


def _recorded_folder(result: SuiteResult, key: str, given: Path | None) -> Path | None:
    suite = {} if result.provenance is None else result.provenance.configuration.get("suite")
    recorded = suite.get(key) if isinstance(suite, Mapping) else None
    if recorded is None or given is not None:
        return None if recorded is None else given
    if ".." in PurePosixPath(str(recorded)).parts:
        raise UnsafePathError(
            f"{recorded!r} has '..' in it and is not followed; say where with --{key}"
        )
    return Path(str(recorded))


def _logit_checks(
    result: SuiteResult, digests: Mapping[str, Any], roots: InputRoots
) -> Iterator[Check]:
    """Files of saved logits; what their targets say is computed again with ``--recompute``."""
    subjects = [
        key for key in digests if key.partition("/")[0] in TENSORS and key[:8] != "targets/"
    ]
    try:
        root = logits_root(result, roots)
    except UnsafePathError as error:
        yield from (Check(subject, "unknown", str(error)) for subject in subjects)
        return
    if subjects and root is not None and roots.logits is None and not root.exists():
        reason = f"{root} is not found; say with --logits where saved logits lie now"
        yield Check("logits", "unknown", reason)
        return
    for subject in subjects:
        tensor, _, episode_id = subject.partition("/")
        try:
            if root is None:
                raise InputError("the configuration names no folder of logits")
            path = find_logits(root, [episode_id])[episode_id].paths[tensor]
        except (InputError, KeyError) as error:
            yield Check(subject, "failed", str(error))
            continue
        yield _file(subject, Clip(path), digests[subject], had_failed=False)


def _clip(path: Path) -> Clip:
    """The file, or the folder's images; the folder where they are no series any more."""
    if not path.is_dir():
        return Clip(path)
    try:
        return image_clip(path)
    except InputError:
        return Clip(path)


def _signal_checks(
    result: SuiteResult, digests: Mapping[str, Any], roots: InputRoots
) -> Iterator[Check]:
    """Files of actions, states and metadata that a suite has beside its frames."""
    subjects = [key for key in digests if key.partition("/")[0] in _SIGNALS]
    suite = {} if result.provenance is None else result.provenance.configuration.get("suite")
    if isinstance(suite, Mapping) and suite.get("actions") is not None:
        saved = [key for key in subjects if key.startswith("actions/")]
        yield from _saved_action_checks(result, saved, digests, roots)
        subjects = [key for key in subjects if key not in saved]
    layout = _layout(result)
    if layout is None or not subjects:
        return
    try:
        episodes = layout.episodes(recorded_root(result, "ground_truth", roots))
    except UnsafePathError as error:
        yield from (Check(subject, "unknown", str(error)) for subject in subjects)
        return
    except InputError as error:
        yield from (Check(subject, "failed", str(error)) for subject in subjects)
        return
    files = {
        f"{role}/{episode.episode_id}": path
        for episode in episodes
        if episode.signals is not None
        for role, path in episode.signals.files.items()
    }
    for subject in subjects:
        if subject in files:
            yield _file(subject, Clip(files[subject]), digests[subject], had_failed=False)
        else:
            yield Check(subject, "failed", "the suite has no such file any more")


def _saved_action_checks(
    result: SuiteResult,
    subjects: Sequence[str],
    digests: Mapping[str, Any],
    roots: InputRoots,
) -> Iterator[Check]:
    """Files of ``suite.actions``."""
    try:
        root = actions_root(result, roots)
    except UnsafePathError as error:
        yield from (Check(subject, "unknown", str(error)) for subject in subjects)
        return
    assert root is not None
    for subject in subjects:
        episode_id = subject.partition("/")[2]
        try:
            path = find_actions(root, [episode_id])[episode_id]
        except InputError as error:
            yield Check(subject, "failed", str(error))
            continue
        yield _file(subject, Clip(path), digests[subject], had_failed=False)


def _layout(result: SuiteResult) -> Layout | None:
    """The layout that the configuration names, if it is one of ours: files run no other code."""
    suite = {} if result.provenance is None else result.provenance.configuration.get("suite")
    settings = suite.get("layout") if isinstance(suite, Mapping) else None
    if not isinstance(settings, Mapping):
        return None
    arguments = {str(key): value for key, value in settings.items() if key != "_target_"}
    module, _, name = str(settings.get("_target_")).rpartition(".")
    if not module.startswith("wbgpu.episodes."):
        return None
    try:
        kind = getattr(importlib.import_module(module), name)
        # A function there may do anything, such as a download.
        if not isinstance(kind, type) or not hasattr(kind, "pairs"):
            return None
        layout: Layout = kind(**arguments)
    except (ImportError, AttributeError, TypeError, ConfigurationError):
        return None
    return layout


def video_path(result: SuiteResult, episode: EpisodeResult, role: str, roots: InputRoots) -> Path:
    """Where an episode's video lies.

    Args:
        result: whose episode it is.
        episode: whose video is wanted.
        role: ``ground_truth`` or ``prediction``.
        roots: where the files lie now.

    Raises:
        UnsafePathError: the recorded path has ``..`` in it, or is not below the recorded folder.
    """
    if role == "ground_truth":
        given, root, recorded = (
            roots.ground_truth,
            result.ground_truth_root,
            (episode.ground_truth_path),
        )
    else:
        given, root, recorded = roots.predictions, result.predictions_root, episode.prediction_path
    if not recorded:
        raise UnsafePathError("the file does not say where it lay")
    try:
        below = PurePosixPath(recorded).relative_to(PurePosixPath(root))
    except ValueError:
        if given is None:
            raise UnsafePathError(
                f"{recorded!r} is not below the recorded folder {root!r}"
            ) from None
        # worldbench reduces paths to their last part; ids are paths below the folder.
        below = PurePosixPath(episode.episode_id)
    if ".." in below.parts or below.is_absolute():
        raise UnsafePathError(f"{recorded!r} has '..' in it and is not followed")
    return recorded_root(result, role, roots) / below


def recorded_root(result: SuiteResult, role: str, roots: InputRoots) -> Path:
    """The root of ground truth or predictions.

    Args:
        result: whose it is.
        role: ``ground_truth`` or ``prediction``.
        roots: where the files lie now.

    Raises:
        UnsafePathError: the recorded path has ``..`` in it, and none was given.
    """
    if role == "ground_truth":
        given, root = roots.ground_truth, result.ground_truth_root
    else:
        given, root = roots.predictions, result.predictions_root
    if given is not None:
        return given
    if ".." in PurePosixPath(root).parts:
        raise UnsafePathError(
            f"{root!r} has '..' in it and is not followed; say where with {_FLAGS[role]}"
        )
    return Path(root)


def _recorded(result: SuiteResult, document: Mapping[str, Any]) -> dict[str, Any]:
    """Digests by role and episode; worldbench's newer files keep them with each episode."""
    if result.provenance is not None:
        return dict(result.provenance.input_sha256)
    found: dict[str, Any] = {}
    entries = document.get("episodes") or []
    for episode, entry in zip(result.episodes, entries, strict=False):
        holder = entry.get("result") if isinstance(entry, dict) else None
        if result.result_type == "evaluation" and len(result.episodes) == 1:
            holder = document
        provenance = holder.get("provenance") if isinstance(holder, dict) else None
        if isinstance(provenance, dict):
            for role in ("ground_truth", "prediction"):
                if (digest := provenance.get(f"{role}_sha256")) is not None:
                    found[f"{role}/{episode.episode_id}"] = digest
    return found


def _file(subject: str, clip: Clip, digest: Any, had_failed: bool) -> Check:
    path = clip.path
    if digest is None:
        return Check(subject, "unknown", "no digest was recorded")
    match = _SHA256.fullmatch(digest) if isinstance(digest, str) else None
    if match is None:
        return Check(subject, "failed", f"the recorded digest is none: {digest!r}")
    try:
        found = clip_sha256(clip)
    except OSError as error:
        return Check(subject, "failed", f"{path}: {error.strerror or 'cannot be read'}")
    if found != match[1]:
        return Check(subject, "failed", f"{path} has changed: {found}, recorded {match[1]}")
    return Check(subject, "verified", f"{path}{' (not scored)' if had_failed else ''}")


def _part(clip: Clip, episode: EpisodeResult) -> Clip:
    """Which part of the file the episode is."""
    if episode.alignment is None:
        return clip
    target = episode.alignment.target
    return dataclasses.replace(clip, frames=target.frames, tile=target.tile)


def _dataset(result: SuiteResult, truths: Mapping[str, Clip]) -> Check:
    subject = "dataset_identifier"
    if result.dataset_identifier is None:
        return Check(subject, "unknown", "none was recorded")
    if len(truths) < len(result.episodes):
        return Check(subject, "unknown", "not all ground truth could be read")
    if any(clip.frames for clip in truths.values()):
        for episode in result.episodes:
            if episode.alignment is None:
                reason = f"which part of its file {episode.episode_id} is was not recorded"
                return Check(subject, "unknown", reason)
    try:
        found = dataset_identifier(truths)
    except OSError as error:
        return Check(subject, "failed", f"{error.filename}: {error.strerror}")
    if found != result.dataset_identifier:
        return Check(subject, "failed", f"{found}, recorded {result.dataset_identifier}")
    return Check(subject, "verified", found)
