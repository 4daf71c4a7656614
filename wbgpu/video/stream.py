"""Open a file's video stream with PyAV, or say why it cannot be opened."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import av
from av.codec.hwaccel import HWAccel
from av.container import InputContainer
from av.video.codeccontext import VideoCodecContext
from av.video.stream import VideoStream

from wbgpu.errors import VideoError

ADVICE = "Re-encode what still plays of it, or fetch the original again."


def open_video_stream(
    path: Path, num_threads: int, acceleration: HWAccel | None = None
) -> tuple[InputContainer, VideoStream]:
    """The container, which the caller closes, and its main video stream.

    Args:
        path: the file.
        num_threads: decoding threads; 0 lets FFmpeg choose.
        acceleration: hardware that is to decode.

    Raises:
        VideoError: missing, a folder, empty, not a video, or a still picture.
        av.FFmpegError: with ``acceleration`` only, which may be at fault.
    """
    _check_file(path)
    try:
        # An absolute path, because FFmpeg reads "a:b.mp4" as a protocol and a file.
        container = av.open(str(path.absolute()), metadata_errors="replace", hwaccel=acceleration)
    except av.FFmpegError as error:
        if acceleration is not None:
            raise
        raise VideoError(
            path,
            "unreadable: not a video, or its index is missing (an mp4 whose recording or copying "
            f"was interrupted). {ADVICE} ({error.strerror})",
        ) from error
    try:
        stream = container.streams.best("video")
        if not isinstance(stream, VideoStream):
            raise VideoError(path, f"unreadable: it holds no video. {ADVICE}")
        if container.format.name.endswith("_pipe") or container.format.name == "image2":
            raise VideoError(
                path,
                f"unreadable: a still picture ({stream.codec.canonical_name}), not a video. "
                "Give a video file.",
            )
        if cast("VideoCodecContext | None", stream.codec_context) is None:
            raise VideoError(path, f"unreadable: PyAV's FFmpeg has no decoder for it. {ADVICE}")
        stream.thread_type = "NONE" if num_threads == 1 else "AUTO"
        stream.thread_count = num_threads
    except BaseException:
        container.close()
        raise
    return container, stream


def _check_file(path: Path) -> None:
    try:
        if not path.exists():
            raise VideoError(path, "does not exist. Check the path.")
        if not path.is_file():
            raise VideoError(path, "is a folder, pipe or device, not a file. Give a video file.")
        if path.stat().st_size == 0:
            raise VideoError(path, f"unreadable: the file is empty (0 bytes). {ADVICE}")
    except OSError as error:
        raise VideoError(path, f"unreadable: {error.strerror}.") from error
