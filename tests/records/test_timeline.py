from __future__ import annotations

import json
import threading

import pytest

from wbgpu.records.timeline import NO_TIMELINE, Timeline


def _two_threads() -> Timeline:
    timeline = Timeline()

    def decode() -> None:
        with timeline.span("decode", num_frames=4, num_bytes=400):
            pass
        with timeline.span("wait for room"):
            pass

    thread = threading.Thread(target=decode, name="a-decoder")
    with timeline.span("wait for frames"):
        thread.start()
        thread.join()
    with timeline.span("statistics") as counted:
        counted.num_frames = 4
    return timeline


def test_spans_know_their_thread_their_time_and_their_counts() -> None:
    """A span booked on another thread would blame the wrong stage."""
    timeline = _two_threads()
    spans = {span.stage: span for span in timeline.spans}
    decode, wait, statistics = (spans[n] for n in ("decode", "wait for frames", "statistics"))
    assert decode.thread == "a-decoder"
    assert statistics.thread == timeline.main_thread == threading.current_thread().name
    assert (decode.num_frames, decode.num_bytes, statistics.num_frames) == (4, 400, 4)
    assert 0 <= wait.start_seconds <= decode.start_seconds
    assert decode.start_seconds + decode.seconds <= wait.start_seconds + wait.seconds
    assert wait.start_seconds + wait.seconds <= statistics.start_seconds
    assert timeline.elapsed_seconds == statistics.start_seconds + statistics.seconds


def test_a_span_that_ends_with_an_error_is_kept_and_the_error_goes_on() -> None:
    """A file that does not open takes its time as well."""
    timeline = Timeline()
    with pytest.raises(ZeroDivisionError), timeline.span("open and check"):
        raise ZeroDivisionError
    assert [span.stage for span in timeline.spans] == ["open and check"]


def test_the_trace_is_what_perfetto_reads() -> None:
    """Complete events (ph X) in microseconds, a named row a thread, the main thread first."""
    timeline = _two_threads()
    events = json.loads(json.dumps(timeline.trace()))["traceEvents"]
    rows = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert rows == {0: timeline.main_thread, 1: "a-decoder"}
    complete = {e["name"]: e for e in events if e["ph"] == "X"}
    assert {name: e["tid"] for name, e in complete.items()} == {
        "decode": 1,
        "wait for room": 1,
        "wait for frames": 0,
        "statistics": 0,
    }
    (decode,) = (span for span in timeline.spans if span.stage == "decode")
    assert complete["decode"]["ts"] == pytest.approx(1e6 * decode.start_seconds, abs=0.1)
    assert complete["decode"]["dur"] == pytest.approx(1e6 * decode.seconds, abs=0.1)
    assert complete["decode"]["args"] == {"num_frames": 4, "num_bytes": 400}
    assert complete["wait for room"]["cat"] == "wait"


def test_off_keeps_nothing() -> None:
    """It is shared by every evaluation of the process, and would grow without end."""
    with NO_TIMELINE.span("decode", 1, 2) as counted:
        counted.num_frames = 7
    assert NO_TIMELINE.spans == []
    assert not NO_TIMELINE.is_on
    assert Timeline().is_on
