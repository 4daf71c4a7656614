"""The path of whatever moves before a still camera, by optical flow. Needs no training and no box.

Between two frames, dense flow (DIS, Kroeger et al. 2016, OpenCV's medium preset on BT.601 luma) is
computed there and back. A pixel moves if its flow is longer than ``min_motion`` pixels, and counts
if the flow back returns it to within ``max_round_trip`` pixels of where it started. The step of
the track is the median flow of the pixels that count, horizontally and vertically; none is made
where ``min_area`` of the frame's pixels or fewer count. The track begins in the middle of the
frame: its steps have a meaning, and its positions only as their sum.

``docs/trackers.md`` says when to trust it, and what was measured.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from wbgpu.errors import ConfigurationError
from wbgpu.tracking.tracks import Tracks

_MIN_SIDE = 16


class FlowTracker:
    """Follows what moves, which before a still camera is the robot and what it carries.

    The flow is computed on the CPU, wherever the frames are. Area is the number of pixels that
    count in the step that leads to the frame, and confidence their share of those that move, 1 in
    the first frame and where nothing moves.

    Args:
        role: name of the track.
        min_motion: pixels; slower pixels stand still.
        max_round_trip: pixels.
        min_area: share of the frame's pixels, 0 to 1.

    Raises:
        ConfigurationError: a number out of range, or OpenCV is not installed.
    """

    def __init__(
        self,
        role: str = "robot",
        min_motion: float = 1.0,
        max_round_trip: float = 2.0,
        min_area: float = 0.002,
    ) -> None:
        if not min_motion > 0:
            raise ConfigurationError(f"min_motion: expected pixels above 0, got {min_motion}")
        if not max_round_trip > 0:
            raise ConfigurationError(
                f"max_round_trip: expected pixels above 0, got {max_round_trip}"
            )
        if not 0 <= min_area < 1:
            raise ConfigurationError(f"min_area: expected a share from 0 to 1, got {min_area}")
        self.names = (role,)
        self.min_motion = min_motion
        self.max_round_trip = max_round_trip
        self.min_area = min_area
        # Now, and not when the first frames have been decoded.
        _opencv()

    @property
    def tracker_id(self) -> str:
        """Settings that differ from the default are part of it."""
        settings = f"{self.min_motion:g},{self.max_round_trip:g},{self.min_area:g}"
        changed = "" if settings == "1,2,0.002" else f"({settings})"
        return f"flow/dis-1.0{changed}"

    def start(self) -> _FlowSession:
        """Begin a video."""
        return _FlowSession(self, _opencv())


class _FlowSession:
    def __init__(self, tracker: FlowTracker, opencv: ModuleType) -> None:
        self._tracker = tracker
        self._opencv = opencv
        preset = opencv.DISOPTICAL_FLOW_PRESET_MEDIUM
        # Flow there, and back: each keeps buffers of its own.
        self._flows = opencv.DISOpticalFlow_create(preset), opencv.DISOpticalFlow_create(preset)
        self._luma: npt.NDArray[np.uint8] | None = None
        self._position = np.zeros(2)

    def track(self, frames: Tensor) -> Tracks:
        """See `TrackerSession.track`."""
        if frames.dtype != torch.uint8 or frames.ndim != 4 or frames.shape[1] != 3:
            raise ValueError(
                f"frames {tuple(frames.shape)} of {frames.dtype}: expected uint8 [n, 3, H, W]"
            )
        if min(frames.shape[2:]) < _MIN_SIDE:
            raise ValueError(
                f"frames {tuple(frames.shape)}: optical flow needs {_MIN_SIDE} pixels or more a "
                "side"
            )
        rows = [self._next(frame) for frame in frames.permute(0, 2, 3, 1).cpu().numpy()]
        columns = torch.tensor(rows, dtype=torch.float64, device=frames.device).reshape(-1, 1, 4)
        return Tracks(
            self._tracker.names, columns[..., :2], columns[..., 2].clone(), columns[..., 3].clone()
        )

    def _next(self, frame: npt.NDArray[np.uint8]) -> tuple[float, float, float, float]:
        luma = self._opencv.cvtColor(np.ascontiguousarray(frame), self._opencv.COLOR_RGB2GRAY)
        before, self._luma = self._luma, luma
        if before is None:
            height, width = luma.shape
            self._position = np.array([(width - 1) / 2, (height - 1) / 2])
            return (*self._position.tolist(), 0.0, 1.0)
        if before.shape != luma.shape:
            raise ValueError(
                f"frames of {luma.shape} (height, width) after frames of {before.shape}: expected "
                "one size in one video"
            )
        flow, counts, moves = self._flow(before, luma)
        num_counting, num_moving = int(counts.sum()), int(moves.sum())
        if num_counting > self._tracker.min_area * counts.size:
            self._position = self._position + np.median(flow[counts].astype(np.float64), axis=0)
        confidence = num_counting / num_moving if num_moving else 1.0
        return (*self._position.tolist(), float(num_counting), confidence)

    def _flow(
        self, before: npt.NDArray[np.uint8], after: npt.NDArray[np.uint8]
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Flow ``[H, W, 2]``, which pixels count, and which move, ``[H, W]`` each."""
        there: npt.NDArray[np.float32] = self._flows[0].calc(before, after, None)
        back = self._flows[1].calc(after, before, None)
        height, width = before.shape
        x = there[..., 0] + np.arange(width, dtype=np.float32)
        y = there[..., 1] + np.arange(height, dtype=np.float32)[:, None]
        returned = there + self._opencv.remap(back, x, y, self._opencv.INTER_LINEAR)
        moves = np.hypot(there[..., 0], there[..., 1]) > self._tracker.min_motion
        round_trip = np.hypot(returned[..., 0], returned[..., 1])
        return there, moves & (round_trip < self._tracker.max_round_trip), moves


def _opencv() -> ModuleType:
    try:
        # An extra, and slow to import.
        import cv2  # noqa: PLC0415
    except ImportError as error:
        raise ConfigurationError(
            "the tracker flow needs OpenCV, which is not installed; install wbgpu[tracking]"
        ) from error
    module: ModuleType = cv2
    return module
