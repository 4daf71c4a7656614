"""What a corruption is: a fault that a world model could have, put into a good video.

`wbgpu.corruptions.check_corruption` proves that one keeps this contract.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from torch import Tensor

from wbgpu.errors import ConfigurationError


@dataclass(frozen=True)
class Rollout:
    """The video that is corrupted.

    Attributes:
        num_frames: of the whole video, context included; at least ``num_untouched``.
        num_untouched: leading frames that stay as they are: the context, and without one the first
            frame. At least 1.
        seed: for whatever is drawn at random.
    """

    num_frames: int
    num_untouched: int
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.num_untouched <= self.num_frames:
            raise ValueError(
                f"num_untouched: expected 1 to num_frames ({self.num_frames}), got "
                f"{self.num_untouched}"
            )

    @classmethod
    def of(cls, num_frames: int, num_context: int, seed: int, episode_id: str) -> Rollout:
        """That of an episode; each has random numbers of its own."""
        digest = hashlib.sha256(f"{seed}/{episode_id}".encode()).digest()
        return cls(num_frames, max(1, num_context), int.from_bytes(digest[:7], "big"))

    @property
    def num_touched(self) -> int:
        """Frames after the untouched ones."""
        return self.num_frames - self.num_untouched

    def random(self) -> np.random.Generator:
        """Random numbers, always the same."""
        return np.random.default_rng(self.seed)


class Corruption:
    """Base of all corruptions. A subclass writes `source_frames`, `change`, or both.

    Severity 0 is the video as it is, and is never asked for; 1 is the worst that the corruption's
    arguments allow. The same arguments, rollout, severity and device give the same bits, however
    the video is cut into parts.

    Class attributes:
        fault: what a model with this fault does, in a few words for reports.
    """

    fault: ClassVar[str]

    def source_frames(self, rollout: Rollout, severity: float) -> npt.NDArray[np.int64]:
        """Which frame of the video stands at each place, ``[num_frames]``, 0-based.

        The entries of the untouched frames are not looked at.
        """
        del severity
        return np.arange(rollout.num_frames)

    def change(
        self,
        frames: Tensor,
        index: npt.NDArray[np.int64],
        reference: Tensor,
        rollout: Rollout,
        severity: float,
    ) -> Tensor:
        """The pixels of touched frames.

        Args:
            frames: uint8 ``[n, 3, H, W]``, 0..255, on any device; not to be changed in place.
            index: ``[n]``, their places in the video, rising, 0-based.
            reference: uint8 ``[1, 3, H, W]``, the last untouched frame.
            rollout: the video.
            severity: above 0, at most 1.

        Returns:
            Frames of the same shape, type and device.
        """
        del index, reference, rollout, severity
        return frames


def check_severity(severity: float) -> float:
    """The severity as a float.

    Raises:
        ConfigurationError: it is not a number from 0 to 1.
    """
    is_number = isinstance(severity, (int, float)) and not isinstance(severity, bool)
    if not is_number or not (math.isfinite(severity) and 0 <= severity <= 1):
        raise ConfigurationError(f"severity: expected a number from 0 to 1, got {severity!r}")
    return float(severity)


def share_of(number: float, severity: float) -> int:
    """``severity * number`` as a whole number, halves upwards."""
    return math.floor(severity * number + 0.5)


def positive(name: str, value: float) -> float:
    """An argument of a corruption.

    Raises:
        ConfigurationError: it is not a positive finite number.
    """
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not (math.isfinite(value) and value > 0):
        raise ConfigurationError(f"{name}: expected a positive number, got {value!r}")
    return value


def positive_integer(name: str, value: int) -> int:
    """An argument of a corruption that counts.

    Raises:
        ConfigurationError: it is not a positive integer.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ConfigurationError(f"{name}: expected a positive integer, got {value!r}")
    return value
