"""What is known of a video file, and how two of them were laid against each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from wbgpu.records.tile import Tile

AlignmentPolicy = Literal["strict", "safe"]

ResizeRule = Literal["bilinear", "bicubic"]
"""What becomes of predictions of another size than the target, where they are not refused.

``bilinear``, as worldbench's ``eval-videos``: they are resized, and then everything is computed.
``bicubic``, as its ``eval``: they are resized for what compares them with the target; what looks at
predictions alone sees them in their own size. Both filters are Pillow's, antialiased.
"""


_UNTIMED_BACKENDS = ("numpy", "pillow", "safetensors")


def is_same_rate(one: float | None, other: float | None) -> bool:
    """Whether two rates in frames per second pass for the same; an unknown one always does.

    The tolerance, 0.05 or 1 % of the larger, is worldbench's.
    """
    if one is None or other is None:
        return True
    return abs(one - other) <= max(0.05, 0.01 * max(one, other))


@dataclass(frozen=True)
class VideoInfo:
    """One video, as a decoder will hand it out.

    Attributes:
        path: the file.
        num_frames: presented frames (those an edit list discards are not counted).
        height: pixels, after rotation.
        width: pixels, after rotation.
        fps: average frames per second; ``None`` when the file does not say.
        codec: codec name, such as ``h264``.
        pixel_format: as stored, such as ``yuv420p``.
        color_space: as tagged, such as ``bt709``; ``None`` when untagged.
        color_range: ``limited``, ``full`` or ``None`` when untagged.
        rotation_degrees: clockwise display rotation that was applied, 0, 90, 180 or 270.
        is_variable_frame_rate: presentation times are not evenly spaced.
        backend: the decoder's name.
        device: where frames were really decoded, such as ``cpu``.
        fallback_reason: why the device asked for did not decode, or ``None``.
        frames: which of the file's frames these are, ``start`` to ``stop - 1``; ``None`` for all.
        tile: which picture of several in each; ``None`` for all.
        float_range: what became 0 and 255, where the file holds floats.
    """

    path: str
    num_frames: int
    height: int
    width: int
    fps: float | None
    codec: str
    pixel_format: str
    color_space: str | None
    color_range: str | None
    rotation_degrees: int
    is_variable_frame_rate: bool
    backend: str
    device: str
    fallback_reason: str | None = None
    frames: tuple[int, int] | None = None
    tile: Tile | None = None
    float_range: tuple[float, float] | None = None

    @property
    def resolution(self) -> str:
        """``WIDTHxHEIGHT``."""
        return f"{self.width}x{self.height}"

    @property
    def is_untimed(self) -> bool:
        """Nobody says a frame rate, and the format has no place for one: arrays, images."""
        return self.fps is None and self.backend in _UNTIMED_BACKENDS


@dataclass(frozen=True)
class Alignment:
    """Which frames of a pair are scored: steps 1..T of both futures.

    Attributes:
        policy: ``strict`` or ``safe``.
        num_context: leading frames of both videos that are not scored.
        num_steps: T, the scored steps.
        target: the ground-truth video.
        prediction: the predicted video.
        resized: predictions are resized to the target's size.
        fps_differed: frame rates differ by more than 1 %; steps are compared by index.
        max_count_mismatch: frames by which the futures might have differed (``safe`` only).
        warnings: what a person should know.
    """

    policy: AlignmentPolicy
    num_context: int
    num_steps: int
    target: VideoInfo
    prediction: VideoInfo
    resized: bool = False
    fps_differed: bool = False
    max_count_mismatch: int = 0
    warnings: tuple[str, ...] = ()
