"""The journal of a run: each finished episode on disk, so that a run that died can go on.

A file of lines. The first says what is evaluated: the protocol, the configuration, and the size of
every input file. Each other line is one scored episode with the SHA-256 of its inputs. A line is on
the disk (fsync) before the next is begun, and carries a checksum: one that was torn when the
machine died does not count, and its episode is evaluated again. So is one that could not be scored.
There is no file before the first episode is finished.

Rank 0 writes the file itself, every other rank one beside it (``journal.jsonl.1``), because
appending from several machines to one file is not safe on network file systems. Imports no torch.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from wbgpu.errors import JournalError
from wbgpu.evaluation.feature_payload import features_payload, parse_features
from wbgpu.records.distribution_distance import Features
from wbgpu.records.metric import MetricOutcome
from wbgpu.records.suite import EpisodeFailure, EpisodeResult
from wbgpu.records.video import Alignment, VideoInfo

if sys.platform != "win32":  # where nothing keeps two runs from one journal
    import fcntl

JOURNAL_FORMAT = "wbgpu journal 1"
JOURNAL_NAME = "journal.jsonl"
_MAX_DIFFERENCES = 5
# As `wbgpu.cli.artifacts` and Hydra's configuration name them.
_NAMED_BY_TIME = re.compile(r"\d{8}-\d{6}-\d{6}")
_KEY, _SEPARATOR = b'{"sha256": "', b'", "line": '


@dataclass(frozen=True)
class FinishedEpisode:
    """One line.

    Attributes:
        episode: the record.
        input_sha256: of its files, by ``role/episode_id``.
        features: for distances of distributions, which are of all episodes.
    """

    episode: EpisodeResult
    input_sha256: Mapping[str, str]
    features: Features = field(default_factory=dict)


class Journal:
    """The journal of one rank, open for writing; lines are written on a thread of its own.

    Use it in a ``with`` block, whose end waits for the last line.

    Args:
        path: the run's journal.
        header: what is evaluated; plain JSON data.
        rank: of this process. Rank 0 opens first, and the others when it is done.
        resume: keep what is there, if it is of the same evaluation. Rank 0 also takes over the
            files of the other ranks of the run that died; then they are gone.

    Attributes:
        finished: episodes that were there already, by id; of rank 0, else empty.

    Raises:
        JournalError: the file is of another evaluation (the message says what differs), is not a
            journal (then it is left as it is), or another run is writing it.
        OSError: it cannot be written.
    """

    def __init__(
        self, path: Path, header: Mapping[str, Any], *, rank: int = 0, resume: bool = False
    ) -> None:
        self.finished: dict[str, FinishedEpisode] = {}
        self._path = path if rank == 0 else _of_rank(path, rank)
        self._header = header
        self._handle: BinaryIO | None = None
        self._error: Exception | None = None
        others = _other_ranks(path) if rank == 0 else []
        for file in (self._path, *others):
            _refuse_other_files(file)
        if others or self._path.exists():
            handle = self._open()
            try:
                if resume and rank == 0:
                    self._take_over(handle)
                else:
                    handle.truncate(0)
                for other in others:
                    self._absorb(other, handle, resume)
            except BaseException:
                handle.close()
                raise
        self._pool = ThreadPoolExecutor(1, "wbgpu-journal")

    def append(
        self,
        episode: EpisodeResult,
        input_sha256: Callable[[], Mapping[str, str]],
        features: Features | None = None,
    ) -> None:
        """Write a line soon; failures are left out, so that a resumed run tries them again.

        Args:
            episode: the record.
            input_sha256: of its files; called on the journal's thread.
            features: see `FinishedEpisode`.

        Raises:
            OSError: an earlier line could not be written, such as on a full disk.
        """
        if episode.failure is not None:
            return
        if self._error is not None:
            raise self._error
        self._pool.submit(self._append, episode, input_sha256, features or {})

    def _append(
        self,
        episode: EpisodeResult,
        input_sha256: Callable[[], Mapping[str, str]],
        features: Features,
    ) -> None:
        try:
            row = _row(FinishedEpisode(episode, input_sha256(), features))
            # Not before: a run that finishes no episode leaves no file.
            self._write(self._handle or self._open(), row)
        except Exception as error:
            self._error = error

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._pool.shutdown(wait=True)
        if self._handle is not None:
            self._handle.close()
        if exc_type is None and self._error is not None:
            raise self._error

    def _open(self) -> BinaryIO:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        handle = self._path.open("a+b")
        try:
            _lock(handle, self._path)
        except BaseException:
            handle.close()
            raise
        self._handle = handle
        return handle

    def _write(self, handle: BinaryIO, row: Mapping[str, Any]) -> None:
        if handle.seek(0, os.SEEK_END) == 0:
            _write(handle, {"format": JOURNAL_FORMAT, **self._header})
            _sync_folder(self._path.parent)
        _write(handle, row)

    def _take_over(self, handle: BinaryIO) -> None:
        handle.seek(0)
        whole = handle.read().rpartition(b"\n")[0]
        if whole:
            self._add(self._path, whole)
        # The end was torn when the run died; what is appended would join it.
        handle.truncate(len(whole) + 1 if whole else 0)

    def _absorb(self, other: Path, handle: BinaryIO, resume: bool) -> None:
        if resume and (whole := other.read_bytes().rpartition(b"\n")[0]):
            known = set(self.finished)
            self._add(other, whole)
            for episode_id in sorted(set(self.finished) - known):
                self._write(handle, _row(self.finished[episode_id]))
        other.unlink()

    def _add(self, path: Path, data: bytes) -> None:
        first, *lines = data.split(b"\n")
        found = _parsed(first)
        if found is None or found.pop("format", None) != JOURNAL_FORMAT:
            raise JournalError(
                f"{path}: not a journal of this version of wbgpu; name another file, or leave "
                "resume away to start anew (the file is overwritten)"
            )
        differences = list(_differences(found, json.loads(json.dumps(self._header)), ""))
        if differences:
            more = len(differences) - _MAX_DIFFERENCES
            raise JournalError(
                f"{path}: the journal is of another evaluation, so this one cannot go on from it:"
                + "".join(f"\n  {line}" for line in differences[:_MAX_DIFFERENCES])
                + (f"\n  ... and {more} more" if more > 0 else "")
                + "\nGive what it was begun with, or leave resume away to start anew."
            )
        for line in lines:
            row = _parsed(line)
            if row is not None:
                episode = _episode(row["episode"])
                self.finished.setdefault(
                    episode.episode_id,
                    FinishedEpisode(
                        episode, row["input_sha256"], parse_features(row.get("features", {}))
                    ),
                )


def journal_in(folder: Path, *, resume: bool) -> Path:
    """The journal of a run whose files go to ``folder``.

    To resume, and where folders are named by time, it is the one that the newest run beside it has
    left. A run that came to its end has left none, and one that still goes on is passed over.
    """
    own = folder / JOURNAL_NAME
    if not resume or own.exists() or not _NAMED_BY_TIME.fullmatch(folder.name):
        return own
    left = sorted(
        path
        for path in folder.parent.glob(f"*/{JOURNAL_NAME}")
        if _NAMED_BY_TIME.fullmatch(path.parent.name) and not _is_in_use(path)
    )
    return left[-1] if left else own


def remove_journal(path: Path) -> None:
    """Delete a journal whose result is saved, and the folder that has nothing else."""
    for file in (path, *_other_ranks(path)):
        file.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        path.parent.rmdir()


def _is_in_use(path: Path) -> bool:
    try:
        with path.open("rb") as handle:
            _lock(handle, path)
    except (JournalError, OSError):
        return True
    return False


def _of_rank(path: Path, rank: int) -> Path:
    return path.with_name(f"{path.name}.{rank}")


def _other_ranks(path: Path) -> list[Path]:
    files = path.parent.iterdir() if path.parent.is_dir() else ()
    prefix = f"{path.name}."
    return sorted(
        file
        for file in files
        if file.name.startswith(prefix) and file.name[len(prefix) :].isdecimal()
    )


def _refuse_other_files(path: Path) -> None:
    """A journal begins anew by emptying what is there, which must not be something else."""
    if path.is_file():
        with path.open("rb") as file:
            head = file.read(len(_KEY))
        if not _KEY.startswith(head):
            raise JournalError(
                f"{path}: there is a file that is no journal of wbgpu, and it would be lost; name "
                "another one"
            )


def _lock(handle: BinaryIO, path: Path) -> None:
    """For as long as the file is open; the system frees it when the process dies."""
    if sys.platform != "win32":
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JournalError(
                f"{path}: another run is writing this journal; wait for it, or name another file"
            ) from None
        except OSError:
            pass  # some network file systems have no locks


def _row(finished: FinishedEpisode) -> dict[str, Any]:
    row = {"episode": finished.episode, "input_sha256": finished.input_sha256}
    return row | ({"features": features_payload(finished.features)} if finished.features else {})


def _write(handle: BinaryIO, document: Mapping[str, Any]) -> None:
    # As Python has them, NaN included: a journal must not change what a run would have written.
    text = json.dumps(document, default=vars).encode()
    handle.write(_line(text) + b"\n")
    handle.flush()
    os.fsync(handle.fileno())


def _parsed(line: bytes) -> dict[str, Any] | None:
    """What was written; ``None`` where the line is not as it was written."""
    text = line[len(_KEY) + 64 + len(_SEPARATOR) : -1]
    if line != _line(text):
        return None
    document: dict[str, Any] = json.loads(text)
    return document


def _line(text: bytes) -> bytes:
    return _KEY + hashlib.sha256(text).hexdigest().encode() + _SEPARATOR + text + b"}"


def _sync_folder(folder: Path) -> None:
    """The file's name is durable only when its folder is; Windows knows no such thing."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _differences(then: Any, now: Any, path: str) -> Iterator[str]:
    if isinstance(then, dict) and isinstance(now, dict):
        for key in {**then, **now}:
            name = f"{path}.{key}" if path else key
            yield from _differences(then.get(key, "absent"), now.get(key, "absent"), name)
    elif then != now:
        yield f"{path}: {_short(then)} in the journal, {_short(now)} now"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 100 else f"{text[:97]}..."


def _episode(document: dict[str, Any]) -> EpisodeResult:
    failure, alignment = document.pop("failure"), document.pop("alignment")
    metrics = document.pop("metrics")
    return EpisodeResult(
        **_tuples(document),
        metrics={name: MetricOutcome(**_tuples(outcome)) for name, outcome in metrics.items()},
        alignment=None if alignment is None else _alignment(alignment),
        failure=None if failure is None else EpisodeFailure(**failure),
    )


def _alignment(document: dict[str, Any]) -> Alignment:
    target, prediction = (
        VideoInfo(**_tuples(document.pop(role))) for role in ("target", "prediction")
    )
    return Alignment(target=target, prediction=prediction, **_tuples(document))


def _tuples(value: Any) -> Any:
    """JSON has lists where our records have tuples."""
    if isinstance(value, list):
        return tuple(map(_tuples, value))
    if isinstance(value, dict):
        return {key: _tuples(item) for key, item in value.items()}
    return value
