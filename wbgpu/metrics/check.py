"""The contract of `HorizonMetric`, shipped as a conformance check for metrics of your own."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from wbgpu.metrics.episode_metric import state_key
from wbgpu.metrics.horizon_metric import HorizonMetric
from wbgpu.statistics import (
    GROUPS,
    FrameBatch,
    FrameStatistics,
    RaggedStatistics,
    frame_statistics,
)


@dataclass(frozen=True)
class _Videos:
    """Small episodes: prediction and target ``[B, T, 3, H, W]``, valid, context."""

    prediction: Tensor
    target: Tensor
    valid: Tensor
    context: Tensor

    def __getitem__(self, index: slice | list[int]) -> _Videos:
        return _Videos(
            self.prediction[index], self.target[index], self.valid[index], self.context[index]
        )

    def first_steps(self, num_steps: int) -> _Videos:
        return replace(
            self,
            prediction=self.prediction[:, :num_steps],
            target=self.target[:, :num_steps],
            valid=self.valid[:, :num_steps],
        )

    def update(self, metric: HorizonMetric) -> None:
        cut = self.first_steps(metric.num_horizons)
        metric.update(cut.prediction, cut.target, valid=cut.valid, context=cut.context)


def check_metric(metric: HorizonMetric, device: torch.device | str = "cpu") -> None:
    """Check that a metric keeps the contract: identity, invariances, state, errors, record.

    Args:
        metric: any instance; it is copied, not changed.
        device: where frames and state live during the check.

    Raises:
        AssertionError: says which part of the contract is broken.
    """
    device = torch.device(device)
    videos = _make_videos(device)

    def fresh() -> HorizonMetric:
        copied = copy.deepcopy(metric).to(device)
        copied.reset()
        return copied

    checks: Sequence[Callable[[Callable[[], HorizonMetric], _Videos], None]] = (
        _check_identity,
        _check_values,
        _check_batching,
        _check_horizons,
        _check_accumulation,
        _check_merging,
        _check_shared_statistics,
        _check_inference_mode,
        _check_moves,
        _check_errors,
        _check_outcome,
    )
    for check in checks:
        check(fresh, videos)


def _make_videos(device: torch.device) -> _Videos:
    """Noise, a cut, a frozen prediction and a perfect one, of 3 to 6 steps."""
    generator = torch.Generator("cpu").manual_seed(0)
    shape = (4, 6, 3, 14, 17)
    # On the CPU, whatever the default device is: the generator is there.
    random = partial(torch.randint, generator=generator, device="cpu")
    context = random(0, 256, (4, 3, 14, 17), dtype=torch.uint8)
    motion = random(-30, 31, shape).cumsum(dim=1)
    target = (context[:, None].long() + motion).clamp(0, 255).to(torch.uint8)
    noise = random(-9, 10, shape)
    prediction = (target.long() + noise).clamp(0, 255).to(torch.uint8)
    prediction[1, 2] = 255 - prediction[1, 2]
    prediction[2] = context[2]
    prediction[3] = target[3]
    lengths = torch.tensor([6, 6, 3, 5], device="cpu")
    valid = torch.arange(6, device="cpu") < lengths[:, None]
    return _Videos(*(t.to(device) for t in (prediction, target, valid, context)))


def _statistics(metric: HorizonMetric, videos: _Videos) -> FrameStatistics:
    batch = FrameBatch.from_videos(videos.prediction, videos.target, videos.context)
    statistics = frame_statistics(batch, metric.statistics, metric.statistics_path)
    return statistics.reshape(*videos.valid.shape)


def _check_identity(fresh: Callable[[], HorizonMetric], videos: _Videos) -> None:
    del videos
    metric = fresh()
    kind = type(metric)
    for attribute in ("name", "metric_id", "unit", "undefined_reason"):
        value = getattr(metric, attribute, None)
        _expect(isinstance(value, str) and value != "", f"{attribute}: a text, got {value!r}")
    _expect("/" in metric.metric_id, f"metric_id: 'name/version', got {metric.metric_id!r}")
    _expect(isinstance(metric.higher_is_better, bool), "higher_is_better: True or False")
    _expect(bool(kind.__doc__) and kind.__doc__ != HorizonMetric.__doc__, "a docstring of its own")
    groups = metric.statistics
    _expect(bool(groups) and groups <= GROUPS, f"statistics: among {sorted(GROUPS)}, got {groups}")
    _expect(
        any(name.startswith(state_key(metric.metric_id)) for name in metric.metric_state),
        "a state named after metric_id, or MetricCollection may take another metric for this one "
        f"(set metric_id before super().__init__()), got {[*metric.metric_state]}",
    )


def _check_values(fresh: Callable[[], HorizonMetric], videos: _Videos) -> None:
    metric = fresh()
    values = metric.horizon_values(_statistics(metric, videos), videos.valid)
    for view, tensor in (("prefix", values.prefix), ("step", values.step)):
        _expect(tensor.dtype == torch.float64, f"{view}: float64, got {tensor.dtype}")
        _expect(tensor.shape == videos.valid.shape, f"{view}: [B, T], got {tuple(tensor.shape)}")
        _expect(not bool(tensor.isinf().any()), f"{view}: no infinity")
        _expect(bool(tensor[~videos.valid].isnan().all()), f"{view}: NaN where a step is missing")
    _expect(not bool(values.prefix.isnan().all()), "prefix: a value somewhere")


def _check_batching(fresh: Callable[[], HorizonMetric], videos: _Videos) -> None:
    metric = fresh()
    whole = metric.horizon_values(_statistics(metric, videos), videos.valid)
    order = [2, 0, 3, 1]
    permuted = videos[order]
    shuffled = metric.horizon_values(_statistics(metric, permuted), permuted.valid)
    _expect_equal(whole.prefix[order], shuffled.prefix, "the same bits in another order")
    for i in range(len(videos.valid)):
        alone = videos[i : i + 1]
        length = int(alone.valid.sum())
        alone = alone.first_steps(length)
        values = metric.horizon_values(_statistics(metric, alone))
        padding = "the same bits alone, without padding"
        _expect_equal(whole.prefix[i, :length], values.prefix[0], f"prefix: {padding}")
        _expect_equal(whole.step[i, :length], values.step[0], f"step: {padding}")


def _check_horizons(fresh: Callable[[], HorizonMetric], videos: _Videos) -> None:
    metric = fresh()
    whole = metric.horizon_values(_statistics(metric, videos))
    for num_steps in range(1, videos.valid.shape[1] + 1):
        part = metric.horizon_values(_statistics(metric, videos.first_steps(num_steps)))
        horizon = f"horizon {num_steps}: as computed from the first {num_steps} steps alone"
        _expect_equal(whole.prefix[:, num_steps - 1], part.prefix[:, -1], f"prefix, {horizon}")
        _expect_equal(whole.step[:, num_steps - 1], part.step[:, -1], f"step, {horizon}")


def _check_accumulation(fresh: Callable[[], HorizonMetric], videos: _Videos) -> None:
    metric = fresh()
    values = metric.horizon_values(_statistics(metric, videos), videos.valid)
    for i in range(len(videos.valid)):
        videos[i : i + 1].update(metric)
    result = metric.compute()
    keys = {"prefix", "step", "prefix_count", "step_count"}
    _expect(set(result) == keys, f"compute: keys {sorted(keys)}, got {sorted(result)}")
    for view in ("prefix", "step"):
        for horizon in range(min(metric.num_horizons, videos.valid.shape[1])):
            column = getattr(values, view)[:, horizon].tolist()
            defined = [value for value in column if not math.isnan(value)]
            count = int(result[f"{view}_count"].reshape(-1)[horizon])
            where = f"{view} at horizon {horizon + 1}"
            _expect(count == len(defined), f"{where}: count {len(defined)}, got {count}")
            mean = math.fsum(defined) / len(defined) if defined else math.nan
            got = float(result[view].reshape(-1)[horizon])
            agrees = math.isclose(mean, got, rel_tol=1e-12, abs_tol=1e-12)
            _expect(agrees or (not defined and math.isnan(got)), f"{where}: {mean}, got {got}")


def _check_merging(fresh: Callable[[], HorizonMetric], videos: _Videos) -> None:
    one, first, second = fresh(), fresh(), fresh()
    videos.update(one)
    videos[:1].update(first)
    videos[1:].update(second)
    for name, state in _states(one).items():
        merged = _states(first)[name] + _states(second)[name]
        agrees = torch.allclose(merged.double(), state.double(), rtol=1e-12)
        _expect(agrees, f"{name}: the states of two processes add up to that of one")


def _check_shared_statistics(fresh: Callable[[], HorizonMetric], videos: _Videos) -> None:
    metric, plain = fresh(), fresh()
    for part in (videos[:1], videos[1:]):
        part = part.first_steps(metric.num_horizons)
        part.update(plain)
        batch = FrameBatch.from_videos(part.prediction, part.target, part.context)
        everything = frame_statistics(batch, GROUPS, metric.statistics_path)
        metric.update_statistics(everything.reshape(*part.valid.shape), part.valid)
        # Between updates, because a result kept from the first must not be given out again.
        expected = plain.compute()
        _expect_results(metric.compute(), expected, "update_statistics: the result of update")


def _check_inference_mode(fresh: Callable[[], HorizonMetric], videos: _Videos) -> None:
    metric, plain = fresh(), fresh()
    videos.update(plain)
    expected = plain.compute()
    for epoch in (1, 2):
        with torch.inference_mode():
            videos.update(metric)
        _expect_results(metric.compute(), expected, f"epoch {epoch} under inference_mode")
        with torch.inference_mode():
            metric.reset()
    videos.update(metric)
    _expect_results(metric.compute(), expected, "outside inference_mode after it")


def _check_moves(fresh: Callable[[], HorizonMetric], videos: _Videos) -> None:
    metric = fresh()
    videos.update(metric)
    expected = metric.compute()
    restored = pickle.loads(pickle.dumps(metric))
    _expect_results(restored.compute(), expected, "after pickling")
    parent = torch.nn.ModuleDict({"metric": metric})
    routes: dict[str, Callable[[], object]] = {
        "half()": metric.half,
        "to(torch.float16)": lambda: metric.to(torch.float16),
        "set_dtype(torch.float16)": lambda: metric.set_dtype(torch.float16),
        "half() of a model": parent.half,
        "bfloat16() of a model": parent.bfloat16,
        "to(torch.float16) of a model": lambda: parent.to(videos.target.device, torch.float16),
    }
    for route, convert in routes.items():
        convert()
        _expect_wide_states(metric, f"after {route}")
        _expect_results(metric.compute(), expected, f"the result of before, after {route}")
    metric.reset()
    _expect_wide_states(metric, "after to(torch.float16) and reset()")
    videos.update(metric)
    _expect_results(metric.compute(), expected, "the same result in a half-precision model")
    with torch.autocast(videos.target.device.type, dtype=torch.bfloat16):
        videos.update(restored)
    _expect_results(
        {k: v for k, v in restored.compute().items() if not k.endswith("count")},
        {k: v for k, v in expected.items() if not k.endswith("count")},
        "the same means after the same episodes again, under autocast",
    )


def _check_errors(fresh: Callable[[], HorizonMetric], videos: _Videos) -> None:
    metric = fresh()
    longer = videos.target[:1, :1].expand(-1, metric.num_horizons + 1, -1, -1, -1)
    _expect_raises(
        ValueError, lambda: metric.update(longer, longer), "more than num_horizons steps"
    )
    videos = videos.first_steps(metric.num_horizons)
    as_floats = videos.prediction.float() / 255
    _expect_raises(TypeError, lambda: metric.update(as_floats, videos.target), "float frames")
    cropped = videos.prediction[..., :-1]
    _expect_raises(ValueError, lambda: metric.update(cropped, videos.target), "other sizes")
    if metric.num_horizons > 1:
        holes = torch.ones_like(videos.valid)
        holes[:, 0] = False
        _expect_raises(
            ValueError,
            lambda: metric.update(videos.prediction, videos.target, valid=holes),
            "a valid mask with holes",
        )
    is_changed = any(bool(state.any()) for state in _states(metric).values())
    _expect(not is_changed, "a refused update leaves the state unchanged")


def _check_outcome(fresh: Callable[[], HorizonMetric], videos: _Videos) -> None:
    metric = fresh()
    info = metric.info
    _expect(info.name == metric.name and info.metric_id == metric.metric_id, "info: name and id")
    for i in range(len(videos.valid)):
        statistics = _statistics(metric, videos[i : i + 1])
        outcome = metric.outcome(statistics)
        values = metric.horizon_values(statistics).prefix[0].tolist()
        _expect(outcome.is_available == (not math.isnan(values[-1])), "outcome: available or not")
        if not outcome.is_available:
            continue
        expected = tuple(None if math.isnan(value) else value for value in values)
        _expect(outcome.prefix == expected, f"outcome.prefix: {expected}, got {outcome.prefix}")
        _expect(outcome.value == expected[-1], "outcome.value: that of the last prefix")
        reasons = tuple(outcome.prefix_reason_at(t + 1) for t in range(len(expected)))
        _expect(
            all((r is None) == (v is not None) for r, v in zip(reasons, expected, strict=True)),
            "outcome.prefix_reasons: one where there is no value, and only there",
        )
        lengths = {len(column) for column in outcome.prefix_details.values()}
        _expect(lengths <= {len(expected)}, "outcome.prefix_details: one entry per prefix")
    episodes = [
        _statistics(metric, videos[i : i + 1])[:, : int(valid.sum())]
        for i, valid in enumerate(videos.valid)
    ]
    together = metric.outcomes(RaggedStatistics.of(episodes))
    alone = [metric.outcome(episode) for episode in episodes]
    _expect(together == alone, "outcomes: those of the episodes alone, to the last bit")


def _states(metric: HorizonMetric) -> dict[str, Tensor]:
    states = {k: v for k, v in metric.metric_state.items() if isinstance(v, Tensor)}
    _expect(len(states) == len(metric.metric_state), "states that are tensors")
    return states


def _expect_wide_states(metric: HorizonMetric, when: str) -> None:
    dtypes = {state.dtype for state in _states(metric).values()}
    _expect(dtypes == {torch.float64, torch.int64}, f"states of float64 and int64 {when}: {dtypes}")


def _expect(condition: bool, contract: str) -> None:
    if not condition:
        raise AssertionError(f"expected {contract}")


def _expect_equal(first: Tensor, second: Tensor, contract: str) -> None:
    equal = (first == second) | (first.isnan() & second.isnan())
    _expect(bool(equal.all()), f"{contract}: {first.tolist()} and {second.tolist()}")


def _expect_results(got: dict[str, Tensor], expected: dict[str, Tensor], contract: str) -> None:
    for key, value in expected.items():
        close = torch.allclose(got[key].double(), value.double(), rtol=1e-12, equal_nan=True)
        _expect(close, f"{contract}: {key} {value.tolist()}, got {got[key].tolist()}")


def _expect_raises(error: type[Exception], call: Callable[[], object], what: str) -> None:
    try:
        call()
    except error:
        return
    raise AssertionError(f"expected {error.__name__} for {what}, got no error")
