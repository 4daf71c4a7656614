"""Threads change the speed and nothing else, and never outlive the iteration."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from wbgpu.records.timeline import STAGES, Timeline
from wbgpu.video.read_ahead import read_ahead


def _threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("wbgpu-decode")]


def _read(sources, produce, *, num_workers=3, max_bytes=10, num_bytes=lambda _: 1):
    return read_ahead(
        sources, produce, num_bytes=num_bytes, num_workers=num_workers, max_bytes=max_bytes
    )


@pytest.mark.parametrize("num_workers", [1, 2, 7])
@pytest.mark.parametrize("max_bytes", [0, 1, 1000])
def test_order_is_that_of_the_sources(num_workers, max_bytes):
    """Later sources are quicker here; results in order of arrival would differ from run to run."""

    def produce(source):
        for item in range(source % 4):
            time.sleep(0.002 * (5 - source % 5))
            yield source, item

    found = list(_read(range(12), produce, num_workers=num_workers, max_bytes=max_bytes))
    assert found == [(source, item) for source in range(12) for item in range(source % 4)]
    assert not _threads()


def test_nothing_waits_beyond_the_limit():
    """A slow consumer must not fill the memory; a full queue must not stop the awaited source."""
    produced, taken, most = 0, 0, 0
    lock = threading.Lock()

    def produce(source):
        nonlocal produced, most
        for item in range(20):
            with lock:
                produced += 1
                most = max(most, produced - taken)
            yield source, item

    for _ in _read(range(6), produce, num_workers=3, max_bytes=5):
        time.sleep(0.001)
        with lock:
            taken += 1
    assert taken == 120
    # Five wait, each of three threads holds one, one is with the consumer.
    assert 5 <= most <= 5 + 3 + 1


def test_early_stop_ends_threads():
    """A break in a training loop must not leave threads that hold files open."""
    closed = []

    def produce(source):
        try:
            yield from range(1000)
        finally:
            closed.append(source)

    items = _read(range(8), produce, max_bytes=4)
    assert [next(items) for _ in range(3)] == [0, 1, 2]
    assert _threads()
    items.close()
    assert not _threads()
    assert set(closed) >= {0}


def test_exception_in_the_consumer_ends_threads():
    """The same when the loop is left by an exception."""

    def consume():
        for _ in _read(range(8), lambda source: iter(range(1000)), max_bytes=4):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        consume()
    assert not _threads()


def test_exception_in_a_producer_comes_in_its_place():
    """A bug must be raised, with what came before it, and not be lost in a thread."""

    def produce(source):
        yield source
        if source == 2:
            raise ZeroDivisionError
        yield source

    items = _read(range(5), produce)
    assert [next(items) for _ in range(5)] == [0, 0, 1, 1, 2]
    with pytest.raises(ZeroDivisionError):
        next(items)
    assert not _threads()


def test_exception_before_the_first_item_comes_in_its_place():
    """A ``produce`` that fails before it returns an iterator must not leave the consumer waiting.

    In a process of its own, because the fault is to wait for ever.
    """
    code = """
from wbgpu.video.read_ahead import read_ahead

def produce(source):
    if source == 2:
        raise ZeroDivisionError
    return iter([source, source])

items = read_ahead(
    range(5), produce, num_bytes=lambda _: 1, num_workers=2, max_bytes=10
)
found = []
try:
    for item in items:
        found.append(item)
except ZeroDivisionError:
    print(found)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert done.stdout == "[0, 0, 1, 1]\n", done.stderr


def test_no_sources():
    """No episodes: no threads, no items."""
    assert list(_read([], lambda source: iter([source]))) == []


def test_uncaught_exception_ends_the_process():
    """An exception that keeps the iterator alive in its traceback must not hang at exit."""
    code = """
from wbgpu.video.read_ahead import read_ahead
items = read_ahead(
    range(4), lambda s: iter(range(10**6)), num_bytes=lambda _: 1, num_workers=2, max_bytes=4
)
for item in items:
    raise RuntimeError("consumer")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "RuntimeError: consumer" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_ctrl_c_while_waiting():
    """Ctrl-C while the consumer waits for a slow file ends the run at once."""
    code = """
import os, signal, threading, time
from wbgpu.video.read_ahead import read_ahead

def produce(source):
    yield 0
    time.sleep(0.5)
    yield 1

threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    list(read_ahead(
        range(100), produce, num_bytes=lambda _: 1, num_workers=1, max_bytes=4
    ))
except KeyboardInterrupt:
    assert not [t for t in threading.enumerate() if "wbgpu" in t.name]
    print("stopped")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert done.stdout == "stopped\n", done.stderr


def test_waiting_is_measured_on_the_side_that_waits():
    """It tells whether decoding or computing is the limit; swapped, it would tell the opposite."""
    timeline = Timeline()
    items = read_ahead(
        [0, 1],
        lambda _: iter([1, 2]),
        num_bytes=lambda _: 1,
        num_workers=1,
        max_bytes=1,
        timeline=timeline,
    )
    assert list(items) == [1, 2, 1, 2]
    threads = {stage: {s.thread for s in timeline.spans if s.stage == stage} for stage in STAGES}
    assert threads["wait for room"] == {"wbgpu-decode-0"}
    assert threads["wait for frames"] == {threading.current_thread().name}
    # One a call: two items and an end, of two sources.
    assert sum(span.stage == "wait for frames" for span in timeline.spans) == 6
