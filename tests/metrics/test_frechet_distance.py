"""FID and FVD against torchmetrics and SciPy on the same seeded random weights."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.linalg
import torch
from torch import nn
from torchmetrics.image.fid import _compute_fid

from wbgpu.errors import ConfigurationError
from wbgpu.metrics.frechet_distance import FrechetDistance, frechet_distance
from wbgpu.records.distribution_distance import EpisodeFeatures

_NUM_FEATURES = 6


class _VideoFeatures(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv3d(3, _NUM_FEATURES, 3)

    def forward(self, videos):
        return self.convolution(videos).square().mean(dim=(2, 3, 4))


class _FrameFeatures(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(3, _NUM_FEATURES, 3)

    def forward(self, frames, scale: float = 1.0):
        return self.convolution(frames).square().mean(dim=(2, 3)) * scale


def _saved(module, folder):
    path = folder / "extractor.pt"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"`torch\.jit\.", category=FutureWarning)
        torch.jit.save(torch.jit.script(module), str(path))
    return path


@pytest.fixture(scope="module")
def extractors(tmp_path_factory):
    """Of videos and of frames, with seeded weights."""
    with torch.random.fork_rng():
        torch.manual_seed(3)
        modules = {"videos": _VideoFeatures(), "frames": _FrameFeatures()}
    return {
        of: (_saved(module, tmp_path_factory.mktemp(of)), module) for of, module in modules.items()
    }


def _videos(seed, num=9, steps=5):
    generator = torch.Generator().manual_seed(seed)
    shape = (num, steps, 3, 12, 14)
    return torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)


def _features(of, module, videos):
    scaled = videos.float() / 127.5 - 1
    inputs = scaled.transpose(1, 2) if of == "videos" else scaled.flatten(0, 1)
    with torch.no_grad():
        return module(inputs).double()


@pytest.mark.parametrize("of", ["videos", "frames"])
def test_equals_torchmetrics_and_scipy(extractors, of):
    """Another scaling, covariance or square root would be another distance."""
    path, module = extractors[of]
    prediction, target = _videos(0), _videos(1) // 2
    metric = FrechetDistance(path, _NUM_FEATURES, of)
    metric.update(prediction[:4], target[:4])
    metric.update(prediction[4:], target[4:])
    sides = [_features(of, module, videos).numpy() for videos in (target, prediction)]
    moments = [(side.mean(0), np.cov(side.T)) for side in sides]
    (mean, covariance), (other_mean, other) = moments
    root = scipy.linalg.sqrtm(covariance @ other).real
    wanted = ((mean - other_mean) ** 2).sum() + np.trace(covariance + other - 2 * root)
    assert wanted > 1e-3
    assert metric.compute().item() == pytest.approx(wanted, rel=1e-6)
    tensors = [torch.from_numpy(np.asarray(x)) for pair in moments for x in pair]
    assert metric.compute().item() == pytest.approx(_compute_fid(*tensors).item(), rel=1e-6)


def test_identical_sets_are_at_no_distance(extractors):
    """What rounding leaves must not be reported as a distance, whatever the rank."""
    path, _ = extractors["videos"]
    for num in (2, 3, 20):
        metric = FrechetDistance(path, _NUM_FEATURES)
        metric.update(_videos(0, num), _videos(0, num))
        assert metric.compute().item() == 0


def test_the_same_set_in_another_order_is_at_no_distance(extractors):
    """The distance is one of sets; only rounding may differ."""
    path, _ = extractors["videos"]
    metric = FrechetDistance(path, _NUM_FEATURES)
    metric.update(_videos(0), _videos(0).flip(0))
    assert metric.compute().item() == pytest.approx(0, abs=1e-6)


def test_rank_deficient_sets_have_a_real_distance():
    """Two observations of many features: eigenvalues of C D would be complex by rounding."""
    generator = torch.Generator().manual_seed(0)
    sides = torch.randn((2, 3, 50), dtype=torch.float64, generator=generator)
    moments = [(side.mean(0), side.T.cov()) for side in sides]
    got = frechet_distance(*moments[0], *moments[1])
    (mean, covariance), (other_mean, other) = [(m.numpy(), c.numpy()) for m, c in moments]
    # With centred rows A and B, C D has the eigenvalues of the squared singular values of A B^T.
    rows = [(side - side.mean(0)).numpy() for side in sides]
    nuclear = np.linalg.svd(rows[0] @ rows[1].T / 2, compute_uv=False).sum()
    wanted = ((mean - other_mean) ** 2).sum() + np.trace(covariance + other) - 2 * nuclear
    assert got.item() == pytest.approx(wanted, rel=1e-6)


def test_distance_of_shifted_normals_is_the_squared_shift():
    """The formula at a place where anybody can work it out."""
    covariance = torch.eye(3, dtype=torch.float64)
    mean = torch.tensor([1.0, 2.0, 2.0], dtype=torch.float64)
    got = frechet_distance(mean, covariance, torch.zeros(3, dtype=torch.float64), 4 * covariance)
    assert got.item() == pytest.approx(9 + 3 * (1 + 4 - 2 * 2), rel=1e-12)


def test_says_how_many_and_how_deficient(extractors):
    """A number from too few videos must carry its warning with it."""
    path, _ = extractors["videos"]
    metric = FrechetDistance(path, _NUM_FEATURES)
    metric.update(_videos(0, 4), _videos(1, 4))
    result = metric.result()
    assert (result.num_episodes, result.num_observations, result.num_features) == (4, 4, 6)
    assert result.rank_deficiency == 3
    assert result.value == metric.compute().item()
    frames = FrechetDistance(extractors["frames"][0], _NUM_FEATURES, "frames")
    frames.update(_videos(0, 4), _videos(1, 4))
    assert (frames.result().num_episodes, frames.result().num_observations) == (4, 20)
    assert frames.result().rank_deficiency == 0


def test_padding_is_no_observation(extractors):
    """Steps that do not exist must not be seen by the extractor."""
    path, _ = extractors["frames"]
    valid = torch.ones((4, 5), dtype=torch.bool)
    valid[0, 2:] = False
    padded, alone = (FrechetDistance(path, _NUM_FEATURES, "frames") for _ in range(2))
    padded.update(_videos(0, 4), _videos(1, 4), valid)
    alone.update(_videos(0, 4)[:1, :2], _videos(1, 4)[:1, :2])
    alone.update(_videos(0, 4)[1:], _videos(1, 4)[1:])
    assert padded.compute().item() == pytest.approx(alone.compute().item(), rel=1e-9)
    assert padded.result().num_observations == 17


def test_without_an_extractor_or_with_one_video_there_is_a_reason(extractors):
    """Missing is not zero."""
    metric = FrechetDistance()
    metric.update(_videos(0, 4), _videos(1, 4))
    assert metric.result().value is None
    assert "No feature extractor is given" in metric.result().reason
    one = FrechetDistance(extractors["videos"][0], _NUM_FEATURES)
    one.update(_videos(0, 1), _videos(1, 1))
    assert one.compute().isnan()
    assert one.result().reason == "A covariance takes two observations, and there are 1."


def test_settings_are_part_of_the_id(extractors):
    """How frames are handed over changes every feature."""
    path, _ = extractors["frames"]
    arguments = [
        {},
        {"dtype": "uint8"},
        {"low": 0.0},
        {"arguments": {"scale": 2.0}},
        {"of": "videos"},
    ]
    ids = {FrechetDistance(path, 6, **{"of": "frames", **given}).metric_id for given in arguments}
    assert len(ids) == len(arguments)
    scaled = FrechetDistance(path, 6, "frames", arguments={"scale": 2.0})
    plain = FrechetDistance(path, 6, "frames")
    for metric in (scaled, plain):
        metric.update(_videos(0), _videos(1))
    assert scaled.compute().item() == pytest.approx(4 * plain.compute().item(), rel=1e-6)


def test_wrong_extractors_are_refused_by_name(tmp_path, extractors):
    """Features of another shape would be added to sums of another meaning."""
    path = tmp_path / "i3d.pt"
    with pytest.raises(ConfigurationError, match=r"i3d.pt: cannot be read as a TorchScript module"):
        FrechetDistance(path)
    path.write_text("not a module")
    with pytest.raises(ConfigurationError, match=r"i3d.pt: cannot be read as a TorchScript module"):
        FrechetDistance(path)
    metric = FrechetDistance(extractors["videos"][0], num_features=400)
    with pytest.raises(ValueError, match=r"expected features \(1, 400\) .* got \(1, 6\)"):
        metric.update(_videos(0), _videos(1))


def test_the_default_dtype_of_a_model_does_not_change_sums(extractors):
    """A cast of the model around it would round sums of millions of frames."""
    metric = FrechetDistance(extractors["videos"][0], _NUM_FEATURES).half().float()
    metric.update(_videos(0), _videos(1))
    assert metric.target_outer.dtype == torch.float64


@pytest.mark.parametrize("of", ["videos", "frames"])
def test_features_of_episodes_add_up_to_the_bits_of_their_frames(extractors, of):
    """Processes exchange features: their distance must be that of one process."""
    prediction, target = _videos(0), _videos(1)
    whole, added = (FrechetDistance(extractors[of][0], _NUM_FEATURES, of) for _ in range(2))
    whole.update(prediction, target)
    for one, other in zip(prediction, target):
        features = added.features(one, other)
        assert features.shape == (2, 1 if of == "videos" else 5, _NUM_FEATURES)
        added.add(EpisodeFeatures(*features.numpy()))
    assert added.result() == whole.result()
    assert added.result().value > 0


def test_travels_to_other_processes(extractors, tmp_path):
    """TorchScript cannot be pickled; a file that changed meanwhile is another extractor."""
    path = tmp_path / "extractor.pt"
    path.write_bytes(extractors["videos"][0].read_bytes())
    metric = FrechetDistance(path, _NUM_FEATURES)
    data = pickle.dumps(metric)
    metric.update(_videos(0), _videos(1))
    other = pickle.loads(data)
    other.update(_videos(0), _videos(1))
    assert other.result() == metric.result()
    path.write_bytes(extractors["frames"][0].read_bytes())
    with pytest.raises(ConfigurationError, match=r"extractor\.pt: the file has changed"):
        pickle.loads(data)
    pickle.loads(pickle.dumps(FrechetDistance()))
