"""A metric is one Python file, one YAML, one test and one card: none may be missing."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hydra.utils import instantiate
from omegaconf import OmegaConf
from torchmetrics import MetricCollection

from wbgpu.metrics import (
    EpisodeMetric,
    FrameValueMetric,
    HorizonMetric,
    TrackMetric,
    check_metric,
    check_track_metric,
)

REPOSITORY = Path(__file__).resolve().parents[2]
CONFIGS = sorted((REPOSITORY / "configs/metrics").glob("*.yaml"))


def _made(config: Path, **arguments: object) -> EpisodeMetric:
    (entry,) = OmegaConf.load(config).values()
    return instantiate(entry, **arguments)


def _is_of_frames(config: Path) -> bool:
    return isinstance(_made(config), HorizonMetric)


def _is_of_tracks(config: Path) -> bool:
    return isinstance(_made(config), TrackMetric)


FRAME_CONFIGS = [config for config in CONFIGS if _is_of_frames(config)]
# lpips needs weights, and action_following an adapter: their own tests give them these.
UNCONFIGURED = {"lpips", "action_following"}
TRACK_CONFIGS = [c for c in CONFIGS if _is_of_tracks(c) and c.stem not in UNCONFIGURED]


def test_there_are_configs():
    """Parametrised over no files, the tests below would pass."""
    assert len(CONFIGS) >= 11


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.stem)
def test_each_config_is_keyed_by_the_metrics_name(config):
    """Results are keyed by name: under another key it would take another metric's place."""
    (name,) = OmegaConf.load(config).keys()
    metric = _made(config)
    assert isinstance(metric, HorizonMetric | TrackMetric | FrameValueMetric)
    assert metric.name == name
    assert config.stem.startswith(name)


@pytest.mark.parametrize("path", ["cpu", "reference"])
@pytest.mark.parametrize("config", FRAME_CONFIGS, ids=lambda config: config.stem)
def test_each_metric_of_frames_keeps_the_contract(config, path):
    """See check_metric."""
    check_metric(_made(config, statistics_path=path))


@pytest.mark.parametrize("config", TRACK_CONFIGS, ids=lambda config: config.stem)
def test_each_metric_of_tracks_keeps_the_contract(config):
    """See check_track_metric."""
    check_track_metric(_made(config))


@pytest.mark.cuda
@pytest.mark.parametrize("config", FRAME_CONFIGS + TRACK_CONFIGS, ids=lambda config: config.stem)
def test_each_metric_keeps_the_contract_on_cuda(config):
    """State or constants left on the CPU would stop a training loop on a GPU."""
    metric = _made(config)
    if isinstance(metric, TrackMetric):
        check_track_metric(metric, device="cuda")
    else:
        check_metric(metric, device="cuda")


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.stem)
def test_each_metric_has_a_card_and_a_test(config):
    """A number that nobody can look up, or that nothing checks, must not be shipped."""
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


def _metrics(num_horizons):
    return {
        config.stem: instantiate(entry, num_horizons=num_horizons)
        for config in FRAME_CONFIGS
        for entry in OmegaConf.load(config).values()
    }


def _batches():
    """A perfect prediction of a still scene, of a moving one, and a batch that tells all apart."""
    context = torch.zeros((1, 3, 16, 16), dtype=torch.uint8)
    still = context[:, None].expand(-1, 4, -1, -1, -1)
    moved = still + 90
    target = torch.arange(still.numel()).remainder(251).to(torch.uint8).reshape(still.shape)
    error = torch.tensor([3, -7, 11, 2]).reshape(1, 4, 1, 1, 1)
    prediction = (target.long() + error).clamp(0, 255).to(torch.uint8)
    return [
        (still, still, context),
        (moved, moved, context),
        (prediction, target, context + 40),
    ]


@pytest.mark.parametrize("num_skipped", [0, 1])
def test_members_of_a_metric_collection_keep_their_own_values(num_skipped):
    """torchmetrics merges metrics whose states agree after the first batch: SSIM became skill."""
    collection, batches = MetricCollection(_metrics(4)), _batches()[num_skipped:]
    for prediction, target, context in batches:
        collection.update(prediction, target, context=context)
    together = collection.compute()
    last = set()
    for key, metric in _metrics(4).items():
        for prediction, target, context in batches:
            metric.update(prediction, target, context=context)
        for name, value in metric.compute().items():
            got = together[f"{key}_{name}"]
            torch.testing.assert_close(got, value, rtol=0, atol=0, equal_nan=True, msg=key)
        last.add(metric.compute()["prefix"][-1].item())
    assert len(last) == len(FRAME_CONFIGS), "the last batch tells every two metrics apart"


def test_several_metrics_compose_with_hydra():
    """A config under another key than its name would replace another metric."""
    from hydra import compose, initialize_config_dir

    with initialize_config_dir(str(REPOSITORY / "configs"), version_base="1.3"):
        config = compose(overrides=["+metrics=[visual_similarity,psnr]"])
    assert set(config.metrics) == {"visual_similarity", "psnr"}


@pytest.mark.parametrize("name", ["fid", "fvd"])
def test_each_distance_has_a_config_of_its_name_and_a_card(name):
    """Results and gates know it by that name."""
    ((key, entry),) = OmegaConf.load(
        REPOSITORY / f"configs/distribution_metrics/{name}.yaml"
    ).items()
    assert key == instantiate(entry).name == name
    card = (REPOSITORY / "docs/metrics/frechet_distance.md").read_text()
    assert f"`{name}/frechet-1.0(...)`" in card
