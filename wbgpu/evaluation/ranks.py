"""The processes that evaluate one suite together, and what they tell each other.

Only small host objects are exchanged (which rank evaluates which episodes, then the episodes'
records), so gloo is right for GPU ranks as well and is the default; NCCL works too.
"""

from __future__ import annotations

import functools
import os
import pickle
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import distributed
from torch.distributed.distributed_c10d import PrefixStore, ProcessGroup
from torch.distributed.rendezvous import rendezvous

from wbgpu.errors import ConfigurationError, RankError
from wbgpu.evaluation.request import resolve_device

T = TypeVar("T")

# A rank with few or short episodes waits for the others; a dead one is noticed by other means.
_LONGEST_WAIT = timedelta(days=7)
_TO_MEET = timedelta(minutes=5)
_TO_REPORT_SECONDS = 5.0


@dataclass(frozen=True)
class Ranks:
    """One process among those of a run; alone by default.

    Attributes:
        rank: of this process, 0 to ``size`` - 1. Rank 0 writes.
        size: processes of the run.
        local_rank, local_size: the same among those on this machine.
        group: torch's process group, or ``None`` where there is one process.
        store: where ranks report that they are alive when one has died, or ``None``.
        on_error: is told at once what failed here, while the other ranks still work.
    """

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    local_size: int = 1
    group: Any = field(default=None, repr=False)
    store: Any = field(default=None, repr=False)
    on_error: Callable[[Exception], None] | None = field(default=None, repr=False)

    def together(self, work: Callable[[], T]) -> list[T]:
        """Do ``work`` on every rank and give every rank the results of all, in rank order.

        All ranks must call it. An error on one ends the run on all.

        Raises:
            RankError: on another rank ``work`` failed, or the process is gone; the message names
                the rank. What ``work`` raises here is raised as it is.
        """
        if self.size == 1:
            return [work()]
        own_error: Exception | None = None
        message, value = "", b""
        try:
            # Pickled here, so that what cannot be pickled is an error of this rank that all hear.
            value = pickle.dumps(work())
        except Exception as error:
            own_error = error
            if self.on_error is not None:
                self.on_error(error)
            message = f"{type(error).__name__}: {error}"
        outcomes: list[Any] = [None] * self.size
        try:
            with torch.inference_mode(False), torch.device("cpu"):
                distributed.all_gather_object(outcomes, (message, value), group=self.group)
        except RuntimeError as error:
            raise own_error or self._death(error) from error
        if own_error is not None:
            raise own_error
        for rank, (message, _) in enumerate(outcomes):
            if message:
                raise RankError(f"rank {rank} of {self.size} failed with {message}")
        return [pickle.loads(value) for _, value in outcomes]

    def _death(self, error: RuntimeError) -> RankError:
        """Which ranks do not answer: the others wait in the same exchange and fail with it."""
        cause = str(error).strip().partition("\n")[0]
        if self.store is None:
            return RankError(f"a rank of the process group is gone ({cause})")
        try:
            self.store.set(f"alive/{self.rank}", socket.gethostname())
            time.sleep(_TO_REPORT_SECONDS)
            gone = [rank for rank in range(self.size) if not self.store.check([f"alive/{rank}"])]
        except RuntimeError:
            gone = [0]  # it, or what started it, holds the store
        names = ", ".join(map(str, gone)) or "unknown"
        return RankError(
            f"rank {names} of {self.size} is gone: it crashed, was killed, or its machine failed "
            f"({cause})"
        )


ALONE = Ranks()
"""One process."""


def is_started_by_others() -> bool:
    """Whether a launcher such as torchrun, by ``RANK`` and ``WORLD_SIZE``, has started several."""
    return "RANK" in os.environ and os.environ.get("WORLD_SIZE", "1") != "1"


@functools.cache
def environment_ranks(backend: str = "gloo") -> Ranks:
    """Meet the other processes that torchrun, or srun with the same variables, has started.

    Read are ``RANK``, ``WORLD_SIZE``, ``MASTER_ADDR``, ``MASTER_PORT`` and, where there are several
    machines, ``LOCAL_RANK`` and ``LOCAL_WORLD_SIZE``. They meet once; the group lasts as long as
    the process.

    Raises:
        ConfigurationError: a variable is missing, or the others did not come.
    """
    try:
        store, rank, size = next(rendezvous("env://", timeout=_TO_MEET))
        # A store of our own: under torchrun, the training that started us may use the same.
        store = PrefixStore("wbgpu", store)
        store.set_timeout(_TO_MEET)
        return _start_group(
            rank,
            size,
            int(os.environ.get("LOCAL_RANK", rank)),
            int(os.environ.get("LOCAL_WORLD_SIZE", size)),
            store,
            backend,
        )
    except (ValueError, RuntimeError) as error:
        raise ConfigurationError(
            f"RANK={os.environ.get('RANK')} and WORLD_SIZE={os.environ.get('WORLD_SIZE')} say that "
            f"several processes evaluate together, but they did not meet: {error}; start all of "
            "them (torchrun does), or unset both variables to evaluate in this process alone"
        ) from error


def meeting_place(size: int, port: int = 0) -> Any:
    """The store of one machine's processes: held by their parent, which gives no port."""
    return distributed.TCPStore(  # type: ignore[attr-defined]
        "127.0.0.1",
        port,
        size,
        is_master=port == 0,
        timeout=_TO_MEET,
        wait_for_workers=False,
    )


def started_ranks(rank: int, size: int, port: int, backend: str) -> Ranks:
    """Meet the other processes that this machine's `wbgpu.evaluation.processes` has started.

    Args:
        rank: of this one.
        size: how many there are.
        port: of the parent's `meeting_place`.
        backend: ``gloo`` or ``nccl``.
    """
    # Other interfaces may be firewalled, or this machine's name may not resolve.
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    store = meeting_place(size, port)
    return _start_group(rank, size, rank, size, store, backend)


def group_ranks(group: Any = None) -> Ranks:
    """The processes of an initialised group, such as a DDP training's; all must call it.

    They talk over a gloo group of their own, because a rank that waits longer than the training's
    time limit would otherwise end the training. `leave` ends it.

    Args:
        group: of torch.distributed; ``None`` for all processes.
    """
    members = distributed.get_process_group_ranks(group or distributed.group.WORLD)
    if len(members) == 1:
        return ALONE
    own = distributed.new_group(
        members, timeout=_LONGEST_WAIT, backend="gloo", use_local_synchronization=True
    )
    assert isinstance(own, ProcessGroup), "all members call this, and so this process is one"
    rank, size = distributed.get_rank(own), len(members)
    local_rank = int(os.environ.get("LOCAL_RANK", rank))
    return Ranks(rank, size, local_rank, int(os.environ.get("LOCAL_WORLD_SIZE", size)), group=own)


def leave(ranks: Ranks) -> None:
    """Free what `group_ranks` made; the training's group stays."""
    if ranks.group is not None:
        distributed.destroy_process_group(ranks.group)


def rank_device(device: str, local_rank: int, local_size: int) -> torch.device:
    """The device of one process.

    ``auto`` and ``cuda`` give each process on this machine a GPU of its own; a GPU that is named,
    such as ``cuda:0``, is shared by all.

    Raises:
        ConfigurationError: the device is not there, or there are more processes than GPUs.
    """
    chosen = resolve_device(device)
    if chosen.type == "cpu" or local_size == 1 or ":" in device:
        return chosen
    if local_size > torch.cuda.device_count():
        raise ConfigurationError(
            f"trainer.devices: {local_size} processes, but torch sees {torch.cuda.device_count()} "
            "CUDA device(s); give fewer, or name the one that they share: device=cuda:0"
        )
    return torch.device("cuda", local_rank)


def _start_group(
    rank: int, size: int, local_rank: int, local_size: int, store: Any, backend: str
) -> Ranks:
    distributed.init_process_group(
        backend, store=store, rank=rank, world_size=size, timeout=_LONGEST_WAIT
    )
    return Ranks(rank, size, local_rank, local_size, group=distributed.group.WORLD, store=store)
