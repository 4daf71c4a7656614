"""The torchmetrics module: state, ragged episodes, memory, errors, records."""

from __future__ import annotations

import gc
import math

import pytest
import torch

from tests.metrics.frame_videos import episode_statistics, grey
from wbgpu.errors import ConfigurationError
from wbgpu.metrics import Mse, SkillPersistence, TemporalStability
from wbgpu.records.metric import MetricInfo


def test_means_are_over_the_episodes_that_reach_a_horizon():
    """A mean over padded steps would be pulled towards the padding's error."""
    metric = Mse(num_horizons=4)
    target = torch.cat([grey([0, 0, 0]), grey([0, 0, 0])])
    prediction = torch.cat([grey([2, 4, 6]), grey([4, 200, 200])])
    metric.update(prediction, target, valid=torch.tensor([[True] * 3, [True, False, False]]))
    result = metric.compute()
    assert result["step"][:3].tolist() == [(4 + 16) / 2, 16, 36]
    assert result["prefix"][:3].tolist() == [(4 + 16) / 2, (4 + 16) / 2, (4 + 16 + 36) / 3]
    assert result["prefix_count"].tolist() == [2, 1, 1, 0]
    assert math.isnan(result["prefix"][3])


def test_longer_episodes_are_cut_at_num_horizons():
    metric = Mse(num_horizons=2)
    metric.update(grey([1, 2, 3]), grey([0, 0, 0]))
    assert metric.compute()["step"].tolist() == [1, 4]


def test_undefined_values_are_not_counted():
    metric = SkillPersistence(num_horizons=2)
    context = grey([9])[:, 0]
    metric.update(grey([9]), grey([9]), context=context)
    assert metric.compute()["step_count"].tolist() == [0, 0]
    metric.update(grey([9]), grey([5]), context=context)
    assert metric.compute()["step_count"].tolist() == [1, 0]
    assert metric.compute()["step"][0] == 0.0


def test_memory_is_flat_over_updates_from_frames_that_need_gradients():
    """Keeping a graph alive, or a list of values, grows by tensors with every update."""
    model = torch.nn.Linear(4, 4)
    metric = TemporalStability()

    def update() -> None:
        output = model(torch.rand(3 * 3 * 8 * 8, 4)).sigmoid().mean(1)
        frames = (255 * output).to(torch.uint8).reshape(1, 3, 3, 8, 8)
        metric.update(frames, frames)

    def num_tensors() -> int:
        gc.collect()
        return sum(issubclass(type(thing), torch.Tensor) for thing in gc.get_objects())

    for _ in range(5):
        update()
    before = num_tensors()
    for _ in range(200):
        update()
    assert num_tensors() <= before
    assert not metric.prefix_sum.requires_grad


def test_a_refused_batch_shows_both_shapes():
    frames = grey([1, 2])
    with pytest.raises(ValueError, match="expected two equal shapes") as error:
        Mse().update(frames[..., :-1], frames)
    assert "(1, 2, 3, 8, 7)" in str(error.value)
    assert "(1, 2, 3, 8, 8)" in str(error.value)
    with pytest.raises(TypeError, match="uint8"):
        Mse().update(frames / 255, frames)


def test_a_step_after_a_missing_one_is_refused():
    frames = grey([1, 2, 3])
    with pytest.raises(ValueError, match="after a missing one"):
        Mse().update(frames, frames, valid=torch.tensor([[True, False, True]]))
    with pytest.raises(ValueError, match="valid"):
        Mse().update(frames, frames, valid=torch.tensor([[True, True]]))
    with pytest.raises(TypeError, match="valid"):
        Mse().update(frames, frames, valid=torch.tensor([[1, 1, 0]]))


def test_settings_are_checked():
    with pytest.raises(ConfigurationError, match="num_horizons"):
        Mse(num_horizons=0)
    with pytest.raises(ConfigurationError, match="statistics path"):
        Mse(statistics_path="fast").update(grey([1]), grey([1]))


def test_the_record_of_an_episode_has_no_nan():
    metric = SkillPersistence()
    assert metric.info == MetricInfo(
        "skill_persistence", "skill_persistence/wbgpu-1.0", "skill", True
    )
    statistics = episode_statistics(metric, grey([9, 8]), grey([9, 5]), grey([9])[:, 0])
    outcome = metric.outcome(statistics)
    assert outcome.prefix == (None, 1 - 9 / 16)
    assert outcome.step == (None, 1 - 9 / 16)
    assert outcome.value == 1 - 9 / 16
    assert outcome.prefix_reason == "Copying the last context frame is perfect so far."


def test_the_record_is_of_one_episode():
    statistics = episode_statistics(
        Mse(), grey([1]).repeat(2, 1, 1, 1, 1), grey([1]).repeat(2, 1, 1, 1, 1)
    )
    with pytest.raises(ValueError, match="one episode"):
        Mse().outcome(statistics)


def test_forward_gives_the_batch_and_keeps_the_total():
    metric = Mse(num_horizons=2)
    metric(grey([2, 2]), grey([0, 0]))
    batch = metric(grey([4, 4]), grey([0, 0]))
    assert batch["step"].tolist() == [16.0, 16.0]
    assert metric.compute()["step"].tolist() == [10.0, 10.0]


def test_works_in_a_metric_collection_of_torchmetrics():
    from torchmetrics import MetricCollection

    collection = MetricCollection({"mse": Mse(2), "skill": SkillPersistence(2)})
    collection.update(grey([3, 4]), grey([5, 5]), context=grey([1])[:, 0])
    result = collection.compute()
    assert result["mse_step"].tolist() == [4.0, 1.0]
    assert result["skill_step"].tolist() == [0.75, 1 - 1 / 16]
