"""One rank's part of an evaluation, from request to result; one process alone is rank 0 of 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from wbgpu.errors import JournalError, NothingScoredError, RankError
from wbgpu.evaluation.distances import distribution_distances
from wbgpu.evaluation.inputs import InputDigests
from wbgpu.evaluation.journal import FinishedEpisode, Journal
from wbgpu.evaluation.measure import measure
from wbgpu.evaluation.ranks import Ranks, rank_device
from wbgpu.evaluation.request import EvaluationRequest
from wbgpu.evaluation.result import journal_header, suite_result
from wbgpu.evaluation.sharding import episode_cost, shards
from wbgpu.records.distribution_distance import Features
from wbgpu.records.garbage import collection_paused
from wbgpu.records.suite import EpisodeResult, SuiteResult
from wbgpu.records.timeline import NO_TIMELINE, Timeline


def run_rank(
    request: EvaluationRequest,
    ranks: Ranks,
    *,
    on_plan: Callable[[Sequence[str]], None] | None = None,
    on_episode: Callable[[EpisodeResult], None] | None = None,
    show_progress: bool = False,
    timeline: Timeline = NO_TIMELINE,
) -> SuiteResult:
    """The part of one rank; see `run`.

    Args:
        request: what to evaluate.
        ranks: this process among the others.
        on_plan: is given the ids of the episodes that this rank evaluates, in their order.
        on_episode: is given the record of each as soon as it is complete.
        show_progress: show this rank's progress on standard error.
        timeline: measures this rank's stages.
    """
    part = _Part(request, ranks, timeline)
    with ExitStack() as stack:
        plans = ranks.together(lambda: part.plan(stack))
        for rank, plan in enumerate(plans):
            if plan.episode_ids != plans[0].episode_ids:
                raise RankError(
                    f"rank {rank} sees other episodes than rank 0: {len(plan.episode_ids)} and "
                    f"{len(plans[0].episode_ids)}; both need the same files under the same paths"
                )
        plan = plans[0]
        if on_plan is not None:
            on_plan([plan.episode_ids[index] for index in plan.shards[ranks.rank]])
        rows = ranks.together(lambda: part.measure(plan, stack, on_episode, show_progress))
    finished: dict[int, FinishedEpisode] = {}
    for part_rows in rows:
        finished |= part_rows.finished
    in_order = [finished[index] for index in range(len(plan.episode_ids))]
    _raise_if_nothing_scored([row.episode for row in in_order])
    input_sha256: dict[str, str] = {}
    for row in in_order:
        input_sha256 |= row.input_sha256
    with timeline.span("summarize"), collection_paused():
        distances = distribution_distances(request.distances, in_order)
        return suite_result(
            request,
            tuple(row.episode for row in in_order),
            plan.device,
            rows[0].dataset_identifier,
            input_sha256,
            distances,
        )


@dataclass(frozen=True)
class _Plan:
    """Who evaluates what; of rank 0, but its ids are those that each rank sees itself."""

    episode_ids: tuple[str, ...]
    device: torch.device
    shards: Sequence[Sequence[int]] = ()
    journal: Path | None = None
    journal_header: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Rows:
    """What one rank has to tell; the identifier is of rank 0."""

    finished: Mapping[int, FinishedEpisode]
    dataset_identifier: str | None


class _Part:
    """One rank's inputs, and its journal while there is one."""

    def __init__(self, request: EvaluationRequest, ranks: Ranks, timeline: Timeline) -> None:
        self._request = request
        self._ranks = ranks
        self._timeline = timeline
        self._journal: Journal | None = None
        self._resumed: dict[int, FinishedEpisode] = {}

    def plan(self, stack: ExitStack) -> _Plan:
        """Look at the inputs; on rank 0 also open the journal and deal out what it lacks."""
        request, ranks = self._request, self._ranks
        self._device = rank_device(request.device, ranks.local_rank, ranks.local_size)
        self._pairs = request.with_actions(request.pairs())
        self._logits = request.logit_files(self._pairs)
        actions = request.action_files(self._pairs)
        self._digests = InputDigests(
            self._pairs, self._logits, request.live, actions, self._timeline
        )
        ids = tuple(pair.episode_id for pair in self._pairs)
        self._index_of = {episode_id: index for index, episode_id in enumerate(ids)}
        if ranks.rank > 0:
            return _Plan(ids, self._device)
        header: dict[str, Any] = {}
        if request.journal is not None:
            header = journal_header(request, self._device, self._digests.sizes())
            self._journal = stack.enter_context(
                Journal(request.journal, header, resume=request.resume)
            )
            self._resume(self._journal)
        costs = {
            index: episode_cost(pair)
            for index, pair in enumerate(self._pairs)
            if index not in self._resumed
        }
        dealt = shards(costs, ranks.size)
        return _Plan(ids, self._device, dealt, request.journal, header)

    def measure(
        self,
        plan: _Plan,
        stack: ExitStack,
        on_episode: Callable[[EpisodeResult], None] | None,
        show_progress: bool,
    ) -> _Rows:
        """Evaluate this rank's episodes, and read the digests of their files meanwhile."""
        rank = self._ranks.rank
        mine = plan.shards[rank]
        if plan.journal is not None and rank > 0:
            self._journal = stack.enter_context(
                Journal(plan.journal, plan.journal_header, rank=rank)
            )

        def record(episode: EpisodeResult, features: Features) -> None:
            if self._journal is not None:
                index = self._index_of[episode.episode_id]
                self._journal.append(episode, lambda: self._digests.of(index), features)
            if on_episode is not None:
                on_episode(episode)

        read = self._digests.read if rank > 0 else self._digests.read_dataset
        with ThreadPoolExecutor(1, "wbgpu-digests") as pool:
            identifier = pool.submit(read, frozenset(mine))
            try:
                with self._journal or nullcontext():
                    episodes, features = measure(
                        self._request,
                        self._pairs,
                        self._logits,
                        mine,
                        self._device,
                        on_episode=record if self._journal or on_episode else None,
                        num_sharing=self._ranks.local_size,
                        show_progress=show_progress,
                        timeline=self._timeline,
                    )
            except BaseException:
                self._digests.stop()
                raise
        measured = {
            index: FinishedEpisode(episode, self._digests.of(index), features.get(index, {}))
            for index, episode in episodes.items()
        }
        return _Rows({**self._resumed, **measured}, identifier.result())

    def _resume(self, journal: Journal) -> None:
        for episode_id, row in journal.finished.items():
            index = self._index_of[episode_id]
            now = self._digests.of(index)
            if row.input_sha256 != now:
                changed = sorted(
                    key
                    for key in {*row.input_sha256, *now}
                    if row.input_sha256.get(key) != now.get(key)
                )
                raise JournalError(
                    f"{self._request.journal}: {', '.join(changed)} has changed since the journal "
                    "was written, so its scores are of other files; restore it, or leave resume "
                    "away to start anew"
                )
            self._resumed[index] = row


def _raise_if_nothing_scored(episodes: Sequence[EpisodeResult]) -> None:
    reasons = [episode.failure.message for episode in episodes if episode.failure is not None]
    if len(reasons) == len(episodes):
        more = f"\n... and {len(reasons) - 3} more" if len(reasons) > 3 else ""
        raise NothingScoredError("\n".join(reasons[:3]) + more)
