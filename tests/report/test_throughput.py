from __future__ import annotations

from wbgpu.records.timeline import Span, Stage, Timeline
from wbgpu.report.throughput import throughput_summary


def _timeline(*spans: tuple[Stage, str, float, float, int, int]) -> Timeline:
    timeline = Timeline()
    timeline.main_thread = "main"
    timeline.spans = [Span(*span) for span in spans]
    return timeline


DECODE_BOUND = (
    ("open and check", "d0", 0.0, 3.0, 30, 0),
    ("open and check", "d1", 0.0, 2.0, 30, 0),
    ("decode", "d0", 3.0, 0.5, 30, 6_000_000),
    ("wait for frames", "main", 0.0, 3.5, 0, 0),
    ("statistics", "main", 3.5, 0.25, 60, 12_000_000),
    ("score", "main", 3.75, 0.05, 0, 0),
    ("digests", "h", 0.0, 0.5, 0, 1_000_000),
    ("write", "main", 3.9, 0.1, 0, 0),
)


def _rows(text: str) -> dict[str, list[str]]:
    names = ("open and check", "decode", "wait for frames", "statistics", "digests", "other")
    lines = text.splitlines()
    return {n: line[len(n) :].split() for n in names for line in lines if line.startswith(n)}


def test_seconds_add_over_threads_and_rates_are_per_second_of_work() -> None:
    """Two threads for 3 and 2 of 4 seconds: 125 % of the time, 60 frames in 5 seconds."""
    text = throughput_summary(_timeline(*DECODE_BOUND))
    assert text.splitlines()[0] == "Throughput: 30 frames in 4.000 s, 8/s"
    rows = _rows(text)
    assert rows["open and check"] == ["2", "5.000", "125", "%", "12"]
    assert rows["decode"] == ["1", "0.500", "12", "%", "60", "12"]
    assert rows["statistics"] == ["1", "0.250", "6", "%", "240", "48"]
    assert rows["digests"] == ["1", "0.500", "12", "%", "2"]
    assert rows["wait for frames"] == ["1", "3.500", "88", "%"]
    # The main thread's 4 seconds less 3.5, 0.25, 0.05 and 0.1.
    assert rows["other"] == ["1", "0.100", "2", "%"]


def test_a_main_thread_that_waits_names_decoding_and_its_slowest_part() -> None:
    """Blaming the statistics would send the user to the wrong place."""
    assert throughput_summary(_timeline(*DECODE_BOUND)).splitlines()[-1] == (
        "Limit: decoding; the main thread waited for frames 88 % of the time, and the decoding "
        "threads spent most of theirs on 'open and check'"
    )


def test_decoders_that_wait_for_room_do_not_make_decoding_the_limit() -> None:
    """They are ahead; what the main thread does most is the limit."""
    text = throughput_summary(
        _timeline(
            ("decode", "d0", 0.0, 1.0, 10, 10),
            ("wait for room", "d0", 1.0, 3.0, 0, 0),
            ("wait for frames", "main", 0.0, 0.5, 0, 0),
            ("statistics", "main", 0.5, 3.5, 10, 10),
        )
    )
    assert text.splitlines()[-1] == (
        "Limit: 'statistics', 88 % of the main thread's time; decoding threads waited 3.000 s for "
        "room"
    )
