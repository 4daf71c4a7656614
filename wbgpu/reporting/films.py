"""Films of episodes for reports: decoded from the videos that were scored, with maps of SSIM."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from wbgpu.errors import VideoError
from wbgpu.records.film import Film, FilmRow
from wbgpu.reporting.film_sides import FilmSide, NoFilmError
from wbgpu.statistics.frame_statistics import UNIFORM_WINDOW
from wbgpu.statistics.reference import uniform_ssim_map
from wbgpu.video.clip_reader import open_clip
from wbgpu.video.decoder import VideoReader
from wbgpu.video.encode import write_video
from wbgpu.video.pyav import PyavDecoder
from wbgpu.video.resize import resize_frames

NUM_COLUMNS = 6
"""Horizons of a filmstrip."""

MAX_VIDEO_STEPS = 300
"""Scored steps that a video shows at most."""

_PANEL_WIDTH = 320
_GAP = 4
_CRF = 27
_CHUNK = 32
_DEFAULT_FPS = 5.0


def film(episode_id: str, sides: Sequence[FilmSide]) -> Film:
    """Decode a filmstrip and a video of one episode.

    Args:
        episode_id: which.
        sides: its videos, ground truth first.

    Returns:
        Without pictures where a video cannot be read; the film says why.
    """
    try:
        return _film(sides, episode_id)
    except (VideoError, NoFilmError) as error:
        return Film(episode_id, missing=str(error))


def _film(sides: Sequence[FilmSide], episode_id: str) -> Film:
    num_steps = min(side.num_steps for side in sides)
    if num_steps < 1:
        raise NoFilmError("no step of it was scored")
    count = min(NUM_COLUMNS, num_steps)
    horizons = [int(h) for h in np.unique(np.linspace(1, num_steps, count).round())]
    num_video_steps = min(num_steps, MAX_VIDEO_STEPS)
    decoder = PyavDecoder()
    strips: list[Tensor] = []
    panels: list[npt.NDArray[np.uint8]] = []
    fps = None
    for side in sides:
        with open_clip(side.clip, decoder) as reader:
            if reader.info.num_frames < side.first + num_steps:
                raise NoFilmError(f"{side.clip.path} has fewer frames than were scored")
            fps = fps or reader.info.fps
            strips.append(torch.cat([_frames(reader, side.first + h - 1, 1) for h in horizons]))
            panels.append(_panel(reader, side.first, num_video_steps))
    truth, height, width = strips[0], *strips[0].shape[-2:]
    rows = [FilmRow(sides[0].label, _pictures(truth))]
    for side, strip in zip(sides[1:], strips[1:], strict=True):
        if strip.shape[-2:] != truth.shape[-2:]:
            strip = resize_frames(strip, height=height, width=width)
        rows.append(FilmRow(side.label, _pictures(strip)))
        if min(height, width) >= UNIFORM_WINDOW:
            rows.append(FilmRow(f"{side.label} SSIM", _similarity(truth, strip)))
    return Film(
        episode_id,
        tuple(horizons),
        tuple(rows),
        _video(panels, fps or _DEFAULT_FPS),
        tuple(side.label for side in sides),
        num_video_steps,
    )


def _frames(reader: VideoReader, first: int, count: int) -> Tensor:
    return reader.read(first, first + count)


def _panel(reader: VideoReader, first: int, num_steps: int) -> npt.NDArray[np.uint8]:
    """The scored frames in the size of a panel, ``[T, H, W, 3]`` with even sides."""
    width = _even(min(reader.info.width, _PANEL_WIDTH))
    height = _even(round(reader.info.height * width / reader.info.width))
    parts = []
    for start in range(0, num_steps, _CHUNK):
        frames = _frames(reader, first + start, min(_CHUNK, num_steps - start))
        if frames.shape[-2:] != (height, width):
            frames = resize_frames(frames, height=height, width=width)
        parts.append(_pictures(frames))
    return np.concatenate(parts)


def _even(side: int) -> int:
    """Players need even sides."""
    return max(2, side + side % 2)


def _pictures(frames: Tensor) -> npt.NDArray[np.uint8]:
    pictures: npt.NDArray[np.uint8] = frames.permute(0, 2, 3, 1).contiguous().numpy()
    return pictures


def _similarity(truth: Tensor, prediction: Tensor) -> npt.NDArray[np.uint8]:
    """Maps of SSIM, channels' mean, 0 to 1 as 0 to 255; half a window at each edge repeats."""
    # One frame at a time, which stays in the processor's cache.
    pairs = zip(truth.int()[:, None], prediction.int()[:, None], strict=True)
    maps = torch.cat([uniform_ssim_map(*pair).mean(dim=1) for pair in pairs])
    levels = (maps.clamp(0, 1) * 255).round().to(torch.uint8).numpy()
    edge = UNIFORM_WINDOW // 2
    padded: npt.NDArray[np.uint8] = np.pad(
        levels, ((0, 0), (edge, edge), (edge, edge)), mode="edge"
    )
    return padded


def _video(panels: Sequence[npt.NDArray[np.uint8]], fps: float) -> bytes:
    """An MP4 of the panels beside each other, those of other sizes at the first one's."""
    height, width = panels[0].shape[1:3]
    same = [
        panel
        if panel.shape[1:3] == (height, width)
        else _pictures(
            resize_frames(torch.from_numpy(panel).permute(0, 3, 1, 2), height=height, width=width)
        )
        for panel in panels
    ]
    gap = np.zeros((len(same[0]), height, _GAP, 3), np.uint8)
    parts = [part for panel in same for part in (panel, gap)][:-1]
    with tempfile.TemporaryDirectory(prefix="wbgpu-film-") as folder:
        path = Path(folder) / "film.mp4"
        write_video(path, np.concatenate(parts, axis=2), fps, crf=_CRF)
        return path.read_bytes()
