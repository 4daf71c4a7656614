"""Random 8-bit 4:2:0 pictures with the colour tags that files have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import av
import numpy as np
import torch

from wbgpu.video.cuda import nv12_planes

SPACES = {
    None: 2,
    "bt709": 1,
    "fcc": 4,
    "bt470bg": 5,
    "smpte170m": 6,
    "smpte240m": 7,
    "bt2020nc": 9,
    "bt2020c": 10,
}
RANGES = {None: 0, "limited": 1, "full": 2}


def encode_tagged(
    path: Path,
    space: str | None,
    color_range: str | None,
    *,
    codec: str = "libx264",
    height: int = 64,
    width: int = 96,
    num_frames: int = 3,
) -> Path:
    """Noise in all three planes, so that every corner of the colour cube is met."""
    generator = np.random.default_rng(7)
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=10, options={"crf": "10"})
        stream.height, stream.width, stream.pix_fmt = height, width, "yuv420p"
        stream.codec_context.colorspace = SPACES[space]
        stream.codec_context.color_range = RANGES[color_range]
        for _ in range(num_frames):
            frame = av.VideoFrame(width, height, "yuv420p")
            for plane in frame.planes:
                plane.update(generator.integers(0, 256, plane.buffer_size, dtype=np.uint8))
            frame.colorspace, frame.color_range = SPACES[space], RANGES[color_range]
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def nv12_frames(path: Path) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """What the GPU's decoder must give, by the CPU."""
    with av.open(str(path)) as container:
        for frame in container.decode(video=0):
            yield nv12_planes(frame)
