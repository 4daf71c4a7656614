"""Saved logits of tokenised videos: which files belong to which episode.

The files lie as the videos do: for the episode ``a/b.mp4`` either ``a/b.safetensors``, which holds
the tensors ``logits [T, tokens, K]`` and ``targets [T, tokens]``, or ``a/b.logits.npy`` and
``a/b.targets.npy``. A reference for the same tokens may stand beside them: ``reference_logits [T,
tokens, K]`` or ``reference_loss_nats [T, tokens]``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from wbgpu.errors import InputError, PairingError

REQUIRED_TENSORS = ("logits", "targets")
REFERENCE_TENSORS = ("reference_logits", "reference_loss_nats")
TENSORS = (*REQUIRED_TENSORS, *REFERENCE_TENSORS)
"""What a file, or a set of files, may hold."""

_MAX_NAMES = 20


@dataclass(frozen=True)
class LogitFiles:
    """The files of one episode: one in safetensors format, or one .npy for each tensor.

    Attributes:
        safetensors: the one file, or ``None``.
        arrays: the .npy files by tensor; empty where there is the one file.
    """

    safetensors: Path | None
    arrays: Mapping[str, Path]

    @property
    def paths(self) -> Mapping[str, Path]:
        """All files, by tensor; the one file as ``logits``."""
        return self.arrays if self.safetensors is None else {"logits": self.safetensors}


def find_logits(root: Path, episode_ids: Iterable[str]) -> dict[str, LogitFiles]:
    """Files of every episode, by its id.

    Raises:
        InputError: the root is missing or not a folder.
        PairingError: an episode has no files, lacks its logits or its targets, or has both formats;
            the message counts and names them.
    """
    if not root.is_dir():
        raise InputError(f"logits folder does not exist or is not a directory: {root}")
    found, wrong = {}, []
    for episode_id in episode_ids:
        stem = str(PurePosixPath(episode_id).with_suffix(""))
        arrays = {name: root / f"{stem}.{name}.npy" for name in TENSORS}
        files = LogitFiles(
            path if (path := root / f"{stem}.safetensors").is_file() else None,
            {name: path for name, path in arrays.items() if path.is_file()},
        )
        found[episode_id] = files
        if fault := _fault(files):
            wrong.append(f"\n  {episode_id}: {fault}")
    if wrong:
        more = len(wrong) - _MAX_NAMES
        raise PairingError(
            f"logits under {root} do not pair up with the videos, {len(wrong)} of {len(found)} "
            f"episodes; expected <episode>.safetensors, or <episode>.logits.npy and "
            f"<episode>.targets.npy{''.join(wrong[:_MAX_NAMES])}"
            + (f"\n  ... and {more} more" if more > 0 else "")
        )
    return found


def _fault(files: LogitFiles) -> str | None:
    if files.safetensors is not None:
        return "both .safetensors and .npy" if files.arrays else None
    missing = [f".{name}.npy" for name in REQUIRED_TENSORS if name not in files.arrays]
    if len(missing) == len(REQUIRED_TENSORS):
        return "no file"
    return f"no {missing[0]}" if missing else None
