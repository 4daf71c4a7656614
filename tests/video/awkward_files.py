"""Videos as users have them: uneven times, edit lists, turned, mirrored, cut short and damaged."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from fractions import Fraction
from itertools import chain, repeat
from pathlib import Path

import av
import numpy as np


def pictures(num_frames: int, height: int, width: int, seed: int = 0) -> np.ndarray:
    """uint8 [T, H, W, 3]: a coloured texture that moves, so that inter prediction has work."""
    generator = np.random.default_rng(seed)
    cells = generator.integers(0, 256, (height // 4 + 8, width // 4 + 8, 3), dtype=np.uint8)
    texture = cells.repeat(4, axis=0).repeat(4, axis=1)
    shifts = [index % 16 for index in range(num_frames)]
    return np.stack([texture[s : s + height, s : s + width] for s in shifts])


def encode(
    path: Path,
    frames: np.ndarray,
    *,
    codec: str = "libx264",
    pixel_format: str = "yuv420p",
    rate: int = 10,
    pts: Sequence[int] | None = None,
    time_base: Fraction | None = None,
    options: dict[str, str] | None = None,
    container_options: dict[str, str] | None = None,
    container_format: str | None = None,
    num_repeats: int = 1,
) -> Path:
    """Encode with PyAV; with ``pts`` (and ``time_base``) at those times."""
    with av.open(
        str(path), "w", format=container_format, container_options=container_options or {}
    ) as container:
        stream = container.add_stream(codec, rate=rate, options={"threads": "1", **(options or {})})
        stream.height, stream.width = frames.shape[1:3]
        stream.pix_fmt = pixel_format
        if time_base is not None:
            stream.codec_context.time_base = time_base
            stream.time_base = time_base
        for index, picture in enumerate(chain.from_iterable(repeat(frames, num_repeats))):
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")
            if pts is not None:
                frame.pts, frame.time_base = pts[index], time_base
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def remux(source: Path, path: Path) -> Path:
    """The same packets in another container; encoding twice is not always the same in x264."""
    with av.open(str(source)) as old, av.open(str(path), "w") as new:
        stream = new.add_stream_from_template(old.streams.video[0])
        for packet in old.demux(video=0):
            if packet.dts is not None:
                packet.stream = stream
                new.mux(packet)
    return path


def decode(path: Path) -> np.ndarray:
    """What PyAV makes of it, uint8 [T, H, W, 3]; equal to FFmpeg for 8-bit video of even size."""
    with av.open(str(path)) as container:
        frames = [f.to_ndarray(format="rgb24") for f in container.decode(video=0)]
    return np.stack(frames)


def patch(source: Path, target: Path, position: int, content: bytes) -> Path:
    data = bytearray(source.read_bytes())
    data[position : position + len(content)] = content
    target.write_bytes(data)
    return target


def with_zeroed_bytes(source: Path, target: Path, num_bytes: int = 400) -> Path:
    """Zero bytes in the middle of the coded pictures (mdat)."""
    return with_overwritten_bytes(source, target, bytes(num_bytes))


def with_overwritten_bytes(source: Path, target: Path, content: bytes) -> Path:
    """Put other bytes into the middle of the coded pictures (mdat)."""
    data = source.read_bytes()
    start = data.index(b"mdat") + 4
    end = data.find(b"moov", start)
    return patch(source, target, (start + (end if end > 0 else len(data))) // 2, content)


def cut(source: Path, target: Path, fraction: float) -> Path:
    data = source.read_bytes()
    target.write_bytes(data[: int(len(data) * fraction)])
    return target


def with_edit(source: Path, target: Path, *, seconds: float, skipped_ticks: int) -> Path:
    """Change an mp4's edit list: present ``seconds`` from ``skipped_ticks`` on."""
    data = source.read_bytes()
    position = data.index(b"elst") + 12
    _, media_time = struct.unpack_from(">Ii", data, position)
    edit = struct.pack(">Ii", round(1000 * seconds), media_time + skipped_ticks)
    return patch(source, target, position, edit)


def with_display_matrix(source: Path, target: Path, a: float, b: float, c: float, d: float) -> Path:
    """Change how an mp4 is to be shown: the upper left 2x2 of its track header's matrix."""
    one = 1 << 16
    matrix = (int(a * one), int(b * one), 0, int(c * one), int(d * one), 0, 0, 0, 1 << 30)
    position = source.read_bytes().index(b"tkhd") + 44
    return patch(source, target, position, struct.pack(">9i", *matrix))


def with_one_more_frame_announced(source: Path, target: Path) -> Path:
    """Raise the length in an AVI's stream header (dwLength) by one."""
    data = source.read_bytes()
    position = data.index(b"strh") + 8 + 32
    (length,) = struct.unpack_from("<I", data, position)
    return patch(source, target, position, struct.pack("<I", length + 1))
