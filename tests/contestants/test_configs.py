"""A contestant is one Python file, one YAML and one test, and keeps the contract."""

from __future__ import annotations

import pytest
from omegaconf import OmegaConf

from tests.conftest import REPOSITORY
from wbgpu.contestants import check_contestant
from wbgpu.evaluation.regret_configuration import contestant_from
from wbgpu.worlds import load_world, world_names

CONFIGS = sorted((REPOSITORY / "configs/contestant").glob("*.yaml"))
UNTRAINED = [config for config in CONFIGS if config.stem != "logits"]
"""Logits come from a checkpoint: tests/contestants/test_logits.py."""


def test_there_are_configs():
    assert len(UNTRAINED) >= 4


@pytest.mark.parametrize("world", world_names())
@pytest.mark.parametrize("config", UNTRAINED, ids=lambda config: config.stem)
def test_each_config_makes_a_contestant_that_keeps_the_contract(config, world):
    definition = load_world(world)
    settings = OmegaConf.to_container(OmegaConf.load(config))
    check_contestant(lambda: contestant_from(settings, definition), definition.schema)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.stem)
def test_each_contestant_is_described_and_tested(config):
    """A reader must find each option, and what it does, in one place."""
    assert f"`{config.stem}`" in (REPOSITORY / "docs/regret.md").read_text()
    assert (REPOSITORY / f"tests/contestants/test_{config.stem}.py").is_file()
