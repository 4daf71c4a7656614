"""Where commands put their files: a folder per run, and ``latest`` beside it."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path

from wbgpu.errors import ConfigurationError, ResultFileError
from wbgpu.records.bench_answer import is_bench_answer
from wbgpu.records.strict_json import read_json, write_text

_REPORT_HEADINGS = (b"# Evaluation of ", b"# Regret of ", b"# Gate: ")
_START_BYTES = 2000
_PAGE_MARK = b'<meta name="generator" content="wbgpu '


def new_run_folder(root: Path) -> Path:
    """A path for this run below ``root``, named by local time; nothing is created yet."""
    return root / datetime.now().strftime("%Y%m%d-%H%M%S-%f")


def save(folder: Path, files: Mapping[str, str]) -> dict[str, Path]:
    """Write each text below ``folder`` atomically; returns the paths by name."""
    return {name: write_text(folder / name, text) for name, text in files.items()}


def artifact_names(episode_ids: Iterable[str]) -> dict[str, str]:
    """A file name for each episode id: worldbench's where it is unique, else with a digest.

    ``a b.mp4``, ``a/b.mp4`` and ``a_b.mp4`` would otherwise overwrite each other.
    """
    ids = list(episode_ids)
    plain = {episode_id: _plain_name(episode_id) for episode_id in ids}
    taken = Counter(name.casefold() for name in plain.values())
    return {
        episode_id: name
        if taken[name.casefold()] == 1
        else f"{name}-{hashlib.sha256(episode_id.encode()).hexdigest()[:8]}"
        for episode_id, name in plain.items()
    }


def check_folder(path: Path, flag: str) -> None:
    """Refuse an output folder that cannot be written, before the work is done.

    Raises:
        ConfigurationError: the path is a file, or is not writable.
    """
    existing = path
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    if not existing.is_dir():
        raise ConfigurationError(f"{flag}: {existing} exists and is not a directory")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise ConfigurationError(f"{flag}: no permission to write in {existing}")


def check_file(path: Path, flag: str) -> None:
    """Refuse an output file that cannot or should not be written, before the work is done.

    Raises:
        ConfigurationError: the path is a folder, its folder is not writable, or a file is there
            that is no result (such as a video).
    """
    if path.is_dir():
        raise ConfigurationError(f"{flag}: expected a file name, {path} is a directory")
    check_folder(path.absolute().parent, flag)
    if path.is_file() and path.stat().st_size and not _is_result(path):
        raise ConfigurationError(
            f"{flag}: {path} exists and is not a result, so it is not overwritten; "
            "choose another name or remove it"
        )


def check_report(path: Path, flag: str) -> None:
    """Refuse a report's file that cannot or should not be written, before the work is done.

    Raises:
        ConfigurationError: no file of Markdown or HTML, its folder is not writable, or what is
            there was not written by ``wbgpu report``.
    """
    check_folder(path.absolute().parent, flag)
    if path.is_dir() or path.suffix == ".json":
        raise ConfigurationError(f"{flag}: expected a .md or .html file, got {path}")
    if path.is_file() and path.stat().st_size and not _is_report(path):
        raise ConfigurationError(
            f"{flag}: {path} exists and is not a report of wbgpu, so it is not overwritten; "
            "choose another name or remove it"
        )


def default_output(checkpoint_name: str) -> Path:
    """``<checkpoint name>.json``, as worldbench names it, in the current folder.

    Raises:
        ConfigurationError: the name is not a plain file name.
    """
    if checkpoint_name != Path(checkpoint_name).name or checkpoint_name in ("", ".", ".."):
        raise ConfigurationError(
            f"--name: {checkpoint_name!r} also names a file and must not hold a path; "
            "say where the result goes with --output"
        )
    return Path(f"{checkpoint_name}.json")


def _is_result(path: Path) -> bool:
    try:
        document = read_json(path)
    except ResultFileError:
        return False
    return is_bench_answer(document) or (isinstance(document, dict) and "result_type" in document)


def _is_report(path: Path) -> bool:
    with path.open("rb") as file:
        start = file.read(_START_BYTES)
    return start.startswith(_REPORT_HEADINGS) or _PAGE_MARK in start


def _plain_name(episode_id: str) -> str:
    kept = "".join(c if c.isalnum() or c in "-_." else "_" for c in episode_id)
    return kept.strip("._") or "episode"
