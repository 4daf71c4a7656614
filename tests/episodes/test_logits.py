"""Which files of saved logits belong to which episode."""

from __future__ import annotations

from pathlib import Path

import pytest

from wbgpu.episodes.logits import find_logits
from wbgpu.errors import InputError, PairingError


def make(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    return root


def test_files_lie_as_the_videos_do(tmp_path):
    """Logits of another episode would be scored as this one's."""
    root = make(
        tmp_path, "a/b.safetensors", "c.logits.npy", "c.targets.npy", "c.reference_loss_nats.npy"
    )
    found = find_logits(root, ["a/b.mp4", "c.webm"])
    assert found["a/b.mp4"].paths == {"logits": root / "a/b.safetensors"}
    assert found["c.webm"].paths == {
        name: root / f"c.{name}.npy" for name in ("logits", "targets", "reference_loss_nats")
    }


def test_every_fault_is_named_in_one_message(tmp_path):
    """An episode without logits, left out, would make the mean one over fewer episodes."""
    root = make(
        tmp_path, "a.logits.npy", "b.targets.npy", "c.safetensors", "c.logits.npy", "d.safetensors"
    )
    with pytest.raises(PairingError) as error:
        find_logits(root, [f"{name}.mp4" for name in "abcde"])
    text = str(error.value)
    assert "4 of 5 episodes" in text
    for line in (
        "a.mp4: no .targets.npy",
        "b.mp4: no .logits.npy",
        "c.mp4: both .safetensors and .npy",
        "e.mp4: no file",
    ):
        assert f"\n  {line}" in text
    with pytest.raises(PairingError, match=r"and 10 more$"):
        find_logits(root, [f"{i}.mp4" for i in range(30)])


def test_a_folder_that_is_not_there_is_named(tmp_path):
    """A mistyped path must not read as thirty missing files."""
    with pytest.raises(InputError, match="nowhere"):
        find_logits(tmp_path / "nowhere", [])
