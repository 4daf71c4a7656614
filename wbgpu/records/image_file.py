"""One image of a folder of frames."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

from PIL import Image

from wbgpu.errors import VideoError

DAMAGE = (
    OSError,
    ValueError,
    SyntaxError,
    EOFError,
    LookupError,
    TypeError,
    OverflowError,
    MemoryError,
    NotImplementedError,
    struct.error,
    zlib.error,
    Image.DecompressionBombError,
)
"""What Pillow raises on damaged files."""

_WIDE_MODES = ("F", "I")


def open_image(path: Path) -> Image.Image:
    """An image whose header is read.

    Raises:
        VideoError: it is damaged, an animation, or has more than 8 bits a channel.
    """
    try:
        image = Image.open(path)
    except DAMAGE as error:
        raise VideoError(path, f"not an image that can be read ({error})") from error
    reason = _refusal(image)
    if reason is not None:
        image.close()
        raise VideoError(path, reason)
    return image


def _refusal(image: Image.Image) -> str | None:
    # Pillow clips gray that 8 bits do not hold, so that a dark picture becomes a white one; of
    # colours it drops the lower bits without a word.
    raw_modes = [str(tile[3]) for tile in getattr(image, "tile", ())]
    if image.mode.partition(";")[0] in _WIDE_MODES or any(";16" in mode for mode in raw_modes):
        return (
            f"the image has more than 8 bits a channel (mode {image.mode}); save frames as 8-bit "
            "RGB"
        )
    if getattr(image, "n_frames", 1) > 1:
        return "the image is an animation; expected one image a frame"
    return None
