"""A metric is one Python file, one YAML, one test and one card: none may be missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf

from wbgpu.metrics import HorizonMetric, check_metric

REPOSITORY = Path(__file__).resolve().parents[2]
CONFIGS = sorted((REPOSITORY / "configs/metrics").glob("*.yaml"))


def test_there_are_configs():
    assert len(CONFIGS) >= 11


@pytest.mark.parametrize("path", ["cpu", "reference"])
@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.stem)
def test_each_config_makes_a_metric_that_keeps_the_contract(config, path):
    entries = OmegaConf.load(config)
    (name,) = entries.keys()
    metric = instantiate(entries[name], statistics_path=path)
    assert isinstance(metric, HorizonMetric)
    assert metric.name == name
    assert config.stem.startswith(name)
    check_metric(metric)


@pytest.mark.cuda
@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.stem)
def test_each_metric_keeps_the_contract_on_cuda(config):
    import torch

    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    (entry,) = OmegaConf.load(config).values()
    check_metric(instantiate(entry), device="cuda")


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.stem)
def test_each_metric_has_a_card_and_a_test(config):
    ((name, entry),) = OmegaConf.load(config).items()
    module = entry["_target_"].split(".")[-2]
    assert (REPOSITORY / f"tests/metrics/test_{module}.py").is_file()
    card = REPOSITORY / f"docs/metrics/{name}.md"
    assert card.is_file()
    assert instantiate(entry).metric_id in card.read_text(), "the card names the metric's id"


def test_ids_are_unique():
    """Two definitions under one id would be compared as if they were one."""
    metrics = [
        instantiate(entry) for config in CONFIGS for entry in OmegaConf.load(config).values()
    ]
    assert len({metric.metric_id for metric in metrics}) == len(metrics)


def test_several_metrics_compose_with_hydra():
    from hydra import compose, initialize_config_dir

    with initialize_config_dir(str(REPOSITORY / "configs"), version_base="1.3"):
        config = compose(overrides=["+metrics=[visual_similarity,psnr]"])
    assert set(config.metrics) == {"visual_similarity", "psnr"}
