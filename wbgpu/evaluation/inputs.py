"""Digests of the files that a result is computed from."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from wbgpu.episodes.digests import DatasetDigest, clip_sha256
from wbgpu.episodes.logits import LogitFiles
from wbgpu.episodes.pairing import EpisodePair
from wbgpu.errors import InputError
from wbgpu.evaluation.live_model import LiveModel
from wbgpu.evaluation.logit_reader import LogitReader
from wbgpu.records.clip import Clip
from wbgpu.records.timeline import NO_TIMELINE, Timeline


class InputDigests:
    """SHA-256 of each episode's files, computed once, by whichever thread asks first.

    Files that cannot be read have none; decoding reports them.

    Args:
        pairs: the episodes, by index.
        logits: saved logits by episode id, or none.
        live: the model that predicts, if there is one: there are no predicted videos then, but
            perhaps a checkpoint.
        actions: saved actions by episode id, or none.
        timeline: measures the reading.
    """

    def __init__(
        self,
        pairs: Sequence[EpisodePair],
        logits: Mapping[str, LogitFiles],
        live: LiveModel | None = None,
        actions: Mapping[str, Path] = MappingProxyType({}),
        timeline: Timeline = NO_TIMELINE,
    ) -> None:
        self._pairs = pairs
        self._logits = logits
        self._live = live
        self._actions = actions
        self._timeline = timeline
        self._lock = threading.Lock()
        self._known: dict[str, str] = {}
        self._known_files: dict[Path, str] = {}
        self._complete: set[int] = set()
        self._stopped = False

    def of(self, index: int) -> dict[str, str]:
        """By ``role/episode_id``, as `wbgpu.records.suite.Provenance` has them."""
        with self._lock:
            files = self._files(index)
            if index not in self._complete:
                for key, clip in files.items():
                    self._add(key, clip)
                self._add_targets(self._pairs[index].episode_id)
                self._complete.add(index)
            keys = [*files, f"targets/{self._pairs[index].episode_id}"]
            return {key: self._known[key] for key in keys if key in self._known}

    def read(self, indices: Collection[int]) -> None:
        """Read those of some episodes; ends early when it is stopped from another thread."""
        for index in indices:
            if self._stopped:
                return
            self.of(index)

    def read_dataset(self, indices: Collection[int]) -> str | None:
        """As `read`, in the same pass over the ground truth of all episodes.

        Returns:
            The dataset's identifier; ``None`` if some ground truth cannot be read, or it was
            stopped.
        """
        dataset: DatasetDigest | None = DatasetDigest()
        for index, pair in enumerate(self._pairs):
            if self._stopped:
                return None
            with self._lock:
                if not self._add(f"ground_truth/{pair.episode_id}", pair.ground_truth, dataset):
                    dataset = None
            if index in indices:
                self.of(index)
        return None if dataset is None else dataset.identifier()

    def stop(self) -> None:
        """Nobody needs them any more."""
        self._stopped = True

    def sizes(self) -> dict[str, int]:
        """Bytes of every file of every episode, by ``role/episode_id``; -1 where it has none."""
        sizes = {}
        for index in range(len(self._pairs)):
            for key, clip in self._files(index).items():
                sizes[key] = -1
                with suppress(OSError):
                    sizes[key] = _num_bytes(clip)
        return sizes

    def _files(self, index: int) -> dict[str, Clip]:
        pair = self._pairs[index]
        clips = {"ground_truth": pair.ground_truth}
        if self._live is None:
            clips["prediction"] = pair.prediction
        files = {} if pair.signals is None else dict(pair.signals.files)
        if (actions := self._actions.get(pair.episode_id)) is not None:
            files["actions"] = actions
        if (tokens := self._logits.get(pair.episode_id)) is not None:
            files |= {role: path for role, path in tokens.paths.items() if role != "targets"}
        clips |= {role: Clip(path) for role, path in files.items()}
        named = {f"{role}/{pair.episode_id}": clip for role, clip in clips.items()}
        if self._live is not None and self._live.checkpoint is not None:
            named["checkpoint"] = Clip(self._live.checkpoint)
        return named

    def _add(self, key: str, clip: Clip, dataset: DatasetDigest | None = None) -> bool:
        """Whether the file could be read; one that is known is read again only for a dataset."""
        if key in self._known and dataset is None:
            return True
        try:
            with self._timeline.span("digests", num_bytes=_num_bytes(clip)):
                self._known[key] = clip_sha256(
                    clip, key.partition("/")[2], dataset, self._known_files
                )
        except OSError:
            return False
        return True

    def _add_targets(self, episode_id: str) -> None:
        """What the targets say and not their file, in which logits may stand as well."""
        if (tokens := self._logits.get(episode_id)) is not None:
            with suppress(InputError), LogitReader(tokens) as reader:
                self._known[f"targets/{episode_id}"] = reader.targets_sha256()


def _num_bytes(clip: Clip) -> int:
    return sum(path.stat().st_size for path in clip.files)
