from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wbgpu.episodes.actions import find_actions, read_actions
from wbgpu.errors import InputError, PairingError


def test_files_lie_as_the_videos_do(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    np.save(tmp_path / "a/b.npy", np.zeros((3, 2)))
    np.savez(tmp_path / "c.npz", np.zeros((3, 2)))
    found = find_actions(tmp_path, ["a/b.mp4", "c.mkv"])
    assert found == {"a/b.mp4": tmp_path / "a/b.npy", "c.mkv": tmp_path / "c.npz"}
    assert find_actions(tmp_path / "c.npz", ["x.mp4"]) == {"x.mp4": tmp_path / "c.npz"}


def test_missing_and_double_files_are_counted_and_named(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((3, 2)))
    np.savez(tmp_path / "a.npz", np.zeros((3, 2)))
    with pytest.raises(PairingError, match=r"2 of 2 episodes(.|\n)*a\.mp4: both(.|\n)*b\.mp4: no"):
        find_actions(tmp_path, ["a.mp4", "b.mp4"])
    with pytest.raises(InputError, match=r"suite\.actions: the folder does not exist"):
        find_actions(tmp_path / "nowhere", ["a.mp4"])


def test_numbers_become_float32(tmp_path: Path) -> None:
    rows = np.arange(6).reshape(3, 2)
    np.save(tmp_path / "a.npy", rows)
    np.savez(tmp_path / "b.npz", actions=rows.astype(np.float64), states=np.zeros(7))
    for name in ("a.npy", "b.npz"):
        actions = read_actions(tmp_path / name)
        assert actions.dtype == np.float32
        assert np.array_equal(actions, rows)


def test_the_bridge_actions_are_read(shared: Path) -> None:
    actions = read_actions(shared / "data/bridge/000000000.npz")
    assert actions.shape[1] == 10


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.zeros(3), r"expected actions \[N, A\]"),
        (np.zeros((0, 2)), r"expected actions \[N, A\]"),
        (np.array([["a", "b"]]), r"expected actions \[N, A\]"),
        (np.array([[True, False]]), r"expected actions \[N, A\]"),
        (np.array([[0, 1], [2, np.nan]]), r"actions\[1, 1\] is nan"),
        (np.array([[1e300]]), r"actions\[0, 0\] is inf"),
        (np.array([[{}]], dtype=object), "cannot be read"),
    ],
)
def test_what_is_no_action_is_refused(rows: np.ndarray, message: str, tmp_path: Path) -> None:
    """worldbench gives NaN in actions a perfect score."""
    path = tmp_path / "a.npy"
    np.save(path, rows, allow_pickle=True)
    with pytest.raises(InputError, match=message):
        read_actions(path)


def test_archives_without_a_choice_and_broken_ones_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, states=np.zeros((2, 2)), poses=np.zeros((2, 2)))
    with pytest.raises(InputError, match="expected one array, or one that is called 'actions'"):
        read_actions(path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(InputError, match=r"a\.npz: the actions cannot be read"):
        read_actions(path)
    path.write_bytes(b"")
    with pytest.raises(InputError, match=r"a\.npz: the actions cannot be read"):
        read_actions(path)
