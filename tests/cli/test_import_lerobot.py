from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from tests.episodes.lerobot.datasets import FRONT, write_dataset
from wbgpu import sdk
from wbgpu.cli.main import run
from wbgpu.episodes.digests import file_sha256
from wbgpu.errors import ConfigurationError, InputError
from wbgpu.verification.verify import verify


def images(folder: Path) -> torch.Tensor:
    """Frames of an imported episode, by name."""
    files = sorted((folder / "frames").iterdir())
    assert [file.name for file in files] == [f"{i:06d}.png" for i in range(len(files))]
    arrays = [np.asarray(Image.open(file).convert("RGB")) for file in files]
    return torch.from_numpy(np.stack(arrays)).permute(0, 3, 1, 2)


def records(folder: Path, name: str) -> list[dict]:
    return json.loads((folder / f"{name}.json").read_text())


@pytest.mark.parametrize("version", ["v2.1", "v3.0"])
def test_frames_and_records_are_those_of_the_dataset(tmp_path, capsys, version):
    """Lossless, in worldbench's layout, in the order that was asked for."""
    written = write_dataset(tmp_path / "ds", version)
    out = tmp_path / "out"
    command = ["import-lerobot", str(tmp_path / "ds"), "--out", str(out), "--episodes", "1:3"]
    assert run(command) == 0
    assert (
        capsys.readouterr().out == f"Imported dataset: {out} (2 episodes, 10 frames of {FRONT})\n"
    )
    assert sorted(p.name for p in out.iterdir()) == ["episode_000001", "episode_000002"]
    for index in (1, 2):
        folder = out / f"episode_{index:06d}"
        assert torch.equal(images(folder), written.frames[index])
        actions, states = records(folder, "actions"), records(folder, "states")
        assert [entry["action"] for entry in actions] == written.actions[index].tolist()
        assert [entry["observation_state"] for entry in states] == written.states[index].tolist()
        metadata = json.loads((folder / "metadata.json").read_text())
        assert metadata["robot"] == "so100"
        assert metadata["exported_timesteps"] == len(actions)
        assert metadata["action_names"] == ["x", "y"]
        for name, digest in metadata["source_sha256"].items():
            assert file_sha256(tmp_path / "ds" / name) == digest
        assert len(metadata["source_sha256"]) == 2


def test_the_control_timeline_repeats_frames(tmp_path):
    """One frame for each row; a frame too few would shift all that follow."""
    written = write_dataset(tmp_path / "ds", rows_per_frame=3)
    imported = sdk.import_lerobot(tmp_path / "ds", tmp_path / "out", timeline="control")
    assert (imported.num_episodes, imported.num_frames) == (3, 45)
    for index, (frames, actions) in enumerate(zip(written.frames, written.actions, strict=True)):
        folder = tmp_path / f"out/episode_{index:06d}"
        entries = records(folder, "actions")
        shown = [entry["source_video_frame_index"] for entry in entries]
        # Nearest: the last third of a frame's rows is nearer to the next frame.
        last = len(frames) - 1
        assert shown == [min((row + 1) // 3, last) for row in range(len(actions))]
        assert torch.equal(images(folder), frames[shown])
        assert [entry["action"] for entry in entries] == actions.tolist()
        metadata = json.loads((folder / "metadata.json").read_text())
        assert metadata["alignment_strategy"]["action"] == "source_control_row"


def test_nothing_is_left_of_an_import_that_failed(tmp_path, capsys):
    """Half a dataset would be taken for a whole one."""
    write_dataset(tmp_path / "ds", "v2.1")
    (tmp_path / f"ds/videos/chunk-001/{FRONT}/episode_000002.mp4").unlink()
    assert run(["import-lerobot", str(tmp_path / "ds"), "--out", str(tmp_path / "out")]) == 2
    assert "episode_000002.mp4: does not exist" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["ds"]


def test_arguments_that_make_no_sense(tmp_path):
    """Each is refused before anything is read or written."""
    write_dataset(tmp_path / "ds", has_actions=False)
    out = tmp_path / "out"
    with pytest.raises(InputError, match=r"info\.json: \$\.features: there is no 'action'"):
        sdk.import_lerobot(tmp_path / "ds", out)
    with pytest.raises(ConfigurationError, match="exists already"):
        sdk.import_lerobot(tmp_path / "ds", tmp_path)
    with pytest.raises(ConfigurationError, match="folder, or the repo id"):
        sdk.import_lerobot(None, out)
    with pytest.raises(ConfigurationError, match="folder, or the repo id"):
        sdk.import_lerobot(tmp_path / "ds", out, repo_id="a/b")
    with pytest.raises(ConfigurationError, match="revision"):
        sdk.import_lerobot(tmp_path / "ds", out, revision="main")
    with pytest.raises(ConfigurationError, match="timeline: expected one of"):
        sdk.import_lerobot(tmp_path / "ds", out, timeline="both")
    assert not out.exists()


def test_a_folder_that_is_no_dataset(tmp_path, capsys):
    """Such as one of frames: the message says what is missing."""
    (tmp_path / "images").mkdir()
    assert run(["import-lerobot", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    assert "no LeRobot dataset, meta/info.json is missing" in capsys.readouterr().err


def test_from_the_hub_only_what_is_needed_is_fetched(tmp_path, monkeypatch):
    """Datasets have hundreds of gigabytes; and both fetches must be of one commit."""
    write_dataset(tmp_path / "ds", "v2.1", cameras=(FRONT, "observation.images.wrist"))
    commit = tmp_path / "hub/0123abc"
    fetched = []

    def snapshot_download(repo_id, *, repo_type, revision, allow_patterns):
        assert (repo_id, repo_type) == ("someone/ds", "dataset")
        fetched.append((revision, allow_patterns))
        for pattern in allow_patterns:
            for file in (tmp_path / "ds").glob("meta/*" if pattern == "meta/**" else pattern):
                target = commit / file.relative_to(tmp_path / "ds")
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, target)
        return str(commit)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
    sdk.import_lerobot(
        None, tmp_path / "out", repo_id="someone/ds", revision="v2.1", episodes=[1], camera=FRONT
    )
    name = "chunk-000/episode_000001"
    video = f"videos/chunk-000/{FRONT}/episode_000001.mp4"
    assert fetched == [
        ("v2.1", ["meta/**"]),
        ("0123abc", [f"data/{name}.parquet", video]),
    ]
    metadata = json.loads((tmp_path / "out/episode_000001/metadata.json").read_text())
    assert (metadata["repo_id"], metadata["revision"]) == ("someone/ds", "0123abc")


def test_without_a_network_it_is_said(tmp_path, monkeypatch, capsys):
    """Not a traceback of a library's."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    arguments = ["--repo-id", "someone/nothing", "--out", str(tmp_path / "out")]
    assert run(["import-lerobot", *arguments]) == 2
    message = capsys.readouterr().err
    assert "'someone/nothing' cannot be fetched from the Hugging Face Hub" in message
    assert "copy the dataset here" in message
    arguments[1] = "no repo"
    assert run(["import-lerobot", *arguments]) == 2
    assert "--repo-id: " in capsys.readouterr().err


def test_in_place_as_imported(tmp_path):
    """Scored in place, an episode has the numbers that its own video would have."""
    from wbgpu.video.encode import write_video

    written = write_dataset(tmp_path / "ds")
    generator = torch.Generator().manual_seed(1)
    for index, frames in enumerate(written.frames):
        noise = torch.randint(0, 256, frames.shape, dtype=torch.uint8, generator=generator)
        name = f"episode_{index:06d}.mp4"
        write_video(tmp_path / "pred" / name, torch.cat((frames[:1], noise[1:])), 5, lossless=True)
        write_video(tmp_path / "gt" / name, frames, 5, lossless=True)
    in_place = sdk.evaluate(
        tmp_path / "ds", tmp_path / "pred", num_context=1, overrides=["suite=lerobot"]
    )
    videos = sdk.evaluate(tmp_path / "gt", tmp_path / "pred", num_context=1)
    assert len(in_place.episodes) == 3
    for ours, other in zip(in_place.episodes, videos.episodes, strict=True):
        assert ours.failure is None
        for name in ("psnr", "mse", "dynamic_ssim", "visual_similarity", "temporal_fidelity"):
            assert ours.metrics[name].prefix == other.metrics[name].prefix
    path = sdk.save_result(in_place, tmp_path / "result.json")
    checked = verify(path, num_recomputed=2)
    assert checked.status == "VERIFIED", [c for c in checked.checks if c.status != "verified"]
    (tmp_path / "ds/videos" / FRONT / "chunk-000/file-000.mp4").write_bytes(b"")
    assert verify(path).status == "FAILED"


class ActionSum:
    """Predicts frames as bright as its actions say."""

    def predict(self, context_frames, actions, num_frames):
        from wbgpu.models import Prediction

        brightness = (actions[:, -num_frames:].sum(-1) * 10 + 100).clamp(0, 255).to(torch.uint8)
        shape = (*brightness.shape, *context_frames.shape[2:])
        return Prediction(brightness[:, :, None, None, None].expand(shape).clone())


def test_a_live_model_is_given_the_datasets_actions(tmp_path):
    """Not those of another episode, and row i between frames i and i + 1."""
    from wbgpu.video.encode import write_video

    written = write_dataset(tmp_path / "ds")
    live = sdk.evaluate(
        tmp_path / "ds", model=ActionSum(), num_context=2, overrides=["suite=lerobot"]
    )
    for index, (frames, actions) in enumerate(zip(written.frames, written.actions, strict=True)):
        expected = frames.clone()
        for step in range(2, len(frames)):
            brightness = torch.from_numpy(actions[step - 1]).sum() * 10 + 100
            expected[step] = brightness.clamp(0, 255).to(torch.uint8)
        write_video(tmp_path / f"pred/episode_{index:06d}.mp4", expected, 5, lossless=True)
    saved = sdk.evaluate(
        tmp_path / "ds", tmp_path / "pred", num_context=2, overrides=["suite=lerobot"]
    )
    for ours, other in zip(live.episodes, saved.episodes, strict=True):
        assert ours.metrics["mse"].prefix == other.metrics["mse"].prefix


def test_predictions_lie_outside_a_lerobot_dataset(tmp_path):
    """And a choice of episodes needs predictions of just those."""
    write_dataset(tmp_path / "ds")
    from wbgpu.episodes.lerobot.layout import LeRobotLayout

    with pytest.raises(ConfigurationError, match="a LeRobot dataset holds none"):
        LeRobotLayout().pairs(tmp_path / "ds", None)
