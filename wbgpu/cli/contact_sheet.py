"""Save a contact sheet of an aligned pair."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from wbgpu.records.clip import Clip
from wbgpu.records.video import Alignment, VideoInfo
from wbgpu.report.contact_sheet import contact_sheet

if TYPE_CHECKING:
    from torch import Tensor

    from wbgpu.video.decoder import Decoder

_MAX_COLUMNS = 8


def save_contact_sheet(alignment: Alignment, decoder: Decoder, path: Path) -> None:
    """Draw up to eight evenly spaced steps of the pair as a PNG."""
    from wbgpu.video.resize import resize_frames

    count = min(_MAX_COLUMNS, alignment.num_steps)
    steps = np.unique(np.linspace(1, alignment.num_steps, count).round().astype(int))
    target = _frames(decoder, alignment.target, alignment.num_context, steps)
    prediction = _frames(decoder, alignment.prediction, alignment.num_context, steps)
    if alignment.resized:
        prediction = resize_frames(
            prediction, height=alignment.target.height, width=alignment.target.width
        )
    image = contact_sheet(_array(target), _array(prediction), [int(step) for step in steps])
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        image.save(temporary, format="PNG")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _frames(
    decoder: Decoder, video: VideoInfo, num_context: int, steps: npt.NDArray[np.int_]
) -> Tensor:
    import torch

    from wbgpu.video.clip_reader import open_clip

    with open_clip(Clip.of(video), decoder) as reader:
        first = num_context - 1
        return torch.cat([reader.read(first + int(s), first + int(s) + 1) for s in steps])


def _array(frames: Tensor) -> npt.NDArray[np.uint8]:
    array: npt.NDArray[np.uint8] = frames.permute(0, 2, 3, 1).contiguous().numpy()
    return array
