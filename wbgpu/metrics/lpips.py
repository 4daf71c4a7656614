"""LPIPS, the learned perceptual distance of Zhang et al. 2018, version 0.1, from weights on disk.

Frames, scaled to -1..1 and then by the channels' mean and deviation, go through a network that was
trained to classify images. At five of its layers the features of both frames are divided by their
norm over channels, subtracted and squared, weighted per channel by a learned head, and averaged
over the picture; the value is the sum over layers. 0 is identical. Over a prefix: the mean over
steps.

Equal to torchmetrics' `LearnedPerceptualImagePatchSimilarity` with the same weights. The network's
weights are torchvision's file for ``alexnet`` or ``vgg16``, from a path that the user gives:
nothing is downloaded, and without a path every episode is unsupported. The heads come with
torchmetrics. Digests of both files are part of the id.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Literal

import torch
import torchmetrics
import torchvision
from torch import Tensor, nn

from wbgpu.errors import ConfigurationError
from wbgpu.metrics.frame_value_metric import FrameValueMetric

Network = Literal["alexnet", "vgg16"]

# Where the layers that are compared end, in torchvision's ``features``.
_ENDS = {"alexnet": (2, 5, 8, 10, 12), "vgg16": (4, 9, 16, 23, 30)}
_CHANNELS = {"alexnet": (64, 192, 384, 256, 256), "vgg16": (64, 128, 256, 512, 512)}
_HEADS = {"alexnet": "alex.pth", "vgg16": "vgg.pth"}
_SHIFT = (-0.030, -0.088, -0.188)
_SCALE = (0.458, 0.448, 0.450)
_EPSILON = 1e-8
_MIN_SIDE = {"alexnet": 31, "vgg16": 16}
_NO_WEIGHTS = (
    "No weights are given, and nothing is downloaded in the middle of a run; set weights to a file "
    "of torchvision's {network}."
)


def lpips(features: list[tuple[Tensor, Tensor]], heads: list[Tensor]) -> Tensor:
    """Distance of pairs of frames from their features.

    Args:
        features: of each layer, of prediction and target, ``[N, C, h, w]``.
        heads: of each layer, weights ``[C]``, not negative.

    Returns:
        ``[N]``, 0 or more.
    """
    distance = torch.zeros(len(features[0][0]), device=features[0][0].device)
    for (prediction, target), head in zip(features, heads, strict=True):
        difference = (_unit(prediction) - _unit(target)).square()
        distance = distance + (difference * head[:, None, None]).sum(dim=1).mean(dim=(1, 2))
    return distance


def _unit(features: Tensor) -> Tensor:
    return features / (features.square().sum(dim=1, keepdim=True) + _EPSILON).sqrt()


class Lpips(FrameValueMetric):
    """Mean LPIPS; lower is better.

    Args:
        network: which network's features are compared.
        weights: a state_dict of torchvision's network, or of its ``features`` alone. ``None``:
            every episode is unsupported.
        heads: a state_dict of the learned heads; torchmetrics' by default.

    Raises:
        ConfigurationError: an unknown network, or a file that does not hold its weights.
    """

    name = "lpips"
    unit = "LPIPS"
    higher_is_better = False

    def __init__(
        self,
        num_horizons: int = 16,
        network: Network = "alexnet",
        weights: str | Path | None = None,
        heads: str | Path | None = None,
        **arguments: Any,
    ) -> None:
        if network not in _ENDS:
            raise ConfigurationError(f"network: expected one of {[*_ENDS]}, got {network!r}")
        self._network = network
        self.metric_id = f"lpips/v0.1-{network}"
        if weights is not None:
            own_heads = _torchmetrics_heads(network) if heads is None else Path(heads)
            digests = f"{_digest(Path(weights))},{_digest(own_heads)}"
            self.metric_id = f"lpips/v0.1-{network}({digests})"
        super().__init__(num_horizons, **arguments)
        self._trunk: nn.Module | None = None
        if weights is not None:
            self._trunk = _load_trunk(network, Path(weights))
            columns = _load_heads(network, own_heads)
            for layer, head in enumerate(columns):
                self.register_buffer(f"_head{layer}", head, persistent=False)
            self.register_buffer("_shift", torch.tensor(_SHIFT)[:, None, None], persistent=False)
            self.register_buffer("_scale", torch.tensor(_SCALE)[:, None, None], persistent=False)

    def refusal(self, size: tuple[int, int] | None = None) -> str | None:
        """No weights, or frames that are too small for the network's layers."""
        if self._trunk is None:
            return _NO_WEIGHTS.format(network=self._network)
        least = _MIN_SIDE[self._network]
        if size is not None and min(size) < least:
            return f"Frames are {size[0]}x{size[1]}; {self._network} needs {least} pixels a side."
        return None

    def _values(self, prediction: Tensor, target: Tensor) -> Tensor:
        heads = [self.get_buffer(f"_head{layer}") for layer in range(len(_ENDS[self._network]))]
        layers = zip(self._features(prediction), self._features(target), strict=True)
        return lpips([*layers], heads)

    def _features(self, frames: Tensor) -> list[Tensor]:
        assert isinstance(self._trunk, nn.Sequential)
        scaled = frames.to(self.get_buffer("_shift").dtype) / 127.5 - 1
        current = (scaled - self.get_buffer("_shift")) / self.get_buffer("_scale")
        layers, ends = [], set(_ENDS[self._network])
        for index, layer in enumerate(self._trunk, start=1):
            current = layer(current)
            if index in ends:
                layers.append(current)
        return layers


def _load_trunk(network: Network, path: Path) -> nn.Module:
    layers = getattr(torchvision.models, network)(weights=None).features
    trunk = nn.Sequential(*[*layers][: _ENDS[network][-1]])
    for layer in trunk:
        if isinstance(layer, nn.ReLU):
            # Features are kept: nothing may write over them.
            layer.inplace = False
    state = {key.removeprefix("features."): value for key, value in _load(path).items()}
    wanted = trunk.state_dict()
    missing = [key for key in wanted if key not in state]
    if missing:
        raise ConfigurationError(
            f"weights {path}: expected the weights of torchvision's {network}, but there is no "
            f"{missing[0]!r}"
        )
    wrong = [key for key in wanted if state[key].shape != wanted[key].shape]
    if wrong:
        raise ConfigurationError(
            f"weights {path}: {wrong[0]!r} is {tuple(state[wrong[0]].shape)}, and "
            f"{tuple(wanted[wrong[0]].shape)} in torchvision's {network}"
        )
    trunk.load_state_dict({key: state[key] for key in wanted})
    return trunk.eval().requires_grad_(False)


def _load_heads(network: Network, path: Path) -> list[Tensor]:
    state = _load(path)
    heads = []
    for layer, channels in enumerate(_CHANNELS[network]):
        key = f"lin{layer}.model.1.weight"
        if key not in state or state[key].numel() != channels:
            raise ConfigurationError(f"heads {path}: expected {channels} weights under {key!r}")
        heads.append(state[key].reshape(channels).float())
    return heads


def _torchmetrics_heads(network: Network) -> Path:
    root = Path(torchmetrics.__file__).parent
    return root / "functional" / "image" / "lpips_models" / _HEADS[network]


def _load(path: Path) -> dict[str, Tensor]:
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise ConfigurationError(f"{path}: cannot be read as weights ({error})") from error
    if not isinstance(state, dict):
        raise ConfigurationError(f"{path}: expected a state_dict, got {type(state).__name__}")
    return state


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read ({error.strerror})") from error
