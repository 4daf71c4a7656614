"""check_metric finds each way to break the contract; a check that finds nothing proves nothing."""

from __future__ import annotations

import pytest
import torch

from wbgpu.metrics import HorizonMetric, HorizonValues, Mse, check_metric


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

    def _add(self, total, count, values):
        sums, counts = super()._add(torch.zeros_like(total), torch.zeros_like(count), values)
        return total.add_(sums), count.add_(counts)


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

    def _add(self, total, count, values):
        return super()._add(torch.zeros_like(total), torch.zeros_like(count), values)


class _HalfPrecision(Mse):
    """Follows the model's dtype."""

    def set_dtype(self, dst_type):
        return super(HorizonMetric, self).set_dtype(dst_type)


class _Undocumented(HorizonMetric):
    name = "undocumented"
    metric_id = "undocumented/1.0"
    unit = "score"
    higher_is_better = True
    statistics = frozenset({"squared_error"})


def test_a_good_metric_passes():
    check_metric(_Good())
    check_metric(_Good(num_horizons=2))


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
        (_HalfPrecision, "float64"),
        (_Undocumented, "docstring"),
    ],
)
def test_each_fault_is_found(metric, message):
    with pytest.raises(AssertionError, match=message):
        check_metric(metric())


def test_state_updated_in_place_is_found():
    with pytest.raises((AssertionError, RuntimeError)):
        check_metric(_InPlace())
