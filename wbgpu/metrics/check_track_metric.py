"""The contract of `TrackMetric`, shipped as a conformance check for metrics of your own."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from wbgpu.metrics.episode_metric import state_key
from wbgpu.metrics.track_metric import TrackMetric
from wbgpu.records.signals import EpisodeSignals

_NUM_STEPS = 6


def check_track_metric(
    metric: TrackMetric,
    signals: EpisodeSignals | None = None,
    device: torch.device | str = "cpu",
) -> None:
    """Check that a metric keeps the contract: identity, invariances, state, errors, record.

    It is given drawn scenes: a red robot that pushes a green object to the right.

    Args:
        metric: any instance; it is copied, not changed.
        signals: of the scenes; by default what worldbench's metrics need.
        device: where frames and state live during the check.

    Raises:
        AssertionError: says which part of the contract is broken.
    """
    device = torch.device(device)
    prediction, target = (_scenes(lag).to(device) for lag in (2, 0))
    own = signals or EpisodeSignals(
        actions=tuple({"t": t, "action": "move_right"} for t in range(_NUM_STEPS - 1)),
        metadata={"robot": "synthetic"},
    )
    of_each = [own] * len(target)

    def fresh() -> TrackMetric:
        copied = copy.deepcopy(metric).to(device)
        copied.reset()
        return copied

    def update(chosen: TrackMetric, rows: slice, num_steps: int = _NUM_STEPS) -> None:
        steps = min(num_steps, chosen.num_horizons)
        cut = prediction[rows, :steps], target[rows, :steps]
        chosen.update(*cut, signals=of_each[rows])

    _check_identity(fresh())
    whole = fresh()
    update(whole, slice(None))
    expected = whole.compute()
    _expect(bool((expected["prefix_count"] > 0).any()), "a value of the drawn scenes somewhere")
    one_by_one = fresh()
    for index in range(len(target)):
        update(one_by_one, slice(index, index + 1))
    _expect_results(one_by_one.compute(), expected, "the same means one episode at a time")
    for num_steps in range(1, min(_NUM_STEPS, metric.num_horizons) + 1):
        part = fresh()
        update(part, slice(None), num_steps)
        of_part = {key: value[:num_steps] for key, value in part.compute().items()}
        of_whole = {key: value[:num_steps] for key, value in expected.items()}
        _expect_results(of_part, of_whole, f"the first {num_steps} steps as of those alone")
    _check_moves(fresh, update, expected)
    _check_errors(fresh(), prediction, target)
    refusal = metric.refusal(None)
    if refusal is not None:
        outcome = metric.refused_outcome(refusal, _NUM_STEPS)
        _expect(outcome.status == "unsupported", "refused_outcome: unsupported")
        _expect(outcome.metric_id == metric.metric_id, "refused_outcome: the metric's id")


def _scenes(lag: int) -> Tensor:
    """Three videos ``[3, T, 3, 40, 64]``; with a lag the object follows the robot later."""
    videos = torch.full((3, _NUM_STEPS, 3, 40, 64), 230, dtype=torch.uint8, device="cpu")
    for episode in range(len(videos)):
        for step in range(_NUM_STEPS):
            robot = 6 + 5 * step
            pushed = 30 + 5 * max(0, step - lag - episode)
            if episode < 2 or step != 2:
                _draw(videos[episode, step], 16, robot, (220, 40, 40))
            _draw(videos[episode, step], 16 + episode, pushed, (40, 200, 60))
    return videos


def _draw(frame: Tensor, top: int, left: int, color: Sequence[int]) -> None:
    frame[:, top : top + 8, left : left + 8] = torch.tensor(color, dtype=torch.uint8, device="cpu")[
        :, None, None
    ]


def _check_identity(metric: TrackMetric) -> None:
    kind = type(metric)
    for attribute in ("name", "metric_id", "unit"):
        value = getattr(metric, attribute, None)
        _expect(isinstance(value, str) and value != "", f"{attribute}: a text, got {value!r}")
    _expect("/" in metric.metric_id, f"metric_id: 'name/version', got {metric.metric_id!r}")
    _expect(isinstance(metric.higher_is_better, bool), "higher_is_better: True or False")
    _expect(bool(kind.__doc__) and kind.__doc__ != TrackMetric.__doc__, "a docstring of its own")
    _expect(metric.sides <= {"prediction", "target"} and bool(metric.sides), "sides: one or both")
    _expect(
        any(name.startswith(state_key(metric.metric_id)) for name in metric.metric_state),
        f"a state named after metric_id, got {[*metric.metric_state]}",
    )


def _check_moves(
    fresh: Callable[[], TrackMetric],
    update: Callable[[TrackMetric, slice], None],
    expected: dict[str, Tensor],
) -> None:
    metric = fresh()
    for epoch in (1, 2):
        with torch.inference_mode():
            update(metric, slice(None))
        _expect_results(metric.compute(), expected, f"epoch {epoch} under inference_mode")
        with torch.inference_mode():
            metric.reset()
    update(metric, slice(None))
    restored = pickle.loads(pickle.dumps(metric))
    _expect_results(restored.compute(), expected, "the same after pickling")
    torch.nn.ModuleDict({"metric": metric}).half()
    _expect_results(metric.compute(), expected, "the same in a half-precision model")


def _check_errors(metric: TrackMetric, prediction: Tensor, target: Tensor) -> None:
    longer = target[:1, :1].expand(-1, metric.num_horizons + 1, -1, -1, -1)
    calls: dict[str, tuple[type[Exception], Callable[[], object]]] = {
        "more than num_horizons steps": (ValueError, lambda: metric.update(longer, longer)),
        "float frames": (TypeError, lambda: metric.update(prediction.float(), target)),
        "other sizes": (ValueError, lambda: metric.update(prediction[..., 1:], target)),
    }
    for what, (kind, call) in calls.items():
        try:
            call()
        except kind:
            continue
        raise AssertionError(f"expected {kind.__name__} for {what}, got no error")


def _expect(condition: bool, contract: str) -> None:
    if not condition:
        raise AssertionError(f"expected {contract}")


def _expect_results(got: dict[str, Tensor], expected: dict[str, Tensor], contract: str) -> None:
    for key, value in expected.items():
        close = torch.allclose(got[key].double(), value.double(), rtol=1e-12, equal_nan=True)
        _expect(close, f"{contract}: {key} {value.tolist()}, got {got[key].tolist()}")
