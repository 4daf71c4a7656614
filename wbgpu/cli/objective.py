"""What an optimising sweeper is given of a result of videos."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wbgpu.errors import ConfigurationError
from wbgpu.records.metric import SCORE_UNIT
from wbgpu.records.suite import SuiteResult

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from wbgpu.evaluation.request import EvaluationRequest

COMPOSITE = "composite"


def checked_objective(
    config: DictConfig, overrides: Sequence[str], request: EvaluationRequest
) -> str:
    """The configured objective, refused before the work is done where it makes no sense.

    Raises:
        ConfigurationError: no metric of that name is measured, or it is none of scores and what a
            job without a value counts as is not said.
    """
    from wbgpu.evaluation.composition import is_named

    objective = config.objective
    known = (COMPOSITE, *request.metrics, *(["log_loss"] if request.logits else []))
    if objective not in known:
        raise ConfigurationError(
            f"objective: {objective!r} is not measured; known: {', '.join(known)}"
        )
    if _unit(objective, request) != SCORE_UNIT and not is_named(overrides, "objective_if_failed"):
        raise ConfigurationError(
            f"objective: 0 is the worst of scores, but {objective} is in "
            f"{_unit(objective, request)}; say what a job without a value counts as: "
            "objective_if_failed=NUMBER (or null, to end the sweep)"
        )
    return str(objective)


def objective_value(result: SuiteResult, objective: str) -> float | None:
    """The suite's composite, or the mean of a metric; ``None`` where no episode has it."""
    if objective == COMPOSITE:
        return result.summary.score
    summary = result.summary.metrics.get(objective)
    return None if summary is None or summary.distribution is None else summary.distribution.mean


def _unit(objective: str, request: EvaluationRequest) -> str:
    if objective == COMPOSITE:
        return SCORE_UNIT
    metric = request.metrics.get(objective)
    return "nats per token" if metric is None else metric.info.unit
