"""A model is one Python file, one YAML, one test and one line in docs/models.md."""

from __future__ import annotations

import pytest
import torch

from tests.conftest import REPOSITORY
from wbgpu.evaluation.configuration import compose
from wbgpu.evaluation.live_configuration import live_from
from wbgpu.models import ActionConditioned, check_model

CONFIGS = sorted((REPOSITORY / "configs/model").glob("*.yaml"))
GENERAL = {"module"}
"""For models of users: tests/models/test_checkpoint.py."""


def test_there_are_configs():
    assert len(CONFIGS) >= 5


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.stem)
def test_each_is_described_and_tested(config):
    assert f"`{config.stem}`" in (REPOSITORY / "docs/models.md").read_text("utf-8")
    if config.stem not in GENERAL:
        assert (REPOSITORY / f"tests/models/test_{config.stem}.py").is_file()


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)])
@pytest.mark.parametrize("name", [config.stem for config in CONFIGS if config.stem not in GENERAL])
def test_each_makes_a_model_that_keeps_the_contract(name, device, tmp_path):
    overrides = [f"model={name}"]
    if name == "action_conditioned":
        network = ActionConditioned(num_actions=2, channels=4)
        torch.save({"state_dict": network.state_dict(), "arguments": {}}, tmp_path / "a.ckpt")
        overrides += [f"model.checkpoint={tmp_path / 'a.ckpt'}"]
        overrides += ["+model.arguments.num_actions=2", "+model.arguments.channels=4"]
    live = live_from(compose(overrides))
    check_model(live.made(torch.device(device)), num_actions=2, device=device)
