"""Saved actions of episodes: which file belongs to which, and what it holds.

The files lie as the videos do: for the episode ``a/b.mp4`` either ``a/b.npy`` or ``a/b.npz``, which
holds ``[N, A]`` numbers. Row i is what was done between frame i and frame i + 1. A ``.npz`` with
several arrays has one that is called ``actions``.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import numpy as np
import numpy.typing as npt

from wbgpu.errors import InputError, PairingError

ACTION_EXTENSIONS = (".npy", ".npz")

_ARRAY_NAME = "actions"
_MAX_NAMES = 20


def find_actions(root: Path, episode_ids: Iterable[str]) -> dict[str, Path]:
    """The file of every episode, by its id; ``root`` is a folder, or the one episode's file.

    Raises:
        InputError: the root is missing.
        PairingError: an episode has no file, or two; the message counts and names them.
    """
    ids = list(episode_ids)
    if root.is_file() and len(ids) == 1:
        return {ids[0]: root}
    if not root.is_dir():
        raise InputError(f"suite.actions: the folder does not exist or is none: {root}")
    found, wrong = {}, []
    for episode_id in ids:
        stem = str(PurePosixPath(episode_id).with_suffix(""))
        paths = [p for ending in ACTION_EXTENSIONS if (p := root / f"{stem}{ending}").is_file()]
        if len(paths) == 1:
            found[episode_id] = paths[0]
        else:
            wrong.append(f"\n  {episode_id}: {'both .npy and .npz' if paths else 'no file'}")
    if wrong:
        more = len(wrong) - _MAX_NAMES
        raise PairingError(
            f"actions under {root} do not pair up with the videos, {len(wrong)} of {len(ids)} "
            f"episodes; expected <episode>.npy or <episode>.npz{''.join(wrong[:_MAX_NAMES])}"
            + (f"\n  ... and {more} more" if more > 0 else "")
        )
    return found


def read_actions(path: Path) -> npt.NDArray[np.float32]:
    """The actions of one episode, ``[N, A]``.

    Raises:
        InputError: cannot be read, or not such an array of finite numbers; the message names the
            file.
    """
    try:
        # Opened here: NumPy leaves a file open that it cannot read.
        with path.open("rb") as file:
            content = np.load(file, allow_pickle=False)
            if isinstance(content, np.ndarray):
                actions = content
            else:
                with content as arrays:
                    actions = arrays[_chosen(path, arrays.files)]
    except (OSError, EOFError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: the actions cannot be read ({error})") from error
    if actions.dtype.kind not in "fiu" or actions.ndim != 2 or 0 in actions.shape:
        raise InputError(
            f"{path}: expected actions [N, A], numbers, got {actions.dtype} {[*actions.shape]}"
        )
    with np.errstate(over="ignore"):
        actions = actions.astype(np.float32)
    if not np.isfinite(actions).all():
        row, column = np.argwhere(~np.isfinite(actions))[0].tolist()
        raise InputError(
            f"{path}: actions[{row}, {column}] is {actions[row, column]}; expected finite float32"
        )
    return actions


def _chosen(path: Path, names: list[str]) -> str:
    if _ARRAY_NAME in names:
        return _ARRAY_NAME
    if len(names) == 1:
        return names[0]
    raise InputError(
        f"{path}: expected one array, or one that is called {_ARRAY_NAME!r}, got "
        f"{', '.join(map(repr, names)) or 'none'}"
    )
