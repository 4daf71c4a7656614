"""Read a corrupted video piece by piece, or corrupt one that is in memory as a whole."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from wbgpu.corruptions.corruption import Corruption, Rollout, check_severity


class CorruptedVideo:
    """A corrupted video that is made as it is read; memory does not grow with its length.

    Args:
        corruption: the fault; ``None`` leaves the video as it is.
        severity: 0 to 1; 0 leaves the video as it is.
        rollout: the video.
        gather: is given 0-based indices ``[n]`` into the video, in any order, and gives these
            frames, uint8 ``[n, 3, H, W]``.
        reference: uint8 ``[1, 3, H, W]``, the last untouched frame.

    Raises:
        ConfigurationError: a severity out of range.
        ValueError: the corruption asks for frames that are not there.
    """

    def __init__(
        self,
        corruption: Corruption | None,
        severity: float,
        rollout: Rollout,
        gather: Callable[[npt.NDArray[np.int64]], Tensor],
        reference: Tensor,
    ) -> None:
        self._severity = check_severity(severity)
        self._corruption = corruption if self._severity > 0 else None
        self._rollout = rollout
        self._gather = gather
        self._reference = reference
        self._sources = np.arange(rollout.num_frames)
        if self._corruption is not None:
            untouched = rollout.num_untouched
            asked = self._corruption.source_frames(rollout, self._severity)
            if asked.shape != (rollout.num_frames,):
                raise ValueError(
                    f"{type(corruption).__name__}.source_frames: expected "
                    f"[{rollout.num_frames}], got {[*asked.shape]}"
                )
            self._sources[untouched:] = asked[untouched:]
            if self._sources.min() < 0 or self._sources.max() >= rollout.num_frames:
                raise ValueError(
                    f"{type(corruption).__name__}.source_frames: expected frames 0 to "
                    f"{rollout.num_frames - 1}, got {self._sources.min()} to {self._sources.max()}"
                )

    def read(self, start: int, stop: int) -> Tensor:
        """Frames ``start .. stop - 1``, uint8 ``[stop - start, 3, H, W]``."""
        frames = self._gather(self._sources[start:stop])
        num_untouched = min(max(self._rollout.num_untouched - start, 0), len(frames))
        if self._corruption is None or num_untouched == len(frames):
            return frames
        touched = frames[num_untouched:]
        changed = self._corruption.change(
            touched,
            np.arange(start + num_untouched, stop),
            self._reference,
            self._rollout,
            self._severity,
        )
        if changed.shape != touched.shape or changed.dtype != torch.uint8:
            raise ValueError(
                f"{type(self._corruption).__name__}.change: expected uint8 "
                f"{[*touched.shape]}, got {changed.dtype} {[*changed.shape]}"
            )
        whole = torch.cat((frames[:num_untouched], changed)) if num_untouched else changed
        return whole.contiguous(memory_format=torch.channels_last)


def corrupt(
    frames: Tensor,
    corruption: Corruption,
    severity: float,
    *,
    num_context: int = 0,
    seed: int = 0,
    episode_id: str = "",
) -> Tensor:
    """A corrupted copy of a video.

    Args:
        frames: uint8 RGB ``[N, 3, H, W]``, 0..255, on any device, where everything is computed.
        corruption: the fault.
        severity: 0 to 1; 0 gives the video as it is.
        num_context: leading frames that stay as they are. The first frame always does.
        seed: for whatever is drawn at random.
        episode_id: episodes have random numbers of their own.

    Returns:
        uint8 ``[N, 3, H, W]`` on the same device.

    Raises:
        TypeError: frames that are not uint8.
        ValueError: frames of another shape, none, or fewer than the context.
        ConfigurationError: a severity out of range.
    """
    if frames.dtype != torch.uint8:
        raise TypeError(f"frames: expected uint8 (0-255), got {frames.dtype}")
    if frames.ndim != 4 or frames.shape[1] != 3 or not len(frames):
        raise ValueError(f"frames {tuple(frames.shape)}: expected [N, 3, H, W], N at least 1")
    rollout = Rollout.of(len(frames), num_context, seed, episode_id)

    def gather(index: npt.NDArray[np.int64]) -> Tensor:
        return frames[torch.from_numpy(index).to(frames.device)]

    reference = frames[rollout.num_untouched - 1 : rollout.num_untouched]
    return CorruptedVideo(corruption, severity, rollout, gather, reference).read(0, len(frames))
