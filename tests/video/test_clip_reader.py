from __future__ import annotations

from pathlib import Path

import pytest
import torch

from wbgpu.errors import VideoError
from wbgpu.records.clip import Clip
from wbgpu.video.clip_reader import open_clip
from wbgpu.video.encode import write_video
from wbgpu.video.pyav import PyavDecoder


@pytest.fixture
def video(tmp_path: Path) -> tuple[Path, torch.Tensor]:
    frames = torch.randint(
        0, 256, (9, 3, 20, 30), dtype=torch.uint8, generator=torch.Generator().manual_seed(0)
    )
    write_video(tmp_path / "all.mp4", frames, 5, lossless=True)
    return tmp_path / "all.mp4", frames


def test_frames_and_region_are_those_of_the_whole_video(video: tuple[Path, torch.Tensor]) -> None:
    """Episodes that share a file, or a picture, would otherwise be scored on their neighbours."""
    path, frames = video
    clip = Clip(path, frames=(3, 8), region=(10, 4, 12, 15))
    with open_clip(clip, PyavDecoder()) as reader:
        info = reader.info
        assert (info.num_frames, info.height, info.width) == (5, 15, 12)
        assert Clip.of(info) == Clip(path, frames=(3, 8), region=(10, 4, 12, 15), fps=5.0)
        whole = reader.read(0, 5)
        assert torch.equal(whole, frames[3:8, :, 4:19, 10:22])
        assert whole.is_contiguous(memory_format=torch.channels_last)
        assert torch.equal(reader.read(2, 4), whole[2:4])
        with pytest.raises(ValueError, match="frames 2 to 6"):
            reader.read(2, 6)


def test_a_whole_clip_is_the_decoders_own_reader(video: tuple[Path, torch.Tensor]) -> None:
    with open_clip(Clip(video[0]), PyavDecoder()) as reader, PyavDecoder().open(video[0]) as own:
        assert type(reader) is type(own)
        assert reader.info == own.info


@pytest.mark.parametrize(
    ("clip", "message"),
    [
        ({"frames": (3, 10)}, r"frames 3 to 10 are wanted, but it has 9"),
        ({"frames": (3, 3)}, r"frames 3 to 3"),
        ({"region": (20, 0, 12, 20)}, r"12x20 at \(20, 0\) is wanted, but its frames are 30x20"),
        ({"region": (-1, 0, 12, 20)}, r"at \(-1, 0\)"),
    ],
)
def test_a_part_that_is_not_there_is_an_error_that_names_the_file(
    video: tuple[Path, torch.Tensor], clip: dict, message: str
) -> None:
    with pytest.raises(VideoError, match=rf"all\.mp4: .*{message}"):
        open_clip(Clip(video[0], **clip), PyavDecoder())
