"""Log-loss of an episode's saved logits, by step, as a metric beside those of its frames."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from wbgpu.episodes.logits import LogitFiles
from wbgpu.evaluation.logit_reader import WINDOW_BYTES, LogitReader, LogitWindow
from wbgpu.metrics.loss_means import loss_columns, loss_means
from wbgpu.metrics.prediction_losses import prediction_losses
from wbgpu.records.metric import MetricInfo, MetricOutcome
from wbgpu.statistics.logit_rows import RowError

TOKEN_LOG_LOSS = MetricInfo(
    "log_loss", "log_loss/token-mean-1.0", "nats per token", higher_is_better=False
)
"""Mean over tokens of -ln of the probability that the logits give to the target."""


def token_log_loss(
    files: LogitFiles, num_steps: int, device: torch.device, statistics_path: str = "auto"
) -> MetricOutcome:
    """Score one episode's tokens.

    The prefix view is over all tokens of steps 1..t. Where a token's loss is infinite there is no
    value: the outcome is an error, whose reason counts them and has the mean of the others.
    Details: ``top1_accuracy``; with a reference also ``reference_loss_nats`` and ``regret_nats``,
    and where it is logits ``expected_regret_nats``.

    Args:
        files: of the episode.
        num_steps: T, steps that the videos were scored for.
        device: where to compute.
        statistics_path: of the path, see `wbgpu.statistics.resolve_path`; only ``reference`` is
            taken over.

    Returns:
        An error, and no exception, when the files are wrong: that costs one value, not the run.
    """
    try:
        with LogitReader(files) as reader:
            place = str(files.paths["logits"])
            return _log_loss(reader, place, num_steps, device, statistics_path)
    except Exception as error:
        return _error(type(error).__name__, str(error) or repr(error))


class TensorLogits:
    """Logits of one episode that are in memory, in place of a `LogitReader`.

    Attributes:
        shape: T, tokens, K of the logits.

    Args:
        tensors: ``logits [T, tokens, K]``, ``targets [T, tokens]`` and perhaps a reference, named
            as in a file.
    """

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        self._tensors = dict(tensors)
        num_steps, num_tokens, num_classes = self._tensors["logits"].shape
        self.shape = num_steps, num_tokens, num_classes

    def windows(self) -> Iterator[LogitWindow]:
        """All tokens of all steps, a few steps at once."""
        num_steps, num_tokens, num_classes = self.shape
        num_bytes = num_tokens * num_classes * self._tensors["logits"].element_size()
        size = max(1, WINDOW_BYTES // max(1, num_bytes))
        for first in range(0, num_steps, size):
            steps = slice(first, min(first + size, num_steps))
            parts = {name: tensor[steps] for name, tensor in self._tensors.items()}
            yield LogitWindow(steps, slice(0, num_tokens), parts)


def logits_log_loss(
    logits: TensorLogits, num_steps: int, device: torch.device, statistics_path: str = "auto"
) -> MetricOutcome:
    """As `token_log_loss`, of logits that a model has just predicted."""
    try:
        return _log_loss(logits, "the model", num_steps, device, statistics_path)
    except Exception as error:
        return _error(type(error).__name__, str(error) or repr(error))


def _log_loss(
    reader: LogitReader | TensorLogits,
    place: str,
    num_steps: int,
    device: torch.device,
    statistics_path: str,
) -> MetricOutcome:
    if reader.shape[0] != num_steps:
        raise ValueError(
            f"{place}: logits of {reader.shape[0]} steps, but the videos have {num_steps} scored "
            "ones"
        )
    return _outcome(*_step_columns(reader, device, statistics_path))


def _step_columns(
    reader: LogitReader | TensorLogits, device: torch.device, statistics_path: str
) -> tuple[Tensor, Tensor]:
    """Sums and counts of `loss_columns` over the tokens of each step, ``[..., T]``."""
    by_step: dict[int, tuple[Tensor, Tensor]] = {}
    path = "reference" if statistics_path == "reference" else "auto"
    for window in reader.windows():
        tensors = {name: tensor.to(device) for name, tensor in window.tensors.items()}
        try:
            losses = prediction_losses(
                tensors["logits"],
                tensors["targets"],
                reference_logits=tensors.get("reference_logits"),
                reference_loss_nats=tensors.get("reference_loss_nats"),
                statistics_path=path,
            )
        except RowError as error:
            step, token = (
                part.start + index + 1
                for part, index in zip((window.steps, window.tokens), error.row, strict=True)
            )
            raise ValueError(
                f"{error.subject}, step {step}, token {token}: {error.reason}"
            ) from error
        sums, counts = (columns.sum(-1) for columns in loss_columns(losses))
        for index in range(sums.shape[-1]):
            step, columns = window.steps.start + index, (sums[..., index], counts[..., index])
            if before := by_step.get(step):
                columns = (before[0] + columns[0], before[1] + columns[1])
            by_step[step] = columns
    steps = [by_step[step] for step in range(reader.shape[0])]
    return (
        torch.stack([step[0] for step in steps], dim=-1).cpu(),
        torch.stack([step[1] for step in steps], dim=-1).cpu(),
    )


def _outcome(sums: Tensor, counts: Tensor) -> MetricOutcome:
    prefixes = loss_means(sums.cumsum(-1), counts.cumsum(-1))
    prefix = _finite(prefixes["log_loss_nats"])
    if prefix[-1] is None:
        whole = {name: column[-1].item() for name, column in prefixes.items()}
        reason = f"infinite: {whole['num_infinite']} of {whole['count']} targets have probability 0"
        if whole["num_infinite"] < whole["count"]:
            reason += f"; the others' mean is {whole['finite_log_loss_nats']:.4g} nats"
        return _error("InfiniteLogLoss", reason)
    names = ["top1_accuracy"]
    names += ["reference_loss_nats", "regret_nats"] if prefixes["reference_count"].all() else []
    names += ["expected_regret_nats"] if prefixes["expected_count"].all() else []
    return MetricOutcome(
        TOKEN_LOG_LOSS.name,
        TOKEN_LOG_LOSS.metric_id,
        "available",
        value=prefix[-1],
        prefix=prefix,
        step=_finite(loss_means(sums, counts)["log_loss_nats"]),
        prefix_details={name: _finite(prefixes[name]) for name in names},
    )


def _finite(column: Tensor) -> tuple[float | None, ...]:
    return tuple(value if math.isfinite(value) else None for value in column.tolist())


def _error(kind: str, reason: str) -> MetricOutcome:
    return MetricOutcome(
        TOKEN_LOG_LOSS.name, TOKEN_LOG_LOSS.metric_id, "error", reason=reason, error_type=kind
    )
