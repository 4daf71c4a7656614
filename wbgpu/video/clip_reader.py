"""Open whatever a clip is, as if it were a video of its own."""

from __future__ import annotations

import dataclasses
from types import TracebackType

import torch
from torch import Tensor

from wbgpu.errors import VideoError
from wbgpu.records.array_file import ARRAY_EXTENSIONS
from wbgpu.records.clip import Clip
from wbgpu.records.image_folder import image_clip
from wbgpu.records.video import VideoInfo
from wbgpu.video.array_reader import ArrayReader
from wbgpu.video.decoder import Decoder, VideoReader, check_range
from wbgpu.video.image_reader import ImageReader


def open_clip(clip: Clip, decoder: Decoder) -> VideoReader:
    """Open the frames of one side of an episode.

    Args:
        clip: where they lie; images that it does not name are found in its folder.
        decoder: opens videos; images and arrays need none.

    Raises:
        VideoError: as `Decoder.open`, or the clip asks for frames or pixels that are not there,
            or is declared to be other than it is.
    """
    if not clip.images and clip.path.is_dir():
        clip = dataclasses.replace(clip, images=image_clip(clip.path).images)
    reader: VideoReader
    if clip.images:
        reader = ImageReader(clip)
    elif clip.path.suffix.lower() in ARRAY_EXTENSIONS:
        reader = ArrayReader(clip)
    else:
        reader = decoder.open(clip.path)
    try:
        part = reader if clip.frames is None and clip.tile is None else PartReader(reader, clip)
        wrong = None if clip.declared is None else clip.declared.contradiction(part.info)
        if wrong is not None:
            raise VideoError(clip.path, wrong)
    except BaseException:
        reader.close()
        raise
    return part


class PartReader:
    """Some frames of a video, or a tile of each; a `VideoReader`.

    Args:
        reader: of the whole video; closed with this one.
        clip: says which part.

    Raises:
        VideoError: the part is not within the video.
    """

    def __init__(self, reader: VideoReader, clip: Clip) -> None:
        whole = reader.info
        start, stop = clip.frames or (0, whole.num_frames)
        if not 0 <= start < stop <= whole.num_frames:
            raise VideoError(
                clip.path,
                f"frames {start} to {stop} are wanted, but it has {whole.num_frames} frame(s), "
                "counted from 0",
            )
        if clip.frames is not None and clip.fps is not None:
            _check_times(whole, stop, clip.fps)
        left, top, width, height = _region(clip, whole)
        self._reader = reader
        self._start = start
        self._rows, self._columns = slice(top, top + height), slice(left, left + width)
        self._info = dataclasses.replace(
            whole,
            num_frames=stop - start,
            height=height,
            width=width,
            fps=whole.fps or clip.fps,
            frames=clip.frames,
            tile=clip.tile,
        )

    @property
    def info(self) -> VideoInfo:
        """Of the part."""
        return self._info

    def read(self, start: int, stop: int) -> Tensor:
        """As :meth:`VideoReader.read`, counted from the part's first frame."""
        check_range(self._info, start, stop)
        frames = self._reader.read(self._start + start, self._start + stop)
        part = frames[:, :, self._rows, self._columns]
        return part.contiguous(memory_format=torch.channels_last)

    def close(self) -> None:
        """Free the decoder."""
        self._reader.close()

    def __enter__(self) -> PartReader:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _check_times(whole: VideoInfo, stop: int, fps: float) -> None:
    """Refuse a file whose frames do not lie where the declared rate says."""
    if whole.is_variable_frame_rate:
        raise VideoError(
            whole.path,
            f"its frames come unevenly, so those of an episode cannot be found at the {fps:g} per "
            "second that are declared. Re-encode it at a constant rate.",
        )
    if whole.fps is None:
        return
    seconds_off = abs(stop / whole.fps - stop / fps)
    if seconds_off > 0.5 / fps:
        raise VideoError(
            whole.path,
            f"it has {whole.fps:g} frames per second, but {fps:g} are declared: by frame {stop} "
            f"they differ by {seconds_off:.3f} s, more than half a frame. Correct the declared "
            "rate, or re-encode the video.",
        )


def _region(clip: Clip, whole: VideoInfo) -> tuple[int, int, int, int]:
    """Left, top, width and height of the clip's tile."""
    if clip.tile is None:
        return 0, 0, whole.width, whole.height
    try:
        return clip.tile.region(whole.width, whole.height)
    except ValueError as error:
        raise VideoError(
            clip.path,
            f"its frames are {whole.resolution}: {error}; say how its pictures stand side by side "
            "(suite.layout: num_columns, num_rows, gap, border)",
        ) from error
