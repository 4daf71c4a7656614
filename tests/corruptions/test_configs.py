"""A corruption is one Python file, one YAML, one test and one section of docs/corruptions.md."""

from __future__ import annotations

import pytest
import torch
from hydra.utils import instantiate
from omegaconf import OmegaConf

from tests.conftest import REPOSITORY
from tests.corruptions.videos import textured_video
from wbgpu.corruptions import check_corruption, corrupt
from wbgpu.evaluation.composition import composed

CONFIGS = sorted((REPOSITORY / "configs/corruption").glob("*.yaml"))
SEVERITIES = (0.25, 0.5, 0.75, 1.0)


def made(config):
    ((name, entry),) = OmegaConf.load(config).items()
    assert name == config.stem, "results are keyed by name"
    return instantiate(entry)


def test_there_are_configs_and_the_command_runs_them_all():
    assert len(CONFIGS) >= 12
    assert set(composed("corrupt", ()).corruption) == {config.stem for config in CONFIGS}


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.stem)
def test_each_is_described_and_tested(config):
    assert f"`{config.stem}`" in (REPOSITORY / "docs/corruptions.md").read_text("utf-8")
    assert (REPOSITORY / f"tests/corruptions/test_{config.stem}.py").is_file()


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)])
@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.stem)
def test_each_keeps_the_contract(config, device):
    check_corruption(made(config), device)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.stem)
def test_each_does_more_damage_at_a_higher_severity(config):
    """Otherwise a metric that gets better with severity could be right."""
    video = textured_video(26).float()
    errors = [0.0]
    for severity in SEVERITIES:
        result = corrupt(video.to(torch.uint8), made(config), severity, num_context=2).float()
        errors.append((result - video).square().mean().item())
    assert errors == sorted(errors)
    assert errors[1] > 0
    assert errors[-1] > 1.5 * errors[1]
