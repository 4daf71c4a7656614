"""Which results and verdicts a folder holds."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

import orjson

from wbgpu.errors import WbgpuError
from wbgpu.records.worldbench.headline import Headline, headline
from wbgpu.sdk.results import load_result

_PASSED_OVER = {"latest", "episodes"}
"""Folders of copies, and of single episodes of a batch."""

_CHECK_SECONDS = 0.3
"""Spent on reading results strictly whenever the list is asked for."""


@dataclass(frozen=True)
class Run:
    """One result or verdict.

    Attributes:
        path: below the folder, POSIX.
        headline: what the file says of itself.
        modified: of the file, nanoseconds.
        refusal: why a result cannot be used, such as that it contradicts itself; empty where it
            can, and where it has not been read strictly yet.
    """

    path: str
    headline: Headline
    modified: int
    refusal: str = ""

    @property
    def made_at(self) -> float:
        """Seconds since 1970: what the file says, or else when it was written."""
        text = self.headline.created_at.replace("Z", "+00:00")
        try:
            made = datetime.fromisoformat(text)
            return (made if made.tzinfo else made.replace(tzinfo=timezone.utc)).timestamp()
        except (ValueError, OverflowError):
            return self.modified / 1e9

    @property
    def is_result(self) -> bool:
        """Whether it can be reported and compared."""
        return self.headline.kind != "gate"


class RunFolder:
    """A folder that is looked through again and again; unchanged files are read once."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self._lock = threading.Lock()
        self._known: dict[Path, tuple[tuple[int, int], Run | None]] = {}
        self._checked: dict[Run, str] = {}

    @property
    def folder(self) -> Path:
        """What paths of runs are below of."""
        return self.target if self.target.is_dir() else self.target.parent

    def runs(self) -> list[Run]:
        """Everything that is there now, what was made last first."""
        with self._lock:
            found = {path: self._run(path) for path in sorted(self._files())}
            self._known = {path: item for path, item in self._known.items() if path in found}
            runs = [run for run in found.values() if run is not None]
            runs.sort(key=lambda run: (-run.made_at, -run.modified, run.path))
            self._check(runs)
            return [replace(run, refusal=self._checked.get(run, "")) for run in runs]

    def _check(self, runs: Sequence[Run]) -> None:
        """Read results strictly, the newest first, and as many as a short time allows.

        The list is asked for again every two seconds, and the rest comes then.
        """
        present = set(runs)
        self._checked = {run: text for run, text in self._checked.items() if run in present}
        until = time.monotonic() + _CHECK_SECONDS
        for run in runs:
            if time.monotonic() >= until:
                return
            if run.is_result and run not in self._checked:
                try:
                    load_result(self.file(run))
                    self._checked[run] = ""
                except (WbgpuError, OSError) as error:
                    self._checked[run] = str(error)

    def find(self, path: str) -> Run | None:
        """The run of that path, if it is one of them."""
        return next((run for run in self.runs() if run.path == path), None)

    def file(self, run: Run) -> Path:
        """Where a run is."""
        return self.folder / run.path

    def _files(self) -> Iterator[Path]:
        if self.target.is_file():
            yield self.target
            return
        waiting = [self.target]
        while waiting:
            folder = waiting.pop()
            try:
                entries = list(folder.iterdir())
            except OSError:
                continue
            for entry in entries:
                if entry.is_dir():
                    if entry.name not in _PASSED_OVER and not entry.is_symlink():
                        waiting.append(entry)
                elif entry.suffix == ".json" and entry.is_file() and _is_text(entry):
                    yield entry

    def _run(self, path: Path) -> Run | None:
        try:
            status = path.stat()
        except OSError:
            return None
        state = (status.st_mtime_ns, status.st_size)
        known = self._known.get(path)
        if known is None or known[0] != state:
            relative = path.relative_to(self.folder).as_posix()
            self._known[path] = (state, _read(path, relative, state[0]))
        return self._known[path][1]


def _is_text(path: Path) -> bool:
    """Whether a link can name it: a path that is not UTF-8 has no text, and no URL."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def _read(path: Path, relative: str, modified: int) -> Run | None:
    """``None`` for files of another kind and for half-written ones."""
    try:
        # Four times as fast as reading strictly, which is done before anything is reported.
        found = headline(orjson.loads(path.read_bytes()))
    except (orjson.JSONDecodeError, OSError):
        return None
    return None if found is None else Run(relative, found, modified)
