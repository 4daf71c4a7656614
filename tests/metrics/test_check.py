"""check_metric finds each way to break the contract; a check that finds nothing proves nothing."""

from __future__ import annotations

import pytest
import torch

from wbgpu.metrics import HorizonMetric, HorizonValues, Mse, check_metric
from wbgpu.metrics.exact_state import ExactStateMetric


class _Good(Mse):
    """A metric of a user."""


class _LooksAhead(Mse):
    """Normalises by the last step, which earlier horizons must not know."""

    def episode_values(self, statistics):
        values = super().episode_values(statistics)
        return HorizonValues(values.prefix - values.prefix[:, -1:], values.step)


class _MixesEpisodes(Mse):
    """Centres on the batch's mean."""

    def episode_values(self, statistics):
        values = super().episode_values(statistics)
        return HorizonValues(values.prefix - values.prefix.mean(0), values.step)


class _Float32(Mse):
    """Loses precision."""

    def episode_values(self, statistics):
        values = super().episode_values(statistics)
        return HorizonValues(values.prefix.float(), values.step)


class _Infinite(Mse):
    """Divides by zero on equal frames."""

    def episode_values(self, statistics):
        values = super().episode_values(statistics)
        return HorizonValues(values.prefix, 1 / values.step)


class _InPlace(Mse):
    """Updates its state in place, which inference_mode breaks."""

    def _add_totals(self, sums, counts):
        num_steps = sums.shape[1]
        for state, values in zip(self._totals(), (sums, counts), strict=True):
            state[:, :num_steps] += values


class _NoId(Mse):
    """Has an id without a version."""

    metric_id = "mse"


class _UnknownGroup(Mse):
    """Asks for statistics that do not exist."""

    statistics = frozenset({"squared_error", "sharpness"})


class _ForgetsPadding(Mse):
    """Counts steps that do not exist."""

    def horizon_values(self, statistics, valid=None):
        return super().horizon_values(statistics)


class _Overwrites(Mse):
    """Keeps only the last batch."""

    def _add_totals(self, sums, counts):
        for name, state in self.metric_state.items():
            setattr(self, name, torch.zeros_like(state))
        super()._add_totals(sums, counts)


class _CutsLongEpisodes(Mse):
    """Drops steps after the last horizon and says nothing."""

    def update(self, prediction, target, valid=None, context=None):
        n = self.num_horizons
        super().update(
            prediction[:, :n], target[:, :n], None if valid is None else valid[:, :n], context
        )


class _LateId(Mse):
    """Has states named after the id of another metric."""

    def __init__(self, num_horizons=16, **arguments):
        super().__init__(num_horizons, **arguments)
        self.metric_id = "late/1.0"


class _StaleResult(Mse):
    """Gives out a result from before the last update."""

    def update_statistics(self, statistics, valid=None):
        self._add_episodes(statistics, valid)


class _HalfPrecision(Mse):
    """Follows the model's dtype, as torchmetrics does."""

    def _apply(self, fn, exclude_state=""):
        return super(ExactStateMetric, self)._apply(fn, exclude_state)


class _HalfPrecisionAfterReset(Mse):
    """Keeps its sums, but lets what they are reset to follow the model."""

    def _apply(self, fn, exclude_state=""):
        super()._apply(fn, exclude_state)
        self._defaults = {name: fn(value) for name, value in self._defaults.items()}
        return self


class _Undocumented(HorizonMetric):
    name = "undocumented"
    metric_id = "undocumented/1.0"
    unit = "score"
    higher_is_better = True
    statistics = frozenset({"squared_error"})

    def episode_values(self, statistics):
        raise AssertionError("the docstring is checked first")


@pytest.mark.parametrize("num_horizons", [1, 2, 16])
def test_a_good_metric_passes(num_horizons):
    """A false alarm would make users leave the check out."""
    check_metric(_Good(num_horizons))


@pytest.mark.filterwarnings("ignore:The ``compute`` method of metric _StaleResult")
@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (_LooksAhead, "horizon|alone"),
        (_MixesEpisodes, "order|alone"),
        (_Float32, "float64"),
        (_Infinite, "infinity"),
        (_NoId, "metric_id"),
        (_UnknownGroup, "statistics"),
        (_ForgetsPadding, "missing"),
        (_Overwrites, "count"),
        (_CutsLongEpisodes, "num_horizons"),
        (_LateId, "named after metric_id"),
        (_StaleResult, "update_statistics"),
        (_HalfPrecision, r"float64 and int64 after to\(torch.float16\)"),
        (_HalfPrecisionAfterReset, r"float64 and int64 after .* and reset\(\)"),
        (_Undocumented, "docstring"),
    ],
)
def test_each_fault_is_found(metric, message):
    """By its own check, not by chance in another."""
    with pytest.raises(AssertionError, match=message):
        check_metric(metric())


def test_state_updated_in_place_is_found():
    """The second validation epoch of a training loop would crash."""
    with pytest.raises((AssertionError, RuntimeError)):
        check_metric(_InPlace())
