"""Frames by decord2. The only file that imports decord.

decord loads its library with ``RTLD_GLOBAL``: its own FFmpeg and dav1d then take over for whatever
is loaded later, and torchcodec decoding AV1 in the same process crashes. It also loads every CUDA
library of the nvidia wheels, 420 MB resident, that CPU decoding never touches. Both are prevented
while it is imported here. If somebody imported it earlier, it is used as it is.

decord's traps, and what this file does about them:

- its length counts the frames that an edit list discards, and it fills up with copies of the last
  frame; seeking and ``skip_frames`` then land on the wrong frame. So the number of frames comes
  from :func:`wbgpu.video.probe.probe`, and frames are only ever taken one after the other.
- narrow frames (width to 48, 65-96, 129-144) come with 4 or more "channels", which is FFmpeg's row
  padding; ``get_batch`` raises on them. The first ``3 * width`` bytes of a row are the pixels.
- it says nothing of damage that it concealed. So every file is decoded a second time by ``probe``
  (``verify``). For a pair of 20-frame 256x256 H.264 videos decord takes 24 ms of one core, and the
  check 21 ms; :class:`wbgpu.video.pyav.PyavDecoder` does both in 23 ms.
- its decoding thread runs ahead without a limit: ``next`` pushes packets until a frame comes, so
  every time that the thread is late the queue of decoded frames grows, and it never shrinks. A pair
  of 3,000 frames of 256x256 took 280 to 740 MB more than one of 30. Nothing here can bound that;
  use ``PyavDecoder`` for long videos.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from wbgpu.errors import ConfigurationError, VideoError
from wbgpu.records.video import VideoInfo
from wbgpu.video.decoder import check_range
from wbgpu.video.frame_memory import empty_frames
from wbgpu.video.probe import probe
from wbgpu.video.stream import ADVICE

_import_lock = threading.Lock()


class DecordDecoder:
    """Decodes on the CPU with decord2 and checks every file with PyAV.

    Args:
        verify: decode each file once more to find concealed damage. Without it a damaged file may
            be scored as if it were whole.
        num_threads: FFmpeg threads per open video; 0 lets FFmpeg choose. One is fastest when
            several videos are decoded at once, as :class:`wbgpu.video.loader.WindowLoader` does.

    Raises:
        ConfigurationError: ``num_threads`` is negative.
    """

    def __init__(self, *, verify: bool = True, num_threads: int = 1) -> None:
        if num_threads < 0:
            raise ConfigurationError(f"num_threads must be 0 or more, but it is {num_threads}.")
        self.verify = verify
        self.num_threads = num_threads
        # Now, not on a loader's thread, because the import alters ctypes for a moment.
        self._decord = _load_decord()

    @property
    def name(self) -> str:
        """``decord``."""
        return "decord"

    def open(self, path: str | Path) -> DecordReader:
        """Check a video and open it.

        Raises:
            VideoError: missing, empty, not a video, damaged or incomplete.
        """
        info = probe(path, verify=self.verify, num_threads=self.num_threads)
        return DecordReader(replace(info, backend=self.name), self._decord, self.num_threads)


class DecordReader:
    """One open video; see :class:`wbgpu.video.decoder.VideoReader`."""

    def __init__(self, info: VideoInfo, decord: ModuleType, num_threads: int) -> None:
        self._info = info
        self._decord = decord
        self._num_threads = num_threads
        self._reader: Any = None
        self._position = 0
        self._rewind()

    @property
    def info(self) -> VideoInfo:
        """What the file holds."""
        return self._info

    def read(self, start: int, stop: int) -> Tensor:
        """Frames ``start .. stop - 1`` as uint8 RGB ``[stop - start, 3, H, W]``, channels last.

        Raises:
            ValueError: the range is not within ``0 .. num_frames``.
            VideoError: decord cannot decode it, or the reader is closed.
        """
        info = self._info
        check_range(info, start, stop)
        if self._reader is None:
            raise VideoError(info.path, "the reader is closed. Open the video again.")
        frames = empty_frames(stop - start, info.height, info.width)
        if start < self._position:
            self._rewind()
        with self._decord.bridge.use_torch():
            while self._position < start:
                self._next()
            for frame in frames:
                row_bytes = 3 * info.width
                rows = self._next().reshape(info.height, -1)
                np.copyto(frame.reshape(info.height, row_bytes), rows[:, :row_bytes])
        return torch.from_numpy(frames).permute(0, 3, 1, 2)

    def close(self) -> None:
        """Free decord's reader."""
        self._reader = None

    def __enter__(self) -> DecordReader:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _rewind(self) -> None:
        # Absolute, because FFmpeg reads "a:b.mp4" as a protocol and a file.
        path = str(Path(self._info.path).absolute())
        try:
            self._reader = self._decord.VideoReader(path, num_threads=self._num_threads)
        except (self._decord.DECORDError, RuntimeError, AssertionError) as error:
            raise self._undecodable(error) from error
        self._position = 0

    def _next(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        try:
            frame: Tensor = self._reader.next()
        except (self._decord.DECORDError, RuntimeError, StopIteration) as error:
            raise self._undecodable(error) from error
        height, width = frame.shape[:2]
        if (height, width) != (self._info.height, self._info.width):
            raise VideoError(
                self._info.path,
                f"frame {self._position} is {width}x{height}, but the file says "
                f"{self._info.resolution}. {ADVICE}",
            )
        self._position += 1
        return frame.numpy()

    def _undecodable(self, error: Exception) -> VideoError:
        # decord puts a time, a source line and the path before what it has to say.
        detail = str(error).rsplit("]", 1)[-1].strip() or "no frame came"
        return VideoError(
            self._info.path,
            f"unreadable by decord at frame {self._position} of {self._info.num_frames}: "
            f"{detail} {ADVICE}",
        )


def _load_decord() -> ModuleType:
    with _import_lock:
        if "decord" in sys.modules:
            return importlib.import_module("decord")
        with _local_and_without_cuda():
            decord = importlib.import_module("decord")
        # What is wrong with a file is said by VideoError, not on stderr.
        decord.logging.set_level(decord.logging.QUIET)
        return decord


@contextmanager
def _local_and_without_cuda() -> Iterator[None]:
    rtld_global, nvidia = ctypes.RTLD_GLOBAL, sys.modules.get("nvidia")
    ctypes.RTLD_GLOBAL = ctypes.RTLD_LOCAL  # type: ignore[misc]
    # decord looks for CUDA libraries in this package; None makes it look as if it were not there.
    sys.modules["nvidia"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        ctypes.RTLD_GLOBAL = rtld_global  # type: ignore[misc]
        del sys.modules["nvidia"]
        if nvidia is not None:
            sys.modules["nvidia"] = nvidia
