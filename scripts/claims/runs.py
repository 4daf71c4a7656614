"""Suites, commands and digests for verify_claims.py."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NUM_CONTEXT = 4
Finding = dict[str, Any]


@dataclass(frozen=True)
class Suite:
    """A folder with ``gt`` and a folder for each of ``checkpoints``; commands are run in it."""

    folder: Path
    checkpoints: tuple[str, ...]
    name: str

    @property
    def videos(self) -> list[Path]:
        return sorted((self.folder / "gt").iterdir())

    def eval_arguments(self, checkpoint: str) -> list[str]:
        paths = ["suite.ground_truth=gt", f"suite.predictions={checkpoint}"]
        return ["eval", *paths, f"suite.num_context={NUM_CONTEXT}", "output=result.json"]


def make_suite(source: Path | None, folder: Path) -> Suite:
    """A copy, in which commands can write."""
    if source is None:
        wbgpu_command(["demo", "."], folder)
        shutil.rmtree(folder / "results")
    else:
        shutil.copytree(source, folder, dirs_exist_ok=True, copy_function=shutil.copyfile)
        for path in (folder, *folder.iterdir()):
            path.chmod(0o755)
    found = {p.name for p in folder.iterdir() if p.is_dir() and p.name[0] != "."} - {"gt"}
    num_episodes = len(list((folder / "gt").iterdir()))
    name = source.name if source else "episodes of `wbgpu demo`"
    return Suite(folder, tuple(sorted(found)), f"{name}, {num_episodes} episodes")


def same(digests: Mapping[str, str], what: str) -> Finding:
    holds = len(set(digests.values())) == 1
    return {
        "holds": holds,
        "measured": f"{what} {'are equal' if holds else 'DIFFER'}: {', '.join(digests)}",
        "figures": {"sha256": dict(digests)},
    }


def without_time_and_command(path: Path) -> str:
    """A result's text with the time, the command line and the digest that seals both left out."""
    text = path.read_text("utf-8")
    document = json.loads(text)
    ours = document["wbgpu"]
    varying = (document["created_at"], ours["provenance"]["command"], ours["settings_sha256"])
    for value in varying:
        quoted = json.dumps(value)
        assert quoted in text, quoted
        text = text.replace(quoted, '""')
    return text


def sha256(content: str | bytes) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def pairs(names: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(one, other) for one in names for other in names if one != other]


def load(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return document


def wbgpu_words(arguments: list[str]) -> list[str]:
    return [sys.executable, "-m", "wbgpu", *arguments]


def wbgpu_command(
    arguments: list[str], folder: Path, codes: tuple[int, ...] = (0,)
) -> subprocess.CompletedProcess[str]:
    return run(wbgpu_words(arguments), folder, codes)


def run(
    words: list[str],
    folder: Path,
    codes: tuple[int, ...] = (0,),
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """A command in a folder; another exit code ends everything."""
    ended = subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode not in codes:
        raise SystemExit(f"{words} exits with {ended.returncode}:\n{ended.stdout}{ended.stderr}")
    return ended


def timed(words: list[str], folder: Path, environment: Mapping[str, str] | None = None) -> float:
    begin = time.perf_counter()
    run(words, folder, environment=environment)
    return time.perf_counter() - begin
