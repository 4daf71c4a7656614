"""Run one evaluation from request to result."""

from __future__ import annotations

from wbgpu.errors import ConfigurationError
from wbgpu.evaluation.processes import run_in_processes
from wbgpu.evaluation.ranks import ALONE, Ranks
from wbgpu.evaluation.request import EvaluationRequest
from wbgpu.evaluation.run_rank import run_rank
from wbgpu.records.suite import SuiteResult
from wbgpu.records.timeline import NO_TIMELINE, Timeline


def run(
    request: EvaluationRequest,
    *,
    ranks: Ranks | None = None,
    show_progress: bool = False,
    timeline: Timeline = NO_TIMELINE,
) -> SuiteResult:
    """Decode, measure and score every episode of the request.

    The result does not depend on how many processes take part, nor on whether it was resumed.

    Args:
        request: what to evaluate; the same on every rank.
        ranks: the processes that evaluate it together, all of which call this and get the whole
            result. ``None``: this process alone, or those that ``request.num_processes`` asks for,
            which are started here.
        show_progress: show a progress bar on standard error.
        timeline: measures the stages; the result does not depend on it.

    Raises:
        InputError: folders or files that do not exist or do not pair up, or a journal that is not
            of this evaluation.
        ConfigurationError: the device is not there.
        NothingScoredError: every episode failed; the message has the first reasons.
        RankError: another rank failed or died.
    """
    if request.num_processes == 1:
        return run_rank(request, ranks or ALONE, show_progress=show_progress, timeline=timeline)
    if ranks is not None:
        raise ConfigurationError(
            f"trainer.devices: {request.num_processes} processes were asked for, but "
            f"{ranks.size} have been started already (by torchrun, srun or a training); leave it"
            " out"
        )
    if timeline.is_on:
        raise ConfigurationError(
            "profile: stages are measured in one process; set trainer.devices=1 or profile=false"
        )
    return run_in_processes(request, show_progress=show_progress)
