"""What each thread of an evaluation did when, for a table of throughput and a trace."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any, Literal, get_args

Stage = Literal[
    "digests",
    "open and check",
    "decode",
    "resize",
    "wait for room",
    "wait for frames",
    "predict",
    "pack",
    "copy to device",
    "load kernels",
    "statistics",
    "track",
    "networks",
    "score",
    "summarize",
    "write",
]
"""In the order of the work. A decoding thread waits for room, the main thread for frames."""

STAGES: tuple[Stage, ...] = get_args(Stage)
"""All of them."""


@dataclass(frozen=True)
class Span:
    """One thread busy with one stage, or waiting.

    Attributes:
        stage: what it did.
        thread: the thread's name.
        start_seconds: since the timeline began.
        seconds: how long, by the wall clock.
        num_frames: video frames that went through, those of both videos counted.
        num_bytes: of files, or of RGB frames.
    """

    stage: Stage
    thread: str
    start_seconds: float
    seconds: float
    num_frames: int
    num_bytes: int


class Timeline:
    """Collects spans of all threads. The thread that makes it is the one that must never wait.

    Attributes:
        spans: in the order in which they ended.
        main_thread: name of the thread that made it.
    """

    is_on = True

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.main_thread = threading.current_thread().name
        self._origin = time.perf_counter()

    def span(self, stage: Stage, num_frames: int = 0, num_bytes: int = 0) -> Measurement:
        """Measure what this thread does in the ``with`` block of what is returned."""
        return Measurement(self, stage, num_frames, num_bytes)

    def seconds(self) -> float:
        """Since the timeline began."""
        return time.perf_counter() - self._origin

    @property
    def elapsed_seconds(self) -> float:
        """From the beginning to the end of the last span."""
        return max((span.start_seconds + span.seconds for span in self.spans), default=0.0)

    def trace(self) -> dict[str, Any]:
        """The JSON document that chrome://tracing and ui.perfetto.dev open; a row a thread."""
        names = dict.fromkeys([self.main_thread, *sorted({span.thread for span in self.spans})])
        numbers = {name: number for number, name in enumerate(names)}
        process = {"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "wbgpu"}}
        threads = [
            {"name": "thread_name", "ph": "M", "pid": 0, "tid": number, "args": {"name": name}}
            for name, number in numbers.items()
        ]
        spans = [
            {
                "name": span.stage,
                "cat": "wait" if span.stage.startswith("wait") else "work",
                "ph": "X",
                "pid": 0,
                "tid": numbers[span.thread],
                "ts": round(1e6 * span.start_seconds, 1),
                "dur": round(1e6 * span.seconds, 1),
                "args": {"num_frames": span.num_frames, "num_bytes": span.num_bytes},
            }
            for span in self.spans
        ]
        return {"displayTimeUnit": "ms", "traceEvents": [process, *threads, *spans]}


class Measurement:
    """A span under way; counts that are known only at its end may be set."""

    def __init__(self, timeline: Timeline, stage: Stage, num_frames: int, num_bytes: int) -> None:
        self._timeline = timeline
        self._stage = stage
        self.num_frames = num_frames
        self.num_bytes = num_bytes

    def __enter__(self) -> Measurement:
        self._begin_seconds = self._timeline.seconds()
        return self

    def __exit__(self, *_: object) -> None:
        begin_seconds = self._begin_seconds
        # One append is atomic, so threads need no lock.
        self._timeline.spans.append(
            Span(
                stage=self._stage,
                thread=threading.current_thread().name,
                start_seconds=begin_seconds,
                seconds=self._timeline.seconds() - begin_seconds,
                num_frames=self.num_frames,
                num_bytes=self.num_bytes,
            )
        )


class _Off(Timeline):
    """Keeps nothing."""

    is_on = False

    def __init__(self) -> None:
        super().__init__()
        self._unmeasured = _Unmeasured(self, "write", 0, 0)

    def span(self, stage: Stage, num_frames: int = 0, num_bytes: int = 0) -> Measurement:
        """Do nothing."""
        del stage, num_frames, num_bytes
        return self._unmeasured


class _Unmeasured(Measurement):
    def __enter__(self) -> Measurement:
        return self

    def __exit__(self, *_: object) -> None:
        return None


NO_TIMELINE: Timeline = _Off()
"""Where nothing is to be measured; a span costs a quarter of a microsecond."""
