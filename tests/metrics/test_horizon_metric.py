"""The torchmetrics module: state, ragged episodes, memory, errors, records."""

from __future__ import annotations

import gc
import math
from functools import partial

import numpy as np
import pytest
import torch

from tests.metrics.frame_videos import episode_statistics, grey
from wbgpu.errors import ConfigurationError
from wbgpu.metrics import (
    DynamicMse,
    DynamicPsnr,
    DynamicSsim,
    MeanPsnr,
    Mse,
    SkillPersistence,
    SkillPersistenceDynamic,
    SsimWang2004,
    TemporalFidelity,
    TemporalStability,
    VisualSimilarity,
    check_metric,
)
from wbgpu.records.metric import MetricInfo
from wbgpu.statistics import GROUPS, FrameBatch, frame_statistics

ALL_METRICS = [
    DynamicMse,
    DynamicPsnr,
    DynamicSsim,
    MeanPsnr,
    Mse,
    SkillPersistence,
    SkillPersistenceDynamic,
    SsimWang2004,
    TemporalFidelity,
    TemporalStability,
    VisualSimilarity,
]


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


def test_longer_episodes_are_refused_and_say_what_to_do():
    """Cutting them would report horizon 2 as the end of a rollout of 3."""
    metric = Mse(num_horizons=2)
    frames = grey([1, 2, 3])
    with pytest.raises(ValueError, match=r"of mse is 2, .* have 3 steps; .*num_horizons=3"):
        metric.update(frames, frames)
    with pytest.raises(ValueError, match="have 3 steps"):
        metric.update_statistics(episode_statistics(metric, frames, frames))


def test_undefined_values_are_not_counted():
    """As zeros they would pull a mean towards the copy's skill."""
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
    # The fast path keeps memory for each thread, which may start late.
    metric = TemporalStability(statistics_path="reference")

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
    for _ in range(50):
        update()
    assert num_tensors() <= before
    assert not any(state.requires_grad for state in metric.metric_state.values())


def test_many_metrics_share_one_pass_over_the_frames(monkeypatch):
    """Each on its own would read the frames again, ten times for ten metrics."""
    metrics = [Mse(3), SkillPersistence(3), TemporalStability(3), VisualSimilarity(3, ssim="luma")]
    frames = grey([1, 9, 4]), grey([2, 2, 2])
    alone = []
    for metric in metrics:
        metric.update(*frames, context=grey([0])[:, 0])
        alone.append(metric.compute())
        metric.reset()
    groups = frozenset().union(*(metric.statistics for metric in metrics))
    batch = FrameBatch.from_videos(*frames, grey([0])[:, 0])
    statistics = frame_statistics(batch, groups).reshape(1, 3)
    monkeypatch.setattr("wbgpu.metrics.horizon_metric.frame_statistics", None)
    for metric, expected in zip(metrics, alone, strict=True):
        metric.update_statistics(statistics)
        assert metric.update_count == 1
        for name, value in metric.compute().items():
            torch.testing.assert_close(value, expected[name], rtol=0, atol=0, equal_nan=True)


def test_statistics_that_do_not_fit_are_refused_by_name():
    """Rows that were not reshaped are no episodes; a group that is missing is not zero."""
    metric = Mse()
    statistics = episode_statistics(metric, grey([1, 2]), grey([1, 1]))
    with pytest.raises(ValueError, match=r"statistics \(2,\): expected \[B, T\].*reshape"):
        metric.update_statistics(statistics.reshape(2))
    with pytest.raises(ValueError, match="'prediction_delta_sum' was not computed"):
        TemporalStability().update_statistics(statistics)
    with pytest.raises(ValueError, match="valid"):
        metric.update_statistics(statistics, torch.tensor([[True]]))
    assert not any(bool(state.any()) for state in metric.metric_state.values())


def test_a_refused_batch_shows_both_shapes():
    """Which of the two is wrong is the first thing that anybody asks."""
    frames = grey([1, 2])
    with pytest.raises(ValueError, match="expected two equal shapes") as error:
        Mse().update(frames[..., :-1], frames)
    assert "(1, 2, 3, 8, 7)" in str(error.value)
    assert "(1, 2, 3, 8, 8)" in str(error.value)
    with pytest.raises(TypeError, match="uint8"):
        Mse().update(frames / 255, frames)


def test_a_step_after_a_missing_one_is_refused():
    """A prefix over a hole would be a value over fewer steps than its horizon says."""
    frames = grey([1, 2, 3])
    with pytest.raises(ValueError, match="after a missing one"):
        Mse().update(frames, frames, valid=torch.tensor([[True, False, True]]))
    with pytest.raises(ValueError, match="valid"):
        Mse().update(frames, frames, valid=torch.tensor([[True, True]]))
    with pytest.raises(TypeError, match="valid"):
        Mse().update(frames, frames, valid=torch.tensor([[1, 1, 0]]))


@pytest.mark.parametrize("valid", [[[True, True]], np.ones((1, 2), bool)], ids=["list", "numpy"])
def test_a_mask_that_is_no_tensor_is_refused_by_name(valid):
    """An AttributeError from within says nothing of the argument."""
    frames = grey([1, 2])
    with pytest.raises(TypeError, match=r"valid: expected a tensor, bool .* got (list|ndarray)"):
        Mse().update(frames, frames, valid=valid)
    statistics = episode_statistics(Mse(), frames, frames)
    with pytest.raises(TypeError, match="valid: expected a tensor"):
        Mse().update_statistics(statistics, valid)


@pytest.mark.parametrize("kind", [SkillPersistence, SkillPersistenceDynamic, DynamicSsim])
def test_a_forgotten_context_is_said(kind):
    """NaN and counts of 0 at the end of an epoch do not say what was forgotten."""
    metric = kind(2)
    with pytest.warns(UserWarning, match=f"{metric.name} .* no context; .*Give context"):
        metric.update(grey([1, 2]), grey([1, 2]))
    assert metric.compute()["prefix_count"].tolist() == [0, 0]


class _Model(torch.nn.Module):
    """A model with a metric in it, as in a training loop."""

    def __init__(self):
        super().__init__()
        self.mse = Mse(2)
        self.linear = torch.nn.Linear(2, 2)


@pytest.mark.parametrize(
    "convert",
    [
        lambda model: model.to(torch.float16),
        lambda model: model.half(),
        lambda model: model.bfloat16(),
        lambda model: model.mse.to(torch.float16),
        lambda model: model.mse.set_dtype(torch.float16),
        lambda model: model.to("cpu", torch.bfloat16),
    ],
)
def test_a_model_in_half_precision_keeps_exact_sums(convert):
    """Half precision overflows at 65504: two frames wrong by 255 levels would be infinite."""
    model = _Model()
    pair = grey([255, 0]), grey([0, 3])
    model.mse.update(*pair)
    convert(model)
    model.mse.update(*pair)
    assert model.mse.compute()["step"].tolist() == [65025.0, 9.0]
    model.mse.reset()
    model.mse.update(*pair)
    assert model.mse.compute()["prefix"].tolist() == [65025.0, (65025 + 9) / 2]
    assert {state.dtype for state in model.mse.metric_state.values()} == {
        torch.float64,
        torch.int64,
    }


def test_a_network_inside_a_metric_is_converted():
    """A learned metric in a half-precision model would fail on its own weights."""

    class WithNetwork(Mse):
        def __init__(self):
            super().__init__()
            self.network = torch.nn.Linear(2, 2)

    metric = WithNetwork().to(torch.bfloat16)
    assert metric.network.weight.dtype == torch.bfloat16
    assert metric.metric_state["mse_wbgpu_1_0_sum"].dtype == torch.float64


def test_a_model_that_gets_its_memory_late_has_sums_of_zero():
    """to_empty gives memory that nobody has written to; sums in it would start anywhere."""
    with torch.device("meta"):
        model = _Model()
    model.to_empty(device="cpu")
    assert not any(bool(state.any()) for state in model.mse.metric_state.values())
    model.mse.update(grey([2]), grey([0]))
    assert model.mse.compute()["step"][0] == 4.0
    model.mse.to("meta")
    assert model.mse.device.type == "meta"
    assert all(state.is_meta for state in model.mse.metric_state.values())


@pytest.fixture
def defaults():
    yield
    torch.set_default_device(None)
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("kind", [*ALL_METRICS, partial(VisualSimilarity, ssim="luma")])
@pytest.mark.parametrize("default", ["meta", torch.float16, torch.float64], ids=str)
def test_defaults_of_torch_change_no_bit(defaults, kind, default):
    """Programs set them for their model; a score must not follow."""
    generator = torch.Generator().manual_seed(1)
    shape = (2, 1, 3, 3, 16, 13)
    target, prediction = torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)

    def scores():
        metric = kind(num_horizons=4)
        metric.update(prediction, target, context=target[:, 0])
        statistics = episode_statistics(metric, prediction, target, target[:, 0])
        return metric.compute(), metric.outcome(statistics)

    expected, expected_outcome = scores()
    if default == "meta":
        torch.set_default_device(default)
    else:
        torch.set_default_dtype(default)
    result, outcome = scores()
    check_metric(kind(num_horizons=4))
    torch.set_default_device(None)
    assert outcome == expected_outcome
    for name, value in result.items():
        torch.testing.assert_close(value, expected[name], rtol=0, atol=0, equal_nan=True)


def test_settings_are_checked():
    """A wrong one must not wait for the end of an epoch to show."""
    with pytest.raises(ConfigurationError, match="num_horizons"):
        Mse(num_horizons=0)
    with pytest.raises(ConfigurationError, match="statistics path"):
        Mse(statistics_path="fast").update(grey([1]), grey([1]))


def test_the_record_of_an_episode_has_no_nan():
    """Strict JSON cannot hold one, and a NaN has no reason."""
    metric = SkillPersistence()
    assert metric.info == MetricInfo(
        "skill_persistence", "skill_persistence/wbgpu-1.0", "skill", True
    )
    statistics = episode_statistics(metric, grey([9, 8]), grey([9, 5]), grey([9])[:, 0])
    outcome = metric.outcome(statistics)
    assert outcome.prefix == (None, 1 - 9 / 16)
    assert outcome.step == (None, 1 - 9 / 16)
    assert outcome.value == 1 - 9 / 16
    assert outcome.prefix_reasons == ("Copying the last context frame is perfect so far.", None)


def test_the_record_is_of_one_episode():
    """Of two, one would get the other's scores or none."""
    statistics = episode_statistics(
        Mse(), grey([1]).repeat(2, 1, 1, 1, 1), grey([1]).repeat(2, 1, 1, 1, 1)
    )
    with pytest.raises(ValueError, match="one episode"):
        Mse().outcome(statistics)


def test_forward_gives_the_batch_and_keeps_the_total():
    """torchmetrics resets and adds states by name for it; a state that it misses shows here."""
    metric = Mse(num_horizons=2)
    metric(grey([2, 2]), grey([0, 0]))
    batch = metric(grey([4, 4]), grey([0, 0]))
    assert batch["step"].tolist() == [16.0, 16.0]
    assert metric.compute()["step"].tolist() == [10.0, 10.0]


def test_one_definition_twice_in_a_collection_has_one_value():
    """torchmetrics may merge these two; both must have the values of all batches."""
    from torchmetrics import MetricCollection

    collection = MetricCollection({"one": Mse(2), "other": Mse(2)})
    for level in (0, 4):
        collection.update(grey([level, level]), grey([0, 0]))
    result = collection.compute()
    assert result["one_step"].tolist() == result["other_step"].tolist() == [8.0, 8.0]


def test_statistics_feed_the_members_of_a_collection():
    """The way to one pass over the frames for a whole collection."""
    from torchmetrics import MetricCollection

    collection = MetricCollection([Mse(2), TemporalStability(2)], prefix="val/")
    batch = FrameBatch.from_videos(grey([3, 9]), grey([5, 5]))
    statistics = frame_statistics(batch, GROUPS).reshape(1, 2)
    for metric in collection.values():
        metric.update_statistics(statistics)
    result = collection.compute()
    assert result["val/Mse_step"].tolist() == [4.0, 16.0]
    assert result["val/TemporalStability_prefix"][1] == 100.0
