"""Networks of seeded random weights in files, and as modules: nothing is downloaded."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

import torch
import torchvision
from torch import nn
from torchmetrics.functional.image.lpips import _LPIPS

NUM_FEATURES = 5


class VideoFeatures(nn.Module):
    """``[B, 3, T, H, W]`` to ``[B, NUM_FEATURES]``; refuses videos of a single frame."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv3d(3, NUM_FEATURES, (2, 5, 5), stride=(1, 3, 3))

    def forward(self, videos):
        return self.convolution(videos).square().mean(dim=(2, 3, 4))


class FrameFeatures(nn.Module):
    """``[N, 3, H, W]``, uint8, to ``[N, NUM_FEATURES]``."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, NUM_FEATURES, 5, stride=3)

    def forward(self, frames):
        return self.convolution(frames.float() / 255).square().mean(dim=(2, 3))


@dataclass(frozen=True)
class Networks:
    """Files, and what the tests' oracles make of the same weights.

    Attributes:
        alexnet, video_extractor, frame_extractor: files.
        lpips: torchmetrics' LPIPS.
        videos, frames: the modules of the two extractors.
    """

    alexnet: Path
    video_extractor: Path
    frame_extractor: Path
    lpips: nn.Module
    videos: nn.Module
    frames: nn.Module

    def overrides(self, *distances: str) -> list[str]:
        """Of ``wbgpu eval``: MSE, LPIPS and some distances."""
        extractors = {"fvd": self.video_extractor, "fid": self.frame_extractor}
        chosen = [f"+distribution_metrics=[{','.join(distances)}]"] if distances else []
        for name in distances:
            key = f"distribution_metrics.{name}"
            chosen += [f"{key}.extractor={extractors[name]}", f"{key}.num_features={NUM_FEATURES}"]
        return ["metrics=[mse,lpips]", f"metrics.lpips.weights={self.alexnet}", *chosen]


def write_networks(folder: Path) -> Networks:
    """Make them."""
    folder.mkdir(parents=True, exist_ok=True)
    with torch.random.fork_rng():
        torch.manual_seed(7)
        trunk = torchvision.models.alexnet(weights=None).features
        lpips = _LPIPS(pretrained=True, net="alex", pnet_rand=True)
        videos, frames = VideoFeatures(), FrameFeatures()
    state = trunk.state_dict()
    torch.save(state, folder / "alexnet.pth")
    renamed = {key.split(".", 1)[1]: key for key in lpips.net.state_dict() if "slice" in key}
    lpips.net.load_state_dict({name: state[key] for key, name in renamed.items()}, strict=False)
    for name, module in (("videos", videos), ("frames", frames)):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"`torch\.jit\.", category=FutureWarning)
            torch.jit.save(torch.jit.script(module), str(folder / f"{name}.pt"))
    return Networks(
        folder / "alexnet.pth", folder / "videos.pt", folder / "frames.pt", lpips, videos, frames
    )
