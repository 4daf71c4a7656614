"""Start the processes of a run on this machine, watch them, and end them together.

This process is none of the ranks: it waits for whichever speaks or dies first, so a rank that is
gone is noticed at once, wherever the others wait for it.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from multiprocessing.process import BaseProcess

import torch
from torch.distributed import destroy_process_group

from wbgpu.errors import ConfigurationError, NothingScoredError, RankError, WbgpuError
from wbgpu.evaluation.progress import ProgressBar
from wbgpu.evaluation.ranks import meeting_place, rank_device, started_ranks
from wbgpu.evaluation.request import EvaluationRequest
from wbgpu.evaluation.run_rank import run_rank
from wbgpu.records.suite import EpisodeResult, SuiteResult

_SETTLING_SECONDS = 2.0
_NUM_NAMED = 4
# Each imports torch; by a slip of the finger they would bring the machine down.
_MOST_PER_CPU = 4


@dataclass
class _Rank:
    """A process as its parent sees it.

    Attributes:
        episode_ids: those that it has yet to finish, in its order; ``None`` until it says.
        error: what ended it, as it said itself.
        is_open: whether more may be heard of it.
        is_done: whether it has said that it came to its end.
    """

    rank: int
    process: SpawnProcess
    connection: Connection
    episode_ids: list[str] | None = None
    error: BaseException | None = None
    is_open: bool = True
    is_done: bool = False


def run_in_processes(request: EvaluationRequest, *, show_progress: bool = False) -> SuiteResult:
    """Evaluate with ``request.num_processes`` processes of this machine.

    Not with ``fork``: CUDA, and the threads of decoders, do not survive it. So a script that calls
    this is imported again by each process and needs ``if __name__ == "__main__":``.

    Raises:
        RankError: a process failed or died; the message says which, how, and in which episodes.
    """
    if getattr(multiprocessing.process.current_process(), "_inheriting", False):
        raise ConfigurationError(
            "trainer.devices: the processes that it starts import this script again, and are about "
            'to start further ones; put what the script does under if __name__ == "__main__":'
        )
    try:
        pickle.dumps(request)
    # Whatever a model's own class makes of it.
    except Exception as error:
        raise ConfigurationError(
            f"trainer.devices: what is evaluated cannot be sent to other processes ({error}); name "
            "the model in the configuration (model=module model.module=...) or start the "
            "processes with torchrun instead of giving the model as an object"
        ) from error
    size, most = request.num_processes, _MOST_PER_CPU * (os.cpu_count() or 1)
    if size > most:
        raise ConfigurationError(
            f"trainer.devices: {size} processes are more than this machine can be asked for "
            f"({most}, {_MOST_PER_CPU} per CPU)"
        )
    rank_device(request.device, size - 1, size)
    num_episodes = len(request.pairs())
    store = meeting_place(size)
    context = multiprocessing.get_context("spawn")
    ranks: list[_Rank] = []
    bar = ProgressBar(num_episodes) if show_progress else None
    try:
        for rank in range(size):
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(
                target=_rank_main,
                args=(rank, size, store.port, request, theirs),
                name=f"wbgpu rank {rank}",
                daemon=True,
            )
            process.start()
            theirs.close()
            ranks.append(_Rank(rank, process, ours))
        if bar is not None:
            bar.start()
        return _result_of(ranks, bar)
    finally:
        if bar is not None:
            bar.stop()
        for each in ranks:
            # Nothing is lost: what is in the journal is on the disk.
            each.process.kill()
        for each in ranks:
            each.process.join()
            each.connection.close()


def _result_of(ranks: Sequence[_Rank], bar: ProgressBar | None) -> SuiteResult:
    result: SuiteResult | None = None
    while any(each.is_open for each in ranks):
        for connection in wait([each.connection for each in ranks if each.is_open]):
            each = next(each for each in ranks if each.connection is connection)
            result = _received(each, bar) or result
            # A process that dies closes its end.
            if each.error is not None or not (each.is_open or each.is_done):
                raise _failure(ranks)
    assert result is not None
    return result


def _received(each: _Rank, bar: ProgressBar | None) -> SuiteResult | None:
    """Take one message of a rank; the result is what one of them sends at last."""
    try:
        message = each.connection.recv()
    except (EOFError, OSError):
        each.is_open = False
        return None
    if isinstance(message, SuiteResult):
        return message
    if message is None:
        each.is_done = True
    elif isinstance(message, BaseException):
        each.error = message
    elif isinstance(message, _Finished):
        if each.episode_ids is not None:
            each.episode_ids.remove(message.episode_id)
        if bar is not None:
            bar.advance(1, message.num_frames)
    else:
        each.episode_ids = message
    return None


def _failure(ranks: Sequence[_Rank]) -> WbgpuError:
    """What really happened: where one dies, others fail too, and may be the first to say so."""
    deadline = time.monotonic() + _SETTLING_SECONDS
    while any(each.is_open for each in ranks) and time.monotonic() < deadline:
        for connection in wait([e.connection for e in ranks if e.is_open], timeout=0.1):
            _received(next(e for e in ranks if e.connection is connection), None)
    for each in ranks:
        if not each.is_open and each.error is None and not each.is_done:
            each.process.join()
            return RankError(
                f"rank {each.rank} of {len(ranks)} {_death(each.process.exitcode)}{_at(each)}; "
                "the other ranks were ended"
            )
    spoken = [each for each in ranks if each.error is not None]
    first = next((each for each in spoken if not isinstance(each.error, RankError)), spoken[0])
    if isinstance(first.error, WbgpuError) and first.rank == 0:
        return first.error  # as one process alone would have raised it
    if isinstance(first.error, (RankError, NothingScoredError)):
        return first.error  # of all of them
    return RankError(f"rank {first.rank} of {len(ranks)} failed{_at(first)}: {first.error}")


def _death(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        try:
            name = signal.Signals(-exit_code).name
        except ValueError:
            name = f"signal {-exit_code}"
        hint = " (out of memory, if nobody killed it)" if name == "SIGKILL" else ""
        return f"was killed by {name}{hint}"
    return f"ended with exit code {exit_code}"


def _at(each: _Rank) -> str:
    if each.episode_ids is None:
        return " before its first episode"
    if not each.episode_ids:
        return " after its last episode"
    names = ", ".join(map(repr, each.episode_ids[:_NUM_NAMED]))
    more = f"; {len(each.episode_ids)} left" if len(each.episode_ids) > _NUM_NAMED else ""
    return f" while it evaluated {names}{more}"


@dataclass(frozen=True)
class _Finished:
    """Sent for each episode."""

    episode_id: str
    num_frames: int


def _rank_main(
    rank: int, size: int, port: int, request: EvaluationRequest, connection: Connection
) -> None:
    """What a started process does."""
    # Ctrl-C reaches all processes of a terminal; the parent ends us.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    torch.set_num_threads(max(1, torch.get_num_threads() // size))
    try:
        result = _evaluate(rank, size, port, request, connection)
        if rank == 0:
            connection.send(result)
        connection.send(None)
    except Exception as error:
        connection.send(_sendable(error))
    except KeyboardInterrupt:
        # What Lightning makes of SIGTERM, which SLURM sends to all processes of a job.
        os._exit(128 + signal.SIGTERM)
    connection.close()


def _sendable(error: Exception) -> Exception:
    """Errors of others may not pickle, and a fault says more with its traceback."""
    if isinstance(error, WbgpuError):
        return error
    return RuntimeError("".join(traceback.format_exception(error)).rstrip())


def _evaluate(
    rank: int, size: int, port: int, request: EvaluationRequest, connection: Connection
) -> SuiteResult:
    device = rank_device(request.device, rank, size)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    ranks = replace(
        started_ranks(rank, size, port, request.process_backend),
        on_error=lambda error: connection.send(_sendable(error)),
    )

    def finished(episode: EpisodeResult) -> None:
        connection.send(_Finished(episode.episode_id, episode.num_steps))

    try:
        return run_rank(
            request,
            ranks,
            on_plan=lambda episode_ids: connection.send(list(episode_ids)),
            on_episode=finished,
        )
    finally:
        destroy_process_group()


def _end_with(parent: BaseProcess) -> None:
    """Where the parent was killed, nobody waits for the result."""
    wait([parent.sentinel])
    os._exit(1)
