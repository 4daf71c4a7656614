"""LPIPS against torchmetrics with the same seeded random weights; nothing is downloaded."""

from __future__ import annotations

import pytest
import torch
import torchvision
from torchmetrics.functional.image.lpips import _LPIPS

from wbgpu.errors import ConfigurationError
from wbgpu.metrics.lpips import Lpips

_NETS = {"alexnet": "alex", "vgg16": "vgg"}


@pytest.fixture(scope="module", params=["alexnet", "vgg16"])
def network(request, tmp_path_factory):
    """A network of seeded weights as a file, and torchmetrics' LPIPS with the same weights."""
    path = tmp_path_factory.mktemp("weights") / "trunk.pth"
    with torch.random.fork_rng():
        torch.manual_seed(7)
        trunk = getattr(torchvision.models, request.param)(weights=None).features
        oracle = _LPIPS(pretrained=True, net=_NETS[request.param], pnet_rand=True)
    state = trunk.state_dict()
    torch.save({f"features.{key}": value for key, value in state.items()}, path)
    # torchmetrics cuts the network into slices, and keeps the layers' numbers.
    renamed = {key.split(".", 1)[1]: key for key in oracle.net.state_dict() if "slice" in key}
    oracle.net.load_state_dict({name: state[key] for key, name in renamed.items()}, strict=False)
    return request.param, path, oracle


def _frames(seed, num=3, height=40, width=48):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (num, 3, height, width), dtype=torch.uint8, generator=generator)


def test_equals_torchmetrics(network):
    """Another layer, scale or normalisation would be another distance under LPIPS's name."""
    name, path, oracle = network
    prediction, target = _frames(0), _frames(1)
    got = Lpips(network=name, weights=path).frame_values(prediction, target)
    with torch.no_grad():
        wanted = oracle(prediction.float() / 127.5 - 1, target.float() / 127.5 - 1).flatten()
    assert wanted.min() > 1e-3, "random frames differ"
    torch.testing.assert_close(got, wanted.double(), rtol=1e-5, atol=1e-7)


def test_identical_frames_are_at_no_distance(network):
    """The zero of the scale."""
    name, path, _ = network
    frames = _frames(2)
    assert Lpips(network=name, weights=path).frame_values(frames, frames).tolist() == [0, 0, 0]


def test_prefixes_are_means_over_steps(network):
    """A horizon is the mean of its steps; an episode counts once."""
    name, path, _ = network
    metric = Lpips(num_horizons=3, network=name, weights=path)
    prediction, target = _frames(3), _frames(4)
    values = metric.frame_values(prediction, target)
    outcome = metric.outcome(values)
    assert outcome.step == tuple(values.tolist())
    assert outcome.value == pytest.approx(values.mean().item(), rel=1e-12)
    metric.update(prediction[None], target[None], torch.tensor([[True, True, False]]))
    computed = metric.compute()
    assert computed["prefix_count"].tolist() == [1, 1, 0]
    assert computed["prefix"][1].item() == pytest.approx(values[:2].mean().item(), rel=1e-6)


def test_without_weights_there_is_a_reason_and_no_download(monkeypatch):
    """A cluster without a network must not hang in the middle of a run."""
    monkeypatch.setattr(torch.hub, "load_state_dict_from_url", lambda *a, **k: pytest.fail("asked"))
    metric = Lpips()
    assert "set weights to a file of torchvision's alexnet" in metric.refusal()
    metric.update(_frames(0)[None], _frames(1)[None])
    assert metric.compute()["prefix_count"].sum() == 0
    outcome = metric.refused_outcome(metric.refusal())
    assert (outcome.status, outcome.value) == ("unsupported", None)


def test_the_id_changes_with_the_weights(tmp_path):
    """Distances in two networks' features are never compared."""
    ids = set()
    for seed in (0, 1):
        torch.manual_seed(seed)
        path = tmp_path / f"{seed}.pth"
        torch.save(torchvision.models.alexnet(weights=None).features.state_dict(), path)
        ids.add(Lpips(weights=path).metric_id)
    assert len(ids) == 2


def test_wrong_weights_are_refused_by_name(tmp_path):
    """The weights of another network, or no weights, would give numbers that mean nothing."""
    path = tmp_path / "weights.pth"
    with pytest.raises(ConfigurationError, match=r"weights.pth: cannot be read \(No such file"):
        Lpips(weights=path)
    path.write_text("no weights")
    with pytest.raises(ConfigurationError, match=r"weights.pth: cannot be read as weights"):
        Lpips(weights=path)
    torch.save({"0.weight": torch.zeros(1)}, path)
    with pytest.raises(ConfigurationError, match=r"there is no '0.bias'"):
        Lpips(weights=path)
    with pytest.raises(ConfigurationError, match="network: expected one of"):
        Lpips(network="resnet")


def test_small_or_float_frames_are_refused(network):
    """A layer with no pixel would average to NaN; floats would be scaled twice."""
    name, path, _ = network
    metric = Lpips(network=name, weights=path)
    small = _frames(0, height=12)
    with pytest.raises(ValueError, match=r"Frames are 12x48; .* pixels a side"):
        metric.frame_values(small, small)
    with pytest.raises(TypeError, match="uint8"):
        metric.frame_values(_frames(0).float(), _frames(1))


def test_half_precision_modules_do_not_change_the_sums(network):
    """A model in float16 takes its metrics along; sums stay float64."""
    name, path, _ = network
    metric = Lpips(num_horizons=3, network=name, weights=path).double()
    metric.update(_frames(0)[None], _frames(1)[None])
    assert metric.compute()["prefix"].dtype == torch.float64


def test_a_pair_of_frames_has_the_same_bits_in_any_company(network):
    """Batches are filled by whatever episodes come next, and laid out as decoders leave them."""
    name, path, _ = network
    metric = Lpips(network=name, weights=path)
    prediction, target = _frames(5, num=7), _frames(6, num=7)
    together = metric.frame_values(prediction, target)
    alone = [metric.frame_values(prediction[i : i + 1], target[i : i + 1]) for i in range(7)]
    assert together.tolist() == torch.cat(alone).tolist()
    last = [side.contiguous(memory_format=torch.channels_last) for side in (prediction, target)]
    assert metric.frame_values(*last).tolist() == together.tolist()


def test_small_frames_are_refused_by_size(network):
    """So that an evaluation can say unsupported, and not error."""
    name, path, _ = network
    metric = Lpips(network=name, weights=path)
    assert metric.refusal((64, 64)) is None
    assert "Frames are 64x8" in metric.refusal((64, 8))
    assert "No weights" in Lpips(network=name).refusal((64, 8))
    small = _frames(0, height=12)[None]
    metric.update(small, small)
    assert metric.compute()["prefix_count"].sum() == 0
