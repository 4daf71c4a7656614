"""Prequential regret of B episodes side by side: every step is forecast before it is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from wbgpu.errors import ConfigurationError
from wbgpu.records.regret import EpisodeRegret, RegretTotals
from wbgpu.records.world import Variable
from wbgpu.regret.distributions import (
    Floats,
    check_distributions,
    check_log_distributions,
    log_probabilities,
)
from wbgpu.regret.losses import check_outcomes, kl_of_logs, loss_of_logs


class RegretAccumulator:
    """Adds up losses step by step. An episode's numbers do not depend on the batch it is in.

    The variables are independent given what the forecaster was told, so their losses add.

    Args:
        variables: of the world, in its order.
        batch_size: B, episodes.
    """

    def __init__(self, variables: Sequence[Variable], batch_size: int) -> None:
        if batch_size < 1:
            raise ConfigurationError(f"batch_size: expected at least 1, got {batch_size}")
        self._variables = tuple(variables)
        self._batch_size = batch_size
        self._whole = _Sums.zero(batch_size)
        self._parts = [_Sums.zero(batch_size) for _ in self._variables]
        self._step_regret: list[Floats] = []
        self._step_expected: list[Floats] = []

    @property
    def num_steps(self) -> int:
        """Steps so far."""
        return len(self._step_regret)

    def update(
        self,
        forecast: Sequence[npt.ArrayLike],
        outcome: npt.NDArray[np.int64],
        truth: Sequence[npt.ArrayLike],
        *,
        forecast_is_log: bool = False,
    ) -> None:
        """Score one step.

        Args:
            forecast: for each variable probabilities ``[B, K]``.
            outcome: what happened, int64 ``[B, V]``.
            truth: for each variable the answer key's probabilities ``[B, K]``.
            forecast_is_log: the forecast is log-probabilities, which reach further than float64
                probabilities do.

        Raises:
            ConfigurationError: a row is no distribution, an outcome is none of the variable's or
                one that the truth rules out, or a shape is wrong; the message names the variable
                and the row. Nothing has been counted then.
        """
        shape = (self._batch_size, len(self._variables))
        outcome = np.asarray(outcome)
        if outcome.shape != shape:
            raise ConfigurationError(
                f"outcome: expected the shape {[*shape]}, got {[*outcome.shape]}"
            )
        for name, given in (("forecast", forecast), ("truth", truth)):
            if len(given) != len(self._variables):
                raise ConfigurationError(
                    f"{name}: expected {len(self._variables)} variables, got {len(given)}"
                )
        steps = [
            self._score(variable, forecast[v], outcome[:, v], truth[v], forecast_is_log)
            for v, variable in enumerate(self._variables)
        ]
        whole = _Step.zero(self._batch_size)
        for sums, step in zip(self._parts, steps, strict=True):
            sums.add(step)
            whole = whole + step
        self._whole.add(whole)
        self._step_regret.append(whole.regret)
        self._step_expected.append(whole.expected)

    def episodes(self, seeds: Sequence[int]) -> tuple[EpisodeRegret, ...]:
        """What each episode has lost so far; ``seeds`` names them, B integers."""
        if len(seeds) != self._batch_size:
            raise ConfigurationError(f"seeds: expected {self._batch_size}, got {len(seeds)}")
        if not self._step_regret:
            raise ConfigurationError("no step has been scored yet")
        regret, expected = np.stack(self._step_regret, 1), np.stack(self._step_expected, 1)
        return tuple(
            EpisodeRegret(
                seed=int(seed),
                totals=self._whole.totals(row),
                per_variable={
                    variable.name: sums.totals(row)
                    for variable, sums in zip(self._variables, self._parts, strict=True)
                },
                step_regret_nats=tuple(regret[row].tolist()),
                step_expected_regret_nats=tuple(expected[row].tolist()),
            )
            for row, seed in enumerate(seeds)
        )

    def _score(
        self,
        variable: Variable,
        forecast: npt.ArrayLike,
        outcome: npt.NDArray[np.int64],
        truth: npt.ArrayLike,
        forecast_is_log: bool,
    ) -> _Step:
        name, size, rows = f"{variable.name!r}", variable.num_outcomes, self._batch_size
        if forecast_is_log:
            log_q = check_log_distributions(
                forecast, f"forecast of {name}", num_outcomes=size, num_rows=rows
            )
        else:
            log_q = log_probabilities(
                check_distributions(
                    forecast, f"forecast of {name}", num_outcomes=size, num_rows=rows
                )
            )
        p = check_distributions(truth, f"truth of {name}", num_outcomes=size, num_rows=rows)
        log_p = log_probabilities(p)
        outcome = check_outcomes(outcome, p, f"outcome of {name}")
        reference = loss_of_logs(log_p, outcome)
        if np.isinf(reference).any():
            row = int(np.flatnonzero(np.isinf(reference))[0])
            raise ConfigurationError(
                f"truth of {name}, row {row}: gives probability 0 to the outcome "
                f"{variable.outcomes[outcome[row]]!r}, which happened"
            )
        loss = loss_of_logs(log_q, outcome)
        return _Step(loss - reference, kl_of_logs(p, log_p, log_q), reference, loss)


@dataclass(frozen=True)
class _Step:
    """Nats of one step, each ``[B]``."""

    regret: Floats
    expected: Floats
    reference: Floats
    loss: Floats

    @staticmethod
    def zero(batch_size: int) -> _Step:
        zeros = np.zeros(batch_size)
        return _Step(zeros, zeros, zeros, zeros)

    def __add__(self, other: _Step) -> _Step:
        return _Step(
            self.regret + other.regret,
            self.expected + other.expected,
            self.reference + other.reference,
            self.loss + other.loss,
        )


@dataclass
class _Sums:
    """Sums over steps, each ``[B]``: of regret the finite part, with the infinite steps counted."""

    regret: Floats
    expected: Floats
    reference: Floats
    loss: Floats
    num_infinite: npt.NDArray[np.int64] = field(init=False)
    num_infinite_expected: npt.NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.num_infinite = np.zeros(len(self.regret), dtype=np.int64)
        self.num_infinite_expected = np.zeros(len(self.regret), dtype=np.int64)

    @staticmethod
    def zero(batch_size: int) -> _Sums:
        return _Sums(*(np.zeros(batch_size) for _ in range(4)))

    def add(self, step: _Step) -> None:
        lost, ruled_out = np.isinf(step.loss), np.isinf(step.expected)
        self.regret += np.where(lost, 0.0, step.regret)
        self.loss += step.loss
        self.reference += step.reference
        self.expected += np.where(ruled_out, 0.0, step.expected)
        self.num_infinite += lost
        self.num_infinite_expected += ruled_out

    def totals(self, row: int) -> RegretTotals:
        num_infinite = int(self.num_infinite[row])
        num_expected = int(self.num_infinite_expected[row])
        finite_regret, finite_expected = float(self.regret[row]), float(self.expected[row])
        return RegretTotals(
            cumulative_regret_nats=np.inf if num_infinite else finite_regret,
            expected_regret_nats=np.inf if num_expected else finite_expected,
            reference_loss_nats=float(self.reference[row]),
            log_loss_nats=float(self.loss[row]),
            num_infinite=num_infinite,
            num_infinite_expected=num_expected,
            finite_regret_nats=finite_regret,
            finite_expected_regret_nats=finite_expected,
        )
