from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from lightning.pytorch import LightningModule, Trainer
from safetensors.torch import save_file
from torch import nn

from wbgpu.errors import ConfigurationError, InputError
from wbgpu.models import ActionConditioned, load_model, load_state

MODULE = "wbgpu.models.ActionConditioned"
ARGUMENTS = {"num_actions": 2, "channels": 4}


@pytest.fixture
def network() -> ActionConditioned:
    return ActionConditioned(**ARGUMENTS)


def same(model: nn.Module, other: nn.Module) -> bool:
    theirs = other.state_dict()
    return all(torch.equal(value, theirs[name]) for name, value in model.state_dict().items())


def test_a_state_dict_a_mapping_and_safetensors_give_the_same_model(network, tmp_path):
    torch.save(network.state_dict(), tmp_path / "plain.pt")
    torch.save({"state_dict": network.state_dict(), "epoch": 3}, tmp_path / "mapping.ckpt")
    save_file(network.state_dict(), tmp_path / "weights.safetensors")
    for name in ("plain.pt", "mapping.ckpt", "weights.safetensors"):
        assert same(load_model(MODULE, tmp_path / name, arguments=ARGUMENTS), network)


def test_arguments_in_the_file_are_used_and_can_be_overridden(network, tmp_path):
    content = {"state_dict": network.state_dict(), "arguments": {"num_actions": 2, "channels": 9}}
    torch.save(content, tmp_path / "a.ckpt")
    assert same(load_model(MODULE, tmp_path / "a.ckpt", arguments={"channels": 4}), network)


class Training(LightningModule):
    def __init__(self, channels: int = 4) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.model = ActionConditioned(num_actions=2, channels=channels)

    def predict(self, context_frames, actions, num_frames):
        return self.model.predict(context_frames, actions, num_frames)


def test_lightnings_own_checkpoints_are_read(tmp_path):
    """Either the part of the LightningModule that is the model, or all of it with its arguments."""
    module = Training(channels=3)
    trainer = Trainer(logger=False, enable_checkpointing=False, accelerator="cpu")
    trainer.strategy.connect(module)
    path = tmp_path / "epoch.ckpt"
    trainer.save_checkpoint(path)
    arguments = {"num_actions": 2, "channels": 3}
    part = load_model(MODULE, path, arguments=arguments, prefix="model.")
    assert same(part, module.model)
    sys.modules.setdefault("tests_checkpoint", sys.modules[__name__])
    assert same(load_model("tests_checkpoint.Training", path), module)


class RunsCode:
    def __reduce__(self):
        return (exec, (f"open({str(self.path)!r}, 'w').close()",))

    def __init__(self, path: Path) -> None:
        self.path = path


def test_a_file_that_would_run_code_is_refused_with_the_reason_and_runs_none(network, tmp_path):
    proof = tmp_path / "code-has-run"
    path = tmp_path / "a.ckpt"
    torch.save({"state_dict": network.state_dict(), "more": RunsCode(proof)}, path)
    with pytest.raises(InputError) as caught:
        load_model(MODULE, path, arguments=ARGUMENTS)
    message = str(caught.value)
    assert "exec" in message
    assert "model.trust_checkpoint=true" in message
    assert not proof.exists()
    assert same(load_model(MODULE, path, arguments=ARGUMENTS, trust_checkpoint=True), network)
    assert proof.exists()


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", pickle.dumps({"a": print})])
def test_files_that_are_no_checkpoint_are_refused(content, tmp_path):
    path = tmp_path / "bad.ckpt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"bad\.ckpt .*; expected a whole"):
        load_state(path)


def test_faults_of_the_file_are_named(network, tmp_path):
    path = tmp_path / "a.ckpt"
    with pytest.raises(InputError, match=r"there is no file .*a\.ckpt"):
        load_model(MODULE, path)
    torch.save({"epoch": 1}, path)
    with pytest.raises(InputError, match=r"holds no weights; .* a mapping with 'epoch'"):
        load_model(MODULE, path)
    torch.save(network.state_dict(), path)
    with pytest.raises(InputError, match=r"model\.prefix: no weight .* 'ema\.'"):
        load_model(MODULE, path, prefix="ema.")
    with pytest.raises(InputError, match=r"does not fit [\s\S]*size mismatch"):
        load_model(MODULE, path, arguments={"num_actions": 3, "channels": 4})


def test_a_prefix_that_all_weights_have_is_named(network, tmp_path):
    """DDP's `module.`; or a part of a LightningModule, whose arguments are not the part's."""
    path = tmp_path / "a.ckpt"
    torch.save({f"module.{name}": value for name, value in network.state_dict().items()}, path)
    with pytest.raises(InputError, match=r"does not fit [\s\S]*model\.prefix=module\.$") as caught:
        load_model(MODULE, path, arguments=ARGUMENTS)
    assert len(str(caught.value)) < 1500
    state = {f"net.{name}": value for name, value in network.state_dict().items()}
    torch.save({"state_dict": state, "hyper_parameters": {"lr": 0.1}}, path)
    with pytest.raises(ConfigurationError, match=r"argument 'lr'\n.*model\.prefix=net\.$"):
        load_model(MODULE, path, arguments=ARGUMENTS)
    assert same(load_model(MODULE, path, arguments=ARGUMENTS, prefix="net."), network)


class Extra(torch.nn.Linear):
    """Keeps more than tensors, as layers of float8 do."""

    scale = 1.0

    def __init__(self):
        super().__init__(2, 2)

    def predict(self, context_frames, actions, num_frames): ...

    def get_extra_state(self):
        return {"scale": self.scale}

    def set_extra_state(self, state):
        self.scale = state["scale"]


def test_extra_state_is_loaded(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tests_checkpoint", sys.modules[__name__])
    extra = Extra()
    extra.scale = 3.0
    torch.save(extra.state_dict(), tmp_path / "a.ckpt")
    assert load_model("tests_checkpoint.Extra", tmp_path / "a.ckpt").scale == 3.0


def test_faults_of_the_class_are_named():
    for module, message in (
        ("wbgpu.models.Nothing", "cannot make 'wbgpu.models.Nothing'"),
        ("nothing.there.Class", "No module named 'nothing'"),
        ("Class", "cannot make 'Class'"),
        ("torch.nn.Identity", "has no method predict"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            load_model(module)
    with pytest.raises(ConfigurationError, match="unexpected keyword argument 'depth'"):
        load_model(MODULE, arguments={"depth": 3})


def test_a_model_without_parameters_takes_no_checkpoint(network, tmp_path):
    torch.save(network.state_dict(), tmp_path / "a.ckpt")
    with pytest.raises(ConfigurationError, match=r"is no torch\.nn\.Module"):
        load_model("wbgpu.models.CopyLast", tmp_path / "a.ckpt")


def test_models_bring_neither_lightning_nor_hydra():
    """They are imported where a user writes a model, in whatever environment that is."""
    program = (
        "import sys, wbgpu.models; print([m for m in ('lightning', 'hydra') if m in sys.modules])"
    )
    output = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert output.strip() == "[]"
