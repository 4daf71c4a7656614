"""Decoders that end their process, or fail as no decoder should, at one video."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from wbgpu.video.decoder import VideoReader
from wbgpu.video.pyav import PyavDecoder


@dataclass(frozen=True)
class DeadlyDecoder:
    """As PyAV's, but in a process that was started for it, ``video`` is its last.

    Attributes:
        video: file name.
        end: ``kill`` by SIGKILL, ``raise``, or ``hang``.
    """

    video: str
    end: str
    name: str = "pyav"

    def open(self, path: str | Path) -> VideoReader:
        if Path(path).name == self.video and multiprocessing.parent_process() is not None:
            if self.end == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.end == "raise":
                raise ZeroDivisionError("as no decoder should")
            time.sleep(3600)
        return PyavDecoder().open(path)
