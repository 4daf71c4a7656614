from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
import torch

from tests.video.awkward_files import encode, pictures
from wbgpu.errors import VideoError
from wbgpu.records.clip import Clip
from wbgpu.records.declared import Declared
from wbgpu.records.tile import Tile
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


def test_frames_and_tile_are_those_of_the_whole_video(video: tuple[Path, torch.Tensor]) -> None:
    """Episodes that share a file, or a picture, would otherwise be scored on their neighbours."""
    path, frames = video
    clip = Clip(path, frames=(3, 8), tile=Tile(1, 0, 2, 2))
    with open_clip(clip, PyavDecoder()) as reader:
        info = reader.info
        assert (info.num_frames, info.height, info.width) == (5, 10, 15)
        assert Clip.of(info) == Clip(path, frames=(3, 8), tile=Tile(1, 0, 2, 2), fps=5.0)
        whole = reader.read(0, 5)
        assert torch.equal(whole, frames[3:8, :, :10, 15:])
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
    ],
)
def test_a_part_that_is_not_there_is_an_error_that_names_the_file(
    video: tuple[Path, torch.Tensor], clip: dict, message: str
) -> None:
    with pytest.raises(VideoError, match=rf"all\.mp4: .*{message}"):
        open_clip(Clip(video[0], **clip), PyavDecoder())


def test_frames_found_by_a_rate_that_is_not_the_videos(video: tuple[Path, torch.Tensor]) -> None:
    """Frame 3 would be sought at 1 s and lie at 0.6 s."""
    with open_clip(Clip(video[0], frames=(3, 8), fps=5.0), PyavDecoder()) as reader:
        assert reader.info.fps == 5
    with pytest.raises(VideoError, match=r"all\.mp4: it has 5 frames per second, but 3 are decl"):
        open_clip(Clip(video[0], frames=(3, 8), fps=3.0), PyavDecoder())


def test_frames_found_by_a_rate_in_a_video_without_one(tmp_path: Path) -> None:
    """A gap in the times means that its frames are not where the rate says."""
    base = Fraction(1, 5)
    path = encode(
        tmp_path / "uneven.mp4", pictures(5, 48, 64), pts=(0, 1, 2, 10, 11), time_base=base
    )
    with open_clip(Clip(path, frames=(0, 3)), PyavDecoder()) as reader:
        assert reader.info.is_variable_frame_rate
    with pytest.raises(VideoError, match=r"uneven\.mp4: its frames come unevenly"):
        open_clip(Clip(path, frames=(0, 3), fps=5.0), PyavDecoder())


def test_a_clip_that_is_other_than_declared_is_refused(video: tuple[Path, torch.Tensor]) -> None:
    """By the number of frames of the part, not of the file."""
    path, frames = video
    part = (1, 3)
    declared = Declared("manifest.json: $.episodes[0]", num_frames=2)
    with open_clip(Clip(path, frames=part, declared=declared), PyavDecoder()) as reader:
        assert reader.info.num_frames == 2
    with pytest.raises(VideoError, match=rf"has {len(frames)} frame.*2 are declared by manifest"):
        open_clip(Clip(path, declared=declared), PyavDecoder())
