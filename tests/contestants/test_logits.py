"""Torch modules as contestants: every kind of checkpoint, and losses beyond probabilities."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import torch

from wbgpu.contestants import LogitsModule, check_contestant
from wbgpu.errors import ConfigurationError, InputError
from wbgpu.evaluation.prequential import run_regret
from wbgpu.worlds import load_world

WORLD = load_world("spectator")
HERE = "tests.contestants.test_logits"


class Linear(torch.nn.Module):
    """Logits that are linear in what it sees."""

    def __init__(self, num_inputs: int = 3):
        super().__init__()
        self.heads = torch.nn.ModuleList([torch.nn.Linear(num_inputs, k) for k in (5, 2)])

    def forward(self, state, action):
        action = action[:, None] if action.ndim == 1 else action
        seen = torch.cat([state.float(), action.float()], 1)
        return [head(seen) for head in self.heads]


class Fixed(torch.nn.Module):
    """The same logits whatever it sees."""

    def __init__(self, belt, lamp):
        super().__init__()
        self.logits = [torch.tensor(belt), torch.tensor(lamp)]

    def forward(self, state, action):
        return [row.expand(len(state), -1) for row in self.logits]


class Wrong(torch.nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def forward(self, state, action):
        belt, lamp = torch.zeros(len(state), 5), torch.zeros(len(state), 2)
        return {
            "one": [belt],
            "tensor": belt,
            "narrow": [belt, lamp[:, :1]],
            "integers": [belt, lamp.long()],
            "text": [belt, "lamp"],
        }[self.kind]


class Broken(torch.nn.Module):
    def forward(self, state, action):
        raise RuntimeError("boom")


@pytest.fixture
def model():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Linear()


def weights(tmp_path, module, name="weights.pt"):
    torch.save(module.state_dict(), tmp_path / name)
    return tmp_path / name


def made(tmp_path, module, **arguments):
    """A contestant from the weights of a module of this file."""
    name = f"{HERE}.{type(module).__name__}"
    return LogitsModule(WORLD.schema, weights(tmp_path, module), module=name, arguments=arguments)


def checkpoints(tmp_path, model):
    """One model as each kind of file: its path and the class, where that is needed."""
    example = torch.zeros(3, 2, dtype=torch.int64), torch.zeros(3, dtype=torch.int64)
    batch = torch.export.Dim("batch", min=1)
    exported = torch.export.export(
        model, example, dynamic_shapes={"state": {0: batch}, "action": {0: batch}}
    )
    torch.export.save(exported, tmp_path / "exported.pt2")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.trace(model, example).save(tmp_path / "script.pt")
    torch.save({"state_dict": model.state_dict(), "epoch": 3}, tmp_path / "lightning.ckpt")
    name = f"{HERE}.Linear"
    return {
        "weights": (weights(tmp_path, model), name),
        "lightning": (tmp_path / "lightning.ckpt", name),
        "export": (tmp_path / "exported.pt2", None),
        "script": (tmp_path / "script.pt", None),
    }


def test_every_kind_of_checkpoint_forecasts_what_the_module_does(tmp_path, model):
    state, action = np.array([[1, 0], [4, 1], [2, 0]]), np.array([0, 2, 1])
    with torch.no_grad():
        logits = model(torch.tensor(state), torch.tensor(action))
    expected = [rows.double().softmax(1).numpy() for rows in logits]
    for kind, (path, module) in checkpoints(tmp_path, model).items():
        contestant = LogitsModule(WORLD.schema, path, module=module)
        for rows, wanted in zip(contestant.predict(state, action), expected, strict=True):
            np.testing.assert_allclose(rows, wanted, rtol=1e-6, err_msg=kind)


def test_keeps_the_contract(tmp_path, model):
    check_contestant(lambda: made(tmp_path, model), WORLD.schema, tolerance=1e-6)


def test_one_hot_input_is_one_hot(tmp_path):
    """The variables side by side, each in its own columns."""
    seen = []

    class Spy(Linear):
        def forward(self, state, action):
            seen.append((state, action))
            return super().forward(state, action)

    spy = Spy(num_inputs=10)
    contestant = LogitsModule(
        WORLD.schema,
        weights(tmp_path, spy),
        module=f"{HERE}.Linear",
        arguments={"num_inputs": 10},
        encoding="one_hot",
    )
    contestant._module.forward = spy.forward
    contestant.predict(np.array([[4, 0], [1, 1]]), np.array([2, 0]))
    ((state, action),) = seen
    assert state.tolist() == [[0, 0, 0, 0, 1, 1, 0], [0, 1, 0, 0, 0, 0, 1]]
    assert action.tolist() == [[0, 0, 1], [1, 0, 0]]
    assert state.dtype == action.dtype == torch.float32


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_losses_that_probabilities_cannot_hold_stay_finite(tmp_path, dtype):
    """A logit gap of 8192 is a loss of 8192 nats; exp would make it infinite."""
    fixed = Fixed([0.0] * 5, [0.0, -8192.0])
    contestant = made(tmp_path, fixed, belt=[0.0] * 5, lamp=[0.0, -8192.0])
    for head in contestant._module.logits:
        head.data = head.data.to(dtype)
    result = run_regret(WORLD, contestant, range(4), 50)
    assert result.totals.num_infinite == 0
    lit = [e.per_variable["lamp"].log_loss_nats / 8192 for e in result.episodes]
    assert sum(lit) > 1
    np.testing.assert_allclose(lit, np.round(lit), atol=1e-12)


def test_a_logit_of_minus_infinity_rules_out(tmp_path):
    """Legal, counted and not clamped."""
    contestant = made(tmp_path, Fixed([0.0] * 5, [0.0, 0.0]), belt=[0.0] * 5, lamp=[0.0, -math.inf])
    result = run_regret(WORLD, contestant, range(4), 50)
    assert result.totals.num_infinite > 0
    assert result.cumulative_regret_nats == math.inf


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_logit_that_is_no_number_is_refused_with_step_variable_and_row(tmp_path, bad):
    contestant = made(tmp_path, Fixed([0.0] * 5, [0.0, 0.0]), belt=[0.0] * 5, lamp=[bad, 0.0])
    with pytest.raises(ConfigurationError, match=r"step 1 .*forecast of 'lamp', row 0: .* got nan"):
        run_regret(WORLD, contestant, range(4), 50)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("one", "a list of logits for each of belt, lamp, got 1"),
        ("tensor", "a list of logits for each of belt, lamp, got Tensor"),
        ("narrow", r"logits of 'lamp' of the shape \[3, 2\], got \[3, 1\]"),
        ("integers", "logits of 'lamp', a tensor of floats, got torch.int64"),
        ("text", "logits of 'lamp', a tensor of floats, got str"),
    ],
)
def test_output_that_is_no_logits_is_refused_by_variable(tmp_path, kind, message):
    contestant = made(tmp_path, Wrong(kind), kind=kind)
    with pytest.raises(ConfigurationError, match=message):
        contestant.predict(np.zeros((3, 2), dtype=np.int64), np.zeros(3, dtype=np.int64))


def test_a_module_that_raises_is_named_with_what_it_was_given(tmp_path, model):
    """A mistake of the user's, or the wrong encoding, and no fault of ours."""
    state, action = np.zeros((3, 2), dtype=np.int64), np.zeros(3, dtype=np.int64)
    given = r"was given state int64 \[3, 2\], action int64 \[3\] \(encoding=index, batch_size=3\)"
    raising = made(tmp_path, Broken())
    message = rf"step 1 .*module '{HERE}\.Broken' {given} and raised RuntimeError: boom"
    with pytest.raises(ConfigurationError, match=message):
        run_regret(WORLD, raising, range(3), 5)
    wrong_encoding = LogitsModule(
        WORLD.schema, weights(tmp_path, model), f"{HERE}.Linear", encoding="one_hot"
    )
    message = r"state float32 \[3, 7\], action float32 \[3, 3\] \(encoding=one_hot"
    with pytest.raises(ConfigurationError, match=message):
        wrong_encoding.predict(state, action)
    static = torch.export.export(model, (torch.tensor(state), torch.tensor(action)))
    torch.export.save(static, tmp_path / "static.pt2")
    contestant = LogitsModule(WORLD.schema, tmp_path / "static.pt2")
    contestant.predict(state, action)
    with pytest.raises(ConfigurationError, match=r"static\.pt2' was given .*batch_size=2"):
        contestant.predict(state[:2], action[:2])


@pytest.mark.parametrize("far", [1e120, -1e120, 1.7e308])
def test_losses_too_large_for_a_file_are_refused_by_variable_and_row(tmp_path, far):
    """Squares of finite losses overflowed, and files held what their reader refuses."""
    contestant = made(tmp_path, Fixed([0.0] * 5, [0.0, 0.0]), belt=[0.0] * 5, lamp=[0.0, 0.0])
    contestant._module.logits[1] = torch.tensor([0.0, far], dtype=torch.float64)
    with pytest.raises(ConfigurationError, match=r"logits of 'lamp', row 0, outcome 1: .*5e.89"):
        run_regret(WORLD, contestant, range(4), 50)


def test_what_cannot_be_loaded_is_refused_with_a_reason(tmp_path, model):
    files = checkpoints(tmp_path, model)
    path = files["weights"][0]
    (tmp_path / "text.pt").write_text("no checkpoint")
    for arguments, kind, message in (
        ({"checkpoint": tmp_path / "none.pt"}, InputError, "there is no file"),
        ({"checkpoint": path}, ConfigurationError, "holds weights only; name the class"),
        ({"checkpoint": path, "module": "no.such.Class"}, ConfigurationError, "cannot make"),
        ({"checkpoint": path, "module": f"{HERE}.Nobody"}, ConfigurationError, "cannot make"),
        ({"checkpoint": path, "module": "Linear"}, ConfigurationError, "cannot make"),
        ({"checkpoint": path, "module": "fractions.Fraction"}, ConfigurationError, "nn.Module"),
        ({"checkpoint": path, "module": f"{HERE}.Wrong"}, ConfigurationError, "cannot make"),
        (
            {"checkpoint": path, "module": f"{HERE}.Linear", "arguments": {"num_inputs": 4}},
            InputError,
            "does not fit",
        ),
        (
            {"checkpoint": tmp_path / "text.pt", "module": f"{HERE}.Linear"},
            InputError,
            "cannot load",
        ),
        (
            {"checkpoint": files["script"][0], "module": f"{HERE}.Linear"},
            ConfigurationError,
            "leave module out",
        ),
        ({"checkpoint": path, "encoding": "text"}, ConfigurationError, "'index' or 'one_hot'"),
        ({"checkpoint": path, "device": "abacus"}, ConfigurationError, "cannot use 'abacus'"),
    ):
        with pytest.raises(kind, match=message):
            LogitsModule(WORLD.schema, **arguments)


def test_a_pickle_with_code_is_not_run(tmp_path):
    """A checkpoint may come from anywhere: weights are loaded, code is not."""

    class Harmful:
        def __reduce__(self):
            return (tmp_path.joinpath("harmed").touch, ())

    torch.save(Harmful(), tmp_path / "harmful.pt")
    with pytest.raises(InputError, match="cannot load"):
        LogitsModule(WORLD.schema, tmp_path / "harmful.pt", module=f"{HERE}.Linear")
    assert not (tmp_path / "harmed").exists()
