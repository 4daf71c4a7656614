"""Run generators ahead on threads and hand out what they yield, in a fixed order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from wbgpu.records.timeline import NO_TIMELINE, Timeline

Source = TypeVar("Source")
Item = TypeVar("Item")


@dataclass(frozen=True)
class _Finished:
    error: BaseException | None


def read_ahead(
    sources: Sequence[Source],
    produce: Callable[[Source], Iterator[Item]],
    *,
    num_bytes: Callable[[Item], int],
    num_workers: int,
    max_bytes: int,
    timeline: Timeline = NO_TIMELINE,
) -> Generator[Item, None, None]:
    """Yield everything that ``produce`` yields for each source, source after source.

    Each source is produced on one thread; ``num_workers`` of them run at once. A thread stops while
    more than ``max_bytes`` wait, unless it is the one that is waited for, so at most
    ``max_bytes`` and one item a thread are held.

    The order does not depend on the threads. When the generator ends, is closed or is dropped, the
    threads end after the item in hand, and it waits for them. An exception in ``produce``, or in
    what it returns, is raised here, at its place in the order.

    Args:
        sources: what to produce from.
        produce: makes the items of one source; called on a thread.
        num_bytes: the size of an item.
        num_workers: threads, at least 1.
        max_bytes: items that may wait.
        timeline: measures how long threads wait for room, and the caller for items.
    """
    queues = _Queues[Item](len(sources), num_bytes, max_bytes)

    def has_room(index: int) -> bool:
        with timeline.span("wait for room"):
            return queues.wait_for_room(index)

    def take(index: int) -> Item | _Finished:
        with timeline.span("wait for frames"):
            return queues.take(index)

    def work() -> None:
        while (index := queues.next_source()) is not None:
            items: Iterator[Item] | None = None
            error: BaseException | None = None
            try:
                items = produce(sources[index])
                while has_room(index):
                    item = next(items, None)
                    if item is None:
                        break
                    queues.put(index, item)
                    del item
            except BaseException as raised:
                error = raised
            finally:
                if isinstance(items, Generator):
                    items.close()
                queues.put(index, _Finished(error))

    # Daemons: an interpreter that exits with an exception must not wait for a consumer that is
    # gone.
    threads = [
        threading.Thread(target=work, name=f"wbgpu-decode-{number}", daemon=True)
        for number in range(min(num_workers, len(sources)))
    ]
    try:
        for thread in threads:
            thread.start()
        for index in range(len(sources)):
            while not isinstance(item := take(index), _Finished):
                yield item
                del item
            if item.error is not None:
                raise item.error
    finally:
        queues.stop()
        for thread in threads:
            if thread.ident is not None:
                thread.join()


class _Queues(Generic[Item]):
    """One queue a source, with one limit over all."""

    def __init__(self, num_sources: int, num_bytes: Callable[[Item], int], max_bytes: int) -> None:
        self._num_sources = num_sources
        self._num_bytes = num_bytes
        self._max_bytes = max_bytes
        self._condition = threading.Condition()
        self._queues: dict[int, deque[Item | _Finished]] = {}
        self._next_source = 0
        self._awaited = 0
        self._waiting_bytes = 0
        self._stopped = False

    def next_source(self) -> int | None:
        with self._condition:
            if self._stopped or self._next_source == self._num_sources:
                return None
            index = self._next_source
            self._next_source += 1
            self._queues.setdefault(index, deque())
            return index

    def wait_for_room(self, index: int) -> bool:
        """Wait until this source may produce; false when it should stop."""
        with self._condition:
            self._condition.wait_for(
                lambda: (
                    self._stopped
                    or self._waiting_bytes < self._max_bytes
                    or (index == self._awaited and not self._queues[index])
                )
            )
            return not self._stopped

    def put(self, index: int, item: Item | _Finished) -> None:
        with self._condition:
            if self._stopped:
                return
            if not isinstance(item, _Finished):
                self._waiting_bytes += self._num_bytes(item)
            self._queues[index].append(item)
            self._condition.notify_all()

    def take(self, index: int) -> Item | _Finished:
        with self._condition:
            self._awaited = index
            queue = self._queues.setdefault(index, deque())
            self._condition.notify_all()
            self._condition.wait_for(lambda: queue)
            item = queue.popleft()
            if isinstance(item, _Finished):
                del self._queues[index]
            else:
                self._waiting_bytes -= self._num_bytes(item)
            self._condition.notify_all()
            return item

    def stop(self) -> None:
        with self._condition:
            self._stopped = True
            self._queues.clear()
            self._condition.notify_all()
