"""The torchmetrics module: horizons, variables, padding, state, memory, processes."""

from __future__ import annotations

import gc
import json
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import REPOSITORY
from wbgpu.errors import ConfigurationError
from wbgpu.metrics import LogLossRegret, prediction_losses


def batch(seed=0, shape=(3, 4, 2), num_classes=7):
    generator = torch.Generator().manual_seed(seed)
    return {
        "logits": 3 * torch.randn((*shape, num_classes), generator=generator),
        "target": torch.randint(0, num_classes, shape, generator=generator),
        "reference_logits": 3 * torch.randn((*shape, num_classes), generator=generator),
    }


def scores(*batches, num_horizons=4, **settings_):
    metric = LogLossRegret(num_horizons, **settings_)
    for given_ in batches:
        metric.update(**given_)
    return metric.compute()


def assert_same(first, second, rtol=1e-12):
    assert first.keys() == second.keys()
    for name, value in first.items():
        torch.testing.assert_close(
            value, second[name], rtol=rtol, atol=1e-15, equal_nan=True, msg=name
        )


def test_means_by_horizon():
    """Step t is the second dimension; tokens of a step weigh alike, in both views."""
    given_ = batch()
    losses = prediction_losses(**given_)
    got = scores(given_, num_horizons=5)
    for name in ("log_loss_nats", "reference_loss_nats", "regret_nats", "expected_regret_nats"):
        value = getattr(losses, name)
        steps = value.mean(dim=(0, 2))
        torch.testing.assert_close(got[name], value.mean())
        torch.testing.assert_close(got[f"step_{name}"][:4], steps)
        prefix = steps.cumsum(0) / torch.arange(1, 5)
        torch.testing.assert_close(got[f"prefix_{name}"][:4], prefix)
        assert math.isnan(got[f"step_{name}"][4])
        torch.testing.assert_close(got[f"prefix_{name}"][4], value.mean())
    assert got["step_count"].tolist() == [6, 6, 6, 6, 0]
    assert got["prefix_count"].tolist() == [6, 12, 18, 24, 24]
    accuracy = losses.is_top1.double().mean()
    assert got["top1_accuracy"] == accuracy
    assert got["regret_nats"] == pytest.approx(
        float(got["log_loss_nats"] - got["reference_loss_nats"])
    )


def test_padding_is_not_looked_at():
    """Lengths 2 and 5 in one batch and alone are the same predictions (lm-eval #704)."""
    short, long = batch(1, (1, 2, 3)), batch(2, (1, 5, 3))
    padded = {
        key: torch.cat(
            [torch.nn.functional.pad(short[key].movedim(1, -1), (0, 3)), long[key].movedim(1, -1)]
        ).movedim(-1, 1)
        for key in short
    }
    padded["logits"][0, 2:] = math.nan
    padded["reference_logits"][0, 2:] = -math.inf
    padded["target"][0, 2:] = -100
    valid = torch.tensor([[True] * 2 + [False] * 3, [True] * 5])
    together = scores({**padded, "valid": valid}, num_horizons=5)
    assert_same(together, scores(short, long, num_horizons=5))
    assert together["step_count"].tolist() == [6, 6, 3, 3, 3]
    by_token = valid[..., None].expand(2, 5, 3)
    assert_same(together, scores({**padded, "valid": by_token}, num_horizons=5))


def test_nothing_valid_is_counted_as_nothing():
    """NaN for the run, as by mean reductions, would hide what else was measured."""
    given_ = batch()
    nothing = torch.zeros((3, 4, 2), dtype=torch.bool)
    got = scores({**given_, "valid": nothing})
    assert got["count"] == 0
    assert math.isnan(got["log_loss_nats"])
    assert_same(scores(given_, {**given_, "valid": nothing}), scores(given_))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), cut=st.integers(0, 6), order=st.permutations(range(6)))
def test_episodes_add_in_any_batch_and_order(seed, cut, order):
    """A score that moves with the batch size cannot be compared between machines."""
    given_ = batch(seed, (6, 4, 2))
    parts = [
        {key: value[index] for key, value in given_.items()}
        for index in (slice(cut), slice(cut, None))
    ]
    turned = {key: value[list(order)] for key, value in given_.items()}
    whole = scores(given_)
    assert_same(scores(*parts), whole)
    assert_same(scores(turned), whole)


def test_horizons_can_be_said():
    """A rollout that is scored step by step, or shuffled predictions, belong to their horizons."""
    given_ = batch()
    whole = scores(given_)
    by_step = [
        {**{key: value[:, t] for key, value in given_.items()}, "step": t + 1} for t in range(4)
    ]
    assert_same(scores(*by_step), whole)
    step = torch.arange(1, 5).expand(3, 4)
    flat = {key: value.flatten(0, 2) for key, value in given_.items()}
    order = torch.randperm(24, generator=torch.Generator().manual_seed(0))
    flat = {key: value[order] for key, value in flat.items()}
    flat["step"] = step[..., None].expand(3, 4, 2).flatten()[order]
    assert_same(scores(flat), whole)
    assert_same(scores({**given_, "step": step.int()}), whole)
    one = {key: value[0, 1, 0] for key, value in given_.items()}
    assert scores({**one, "step": np.int64(2)})["step_count"].tolist() == [0, 1, 0, 0]


def test_horizons_that_do_not_fit_are_refused():
    """Cut off, step 5 of 5 would be reported as step 4 of 4, or not at all."""
    metric = LogLossRegret(num_horizons=3)
    given_ = batch()
    with pytest.raises(ValueError, match=r"horizon 4: .*num_horizons=3.* 1 to 3"):
        metric.update(**given_)
    with pytest.raises(ValueError, match="horizon 0"):
        metric.update(**given_, step=0)
    with pytest.raises(ValueError, match=r"target \(24,\): expected \[B, T, \.\.\.\].*step"):
        metric.update(given_["logits"].flatten(0, 2), given_["target"].flatten())
    with pytest.raises(ValueError, match=r"step \(4,\): .*\(3, 4, 2\)"):
        metric.update(**given_, step=torch.arange(4))
    with pytest.raises(ValueError, match=f"horizon {2**63}"):
        metric.update(**given_, step=2**63)
    for dtype in (torch.float32, torch.bool, torch.complex64):
        with pytest.raises(TypeError, match="step: expected integers"):
            metric.update(**given_, step=torch.ones((3, 4), dtype=dtype))
    for step, kind in ((True, "bool"), (1.0, "float")):
        with pytest.raises(TypeError, match=f"step: expected an integer or .* got {kind}"):
            metric.update(**given_, step=step)
    valid = torch.ones((3, 4), dtype=torch.bool)
    with pytest.raises(TypeError, match=r"valid: expected torch\.bool, got torch\.int64"):
        metric.update(**given_, valid=valid.long())
    with pytest.raises(TypeError, match="valid: expected a tensor, got list"):
        metric.update(**given_, valid=[[True]])
    with pytest.raises(ValueError, match=r"valid \(4,\)"):
        metric.update(**given_, valid=valid[0])
    assert not any(bool(state.any()) for state in metric.metric_state.values())
    valid[:, 3] = False
    metric.update(**given_, valid=valid)
    assert metric.compute()["step_count"].tolist() == [6, 6, 6]


def variables():
    parts = {"block": batch(1, num_classes=5), "gripper": batch(2, num_classes=3)}
    keys = ("logits", "target", "reference_logits")
    return parts, {key: {name: part[key] for name, part in parts.items()} for key in keys}


def test_losses_of_variables_add():
    """A factorised forecast is one forecast; its parts are reported as well."""
    parts, given_ = variables()
    got = scores(given_, variables=("block", "gripper"))
    alone = {name: scores(part) for name, part in parts.items()}
    for name, of_part in alone.items():
        assert_same({k: got[f"{name}/{k}"] for k in of_part}, of_part)
    for view in ("", "prefix_", "step_"):
        for quantity in ("log_loss_nats", "regret_nats", "expected_regret_nats"):
            total = sum(of_part[view + quantity] for of_part in alone.values())
            torch.testing.assert_close(got[view + quantity], total, rtol=1e-12, atol=1e-15)
    hits = [prediction_losses(**part).is_top1 for part in parts.values()]
    assert got["top1_accuracy"] == (hits[0] & hits[1]).double().mean()
    in_order = {key: list(value.values()) for key, value in given_.items()}
    assert_same(scores(in_order, variables=("block", "gripper")), got)


def test_variables_that_do_not_fit_are_refused():
    """Logits of one variable scored against targets of another would be only numbers."""
    _, given_ = variables()
    metric = LogLossRegret(4, variables=("block", "gripper"))
    with pytest.raises(ValueError, match=r"target: expected the variables \['block', 'gripper'\]"):
        metric.update(given_["logits"], {"block": given_["target"]["block"]})
    with pytest.raises(ValueError, match=r"logits: .* each of 2 variables, got one tensor"):
        metric.update(given_["logits"]["block"], given_["target"])
    with pytest.raises(ValueError, match="each of 2 variables, got 1"):
        metric.update(given_["logits"], list(given_["target"].values())[:1])
    with pytest.raises(ValueError, match=r"target of 'gripper' \(3, 3, 2\): .*\(3, 4, 2\)"):
        metric.update(
            given_["logits"], {**given_["target"], "gripper": given_["target"]["gripper"][:, :3]}
        )
    bad = {**given_["target"], "gripper": given_["target"]["gripper"] + 3}
    with pytest.raises(ValueError, match=r"target of 'gripper' row \[0, 0, 0\]"):
        metric.update(given_["logits"], bad)
    text = {**given_["logits"], "gripper": given_["logits"]["gripper"].numpy()}
    with pytest.raises(TypeError, match="logits of 'gripper': expected a tensor, got ndarray"):
        metric.update(text, given_["target"])
    with pytest.raises(TypeError, match=r"logits: expected a tensor, got dict; .*variables="):
        LogLossRegret(4).update(given_["logits"], given_["target"])
    assert not any(bool(state.any()) for state in metric.metric_state.values())
    for wrong in ("block", ("block", "block"), (1, 2), ("", "block")):
        with pytest.raises(ConfigurationError, match="variables: expected distinct names"):
            LogLossRegret(4, variables=wrong)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_horizons": 0}, "num_horizons: expected an integer of at least 1, got 0"),
        ({"num_horizons": 2.5}, "num_horizons: .* got 2.5"),
        ({"num_horizons": True}, "num_horizons: .* got True"),
        ({"num_horizons": "3"}, "num_horizons: .* got '3'"),
        ({"forecast": "foo"}, "forecast: expected one of logits, log_probs, probabilities, got"),
        ({"statistics_path": "foo"}, "statistics_path: expected one of auto, .* got 'foo'"),
    ],
)
def test_wrong_settings_are_refused_when_the_metric_is_made(arguments, message):
    """After an epoch of training it would be too late."""
    with pytest.raises(ConfigurationError, match=message):
        LogLossRegret(**arguments)


def test_probabilities_are_a_forecast_too():
    """Taken for logits, they would be flattened by a second softmax."""
    given_ = batch()
    odds = given_["logits"].double().softmax(-1)
    got = scores({**given_, "logits": odds}, forecast="probabilities")
    assert_same(got, scores(given_), rtol=1e-6)
    with pytest.raises(ValueError, match=r"probabilities row \[0, 0, 0\]: the probabilities sum"):
        scores({**given_, "logits": odds / 2}, forecast="probabilities")


def test_losses_too_large_to_be_held_are_refused_by_row():
    """Finite in float64 alone: their sums, or the squares of these, are not."""
    logits = torch.zeros((1, 1, 2), dtype=torch.float64)
    target = torch.tensor([[1]])
    for far in (1e120, -1e120, -1.7e308, 1.7e308):
        given_ = logits.clone()
        given_[0, 0, 1] = far
        with pytest.raises(ValueError, match=r"logits row \[0, 0\]: class 1 is .*5e\+89"):
            scores({"logits": given_, "target": target}, num_horizons=1)
    given_ = logits.clone()
    given_[0, 0, 1] = -1e120
    unseen = {"logits": given_, "target": target - 1}
    assert scores(unseen, num_horizons=1)["log_loss_nats"] == 0
    for part in ({"reference_logits": logits}, {"reference_loss_nats": target * 1e120}):
        with pytest.raises(ValueError, match=r"row \[0, 0\]: "):
            scores({**unseen, **part}, num_horizons=1)


def test_infinite_losses_are_counted_where_they_are():
    """At the horizon where a forecast breaks, and in all prefixes from there on."""
    given_ = batch()
    given_["logits"][1, 2, 0, given_["target"][1, 2, 0]] = -math.inf
    got = scores(given_)
    assert got["num_infinite"] == 1
    assert got["step_num_infinite"].tolist() == [0, 0, 1, 0]
    assert [math.isinf(v) for v in got["step_log_loss_nats"].tolist()] == [
        False,
        False,
        True,
        False,
    ]
    assert [math.isinf(v) for v in got["prefix_regret_nats"].tolist()] == [False, False, True, True]
    assert got["finite_log_loss_nats"].isfinite()
    assert got["num_infinite_expected"] == 1


def test_updates_without_a_reference_have_no_regret():
    """Their log-loss counts, and nothing is made up for the rest."""
    given_ = batch()
    bare = {key: given_[key] for key in ("logits", "target")}
    got = scores(bare, given_)
    assert (got["count"], got["reference_count"], got["expected_count"]) == (48, 24, 24)
    assert got["regret_nats"] == scores(given_)["regret_nats"]
    losses = prediction_losses(**given_).reference_loss_nats
    got = scores({**bare, "reference_loss_nats": losses})
    assert got["regret_nats"] == pytest.approx(float(scores(given_)["regret_nats"]))
    assert math.isnan(got["expected_regret_nats"])


def test_sums_do_not_drift():
    """In float32, 50 million tokens of 9.01 nats once became 8.996."""
    metric = LogLossRegret(1)
    logits = torch.tensor([[[0.0, 9.01 - math.log1p(math.exp(-9.0))]]])
    given_ = {"logits": logits, "target": torch.tensor([[0]])}
    metric.update(**given_)
    once = metric.compute()["log_loss_nats"].item()
    for name, state in metric.metric_state.items():
        setattr(metric, name, state * 50_000_000)
    metric.update(**given_)
    assert metric.compute()["log_loss_nats"].item() == pytest.approx(once, rel=1e-12)


def test_memory_is_flat_over_200_updates_from_a_model():
    """A graph that is kept grows by the logits of every step."""
    model = torch.nn.Linear(4, 11)
    metric = LogLossRegret(3)

    def update():
        logits = model(torch.rand(2, 3, 4))
        metric.update(logits, torch.zeros((2, 3), dtype=torch.int64), reference_logits=2 * logits)

    def num_tensors():
        gc.collect()
        return sum(issubclass(type(thing), torch.Tensor) for thing in gc.get_objects())

    for _ in range(5):
        update()
    before = num_tensors()
    for _ in range(200):
        update()
    assert num_tensors() <= before
    assert not any(state.requires_grad for state in metric.metric_state.values())


def test_state_survives_casts_pickling_and_reset():
    """Half precision would round sums; a checkpoint of the metric must go on where it was."""
    given_ = batch()
    metric = LogLossRegret(4)
    metric.update(**given_)
    expected = metric.compute()
    parent = torch.nn.ModuleDict({"metric": metric})
    for convert in (parent.half, metric.half, lambda: parent.to(torch.bfloat16), metric.double):
        convert()
        assert {s.dtype for s in metric.metric_state.values()} == {torch.float64, torch.int64}
    assert_same(metric.compute(), expected)
    restored = pickle.loads(pickle.dumps(metric))
    for one in (metric, restored):
        one.update(**batch(1))
        assert_same(one.compute(), scores(given_, batch(1)))
    metric.reset()
    with torch.inference_mode():
        metric.update(**given_)
    metric.update(**batch(1))
    assert_same(metric.compute(), scores(given_, batch(1)))
    metric.reset()
    assert metric(**given_)["count"] == 24
    assert metric(**batch(1))["count"] == 24
    assert metric.compute()["count"] == 48


def test_a_model_that_gets_its_memory_late_has_sums_of_zero():
    """See test_horizon_metric."""
    with torch.device("meta"):
        model = torch.nn.ModuleDict({"metric": LogLossRegret(4)})
    model.to_empty(device="cpu")
    model["metric"].update(**batch())
    assert_same(model["metric"].compute(), scores(batch()))


@pytest.mark.cuda
def test_on_cuda_it_is_the_same():
    """State or a path left on the CPU would stop a training loop on a GPU."""
    given_ = batch(0, (3, 4, 2), 3001)
    expected = scores(given_)
    metric = LogLossRegret(4).to("cuda")
    metric.update(**{key: value.cuda() for key, value in given_.items()})
    got = {key: value.cpu() for key, value in metric.compute().items()}
    assert_same(got, expected, rtol=1e-6)


_RANK = """
import json, sys
import torch
from tests.metrics.test_log_loss_regret import batch
from wbgpu.metrics import LogLossRegret

rank, place = int(sys.argv[1]), sys.argv[2]
torch.distributed.init_process_group("gloo", init_method=place, rank=rank, world_size=2)
whole = batch(0, (5, 4, 2))
metric = LogLossRegret(4)
metric.update(**{key: value[rank::2] for key, value in whole.items()})
print(json.dumps({key: value.tolist() for key, value in metric.compute().items()}))
torch.distributed.destroy_process_group()
"""


def test_two_processes_have_the_numbers_of_one(tmp_path):
    """5 episodes on 2 ranks are 5, not 6 (pytorch #25162), and means are of sums, not of means."""
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", _RANK, str(rank), (tmp_path / "meeting").as_uri()],
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    results = []
    for process in ranks:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        results.append(json.loads(out))
    expected = scores(batch(0, (5, 4, 2)))
    assert results[0] == results[1]
    assert expected["count"] == results[0]["count"] == 40
    for name, value in expected.items():
        assert results[0][name] == pytest.approx(value.tolist(), rel=1e-12, nan_ok=True), name
