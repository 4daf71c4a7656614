"""Throughput by stage, and which stage is the limit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wbgpu.records.timeline import STAGES, Span, Timeline
from wbgpu.report.tables import aligned

_OTHER = "other"
_HEADER = ("stage", "threads", "seconds", "of the time", "frames/s", "MB/s")


def throughput_summary(timeline: Timeline) -> str:
    """A table, a line a stage, and a line that names the limit.

    ``seconds`` are summed over threads; ``of the time`` is their share of the time that passed, so
    two threads at work all the time are 200 %. Rates are per second of work. Frames of both
    videos count; MB are of RGB frames, for digests of files.
    """
    elapsed = timeline.elapsed_seconds
    stages = {stage: [s for s in timeline.spans if s.stage == stage] for stage in STAGES}
    rows = [_row(stage, spans, elapsed) for stage, spans in stages.items() if spans]
    main_seconds = _main_seconds(timeline)
    other = main_seconds[_OTHER]
    rows.append((_OTHER, "1", f"{other:.3f}", _percent(other, elapsed), "", ""))
    num_frames = sum(span.num_frames for span in stages["decode"])
    return "\n".join(
        [
            f"Throughput: {num_frames} frames in {elapsed:.3f} s, {_rate(num_frames, elapsed)}",
            *aligned([_HEADER, *rows]),
            f"Limit: {_limit(timeline, main_seconds, elapsed)}",
        ]
    )


def _row(stage: str, spans: Sequence[Span], elapsed_seconds: float) -> tuple[str, ...]:
    seconds = sum(span.seconds for span in spans)
    num_threads = len({span.thread for span in spans})
    is_wait = stage.startswith("wait")
    num_frames = 0 if is_wait else sum(span.num_frames for span in spans)
    num_bytes = 0 if is_wait else sum(span.num_bytes for span in spans)
    return (
        stage,
        str(num_threads),
        f"{seconds:.3f}",
        _percent(seconds, elapsed_seconds),
        f"{num_frames / seconds:.0f}" if num_frames else "",
        f"{num_bytes / seconds / 1e6:.0f}" if num_bytes else "",
    )


def _main_seconds(timeline: Timeline) -> dict[str, float]:
    """What the main thread did with the time that passed; it never does two things at once."""
    seconds = {_OTHER: timeline.elapsed_seconds}
    for span in timeline.spans:
        if span.thread == timeline.main_thread:
            seconds[span.stage] = seconds.get(span.stage, 0.0) + span.seconds
            seconds[_OTHER] -= span.seconds
    return seconds


def _limit(timeline: Timeline, main_seconds: dict[str, float], elapsed_seconds: float) -> str:
    stage = max(main_seconds, key=lambda name: main_seconds[name])
    share = _percent(main_seconds[stage], elapsed_seconds)
    if stage == "wait for frames":
        busiest = max(
            ("open and check", "decode", "resize"),
            key=lambda name: _seconds(s for s in timeline.spans if s.stage == name),
        )
        return (
            f"decoding; the main thread waited for frames {share} of the time, and the decoding "
            f"threads spent most of theirs on '{busiest}'"
        )
    waited = _seconds(span for span in timeline.spans if span.stage == "wait for room")
    return (
        f"'{stage}', {share} of the main thread's time; decoding threads waited "
        f"{waited:.3f} s for room"
    )


def _seconds(spans: Iterable[Span]) -> float:
    return sum(span.seconds for span in spans)


def _percent(seconds: float, elapsed_seconds: float) -> str:
    return f"{100 * seconds / elapsed_seconds:.0f} %" if elapsed_seconds else ""


def _rate(num_frames: int, elapsed_seconds: float) -> str:
    return f"{num_frames / elapsed_seconds:.0f}/s" if elapsed_seconds else "nothing measured"
