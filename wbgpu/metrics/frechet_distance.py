"""Frechet distance of the features of predicted and target frames (FID) or videos (FVD).

With means m, w and sample covariances C, D of the features of both sets (Heusel et al. 2017,
Unterthiner et al. 2018)::

    distance = abs(m - w)^2 + tr(C) + tr(D) - 2 tr((C D)^(1/2))

0 is the same mean and covariance; identical sets give exactly 0. It says whether predictions look
like the data as a whole, and nothing about any one episode: shuffled episodes give 0 too.

The features are those of a TorchScript module that the user gives; its digest and how frames are
handed to it are part of the id, and distances under different ids are never compared. Estimates
from few episodes are biased upwards, and with no more observations than features the covariances
lack rank: both numbers are part of the result, and the gate refuses it under a minimum of episodes
(`wbgpu.gating.distribution_distance`). Equal to torchmetrics' `FrechetInceptionDistance` on the
same features.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from wbgpu.errors import ConfigurationError
from wbgpu.metrics.apart import FRAMES_TOGETHER, each_apart, unfused
from wbgpu.metrics.exact_state import ExactStateMetric
from wbgpu.metrics.horizon_values import check_valid
from wbgpu.records.distribution_distance import DistributionDistance, EpisodeFeatures

Of = Literal["frames", "videos"]
Dtype = Literal["uint8", "float"]

_NO_EXTRACTOR = (
    "No feature extractor is given, and nothing is downloaded in the middle of a run; set "
    "extractor to a TorchScript file."
)
_SIDES = ("target", "prediction")


def frechet_distance(
    mean_a: Tensor, covariance_a: Tensor, mean_b: Tensor, covariance_b: Tensor
) -> Tensor:
    """Frechet distance of two normal distributions, float64, 0 or more.

    Args:
        mean_a, mean_b: float64 ``[D]``.
        covariance_a, covariance_b: float64 ``[D, D]``.
    """
    if torch.equal(mean_a, mean_b) and torch.equal(covariance_a, covariance_b):
        # What rounding leaves of the traces would be reported as a distance.
        return torch.zeros((), dtype=torch.float64, device=mean_a.device)
    # The square root's trace by symmetric matrices alone: C D and C^(1/2) D C^(1/2) have the same
    # eigenvalues, and only the second keeps them real when C lacks rank.
    values, vectors = torch.linalg.eigh(covariance_a)
    root = (vectors * values.clamp(min=0).sqrt()) @ vectors.T
    product = torch.linalg.eigvalsh(root @ covariance_b @ root).clamp(min=0)
    traces = covariance_a.trace() + covariance_b.trace() - 2 * product.sqrt().sum()
    distance: Tensor = (mean_a - mean_b).square().sum() + traces
    return distance.clamp(min=0)


class FrechetDistance(ExactStateMetric):
    """Distance of a suite's predictions from its targets.

    States are float64 sums, so batches and processes add.

    Args:
        extractor: a TorchScript file; ``None``: there is never a value.
        num_features: D, numbers that the extractor makes of one observation; 2048 for Inception,
            400 for I3D.
        of: ``videos``: one observation an episode, and the extractor is given ``[B, 3, T, H, W]``;
            ``frames``: one a frame, and it is given ``[N, 3, H, W]``.
        dtype: ``uint8`` 0-255, or ``float`` scaled to ``low`` .. ``high``.
        low, high: see ``dtype``.
        arguments: named arguments of every call, such as I3D's ``return_features: true``.
        name: key in results; ``fid`` or ``fvd`` by default.

    Raises:
        ConfigurationError: an argument out of range, or a file that is no TorchScript module.
    """

    is_differentiable = False
    higher_is_better = False
    full_state_update = False

    num_episodes: Tensor
    target_count: Tensor
    prediction_count: Tensor

    def __init__(
        self,
        extractor: str | Path | None = None,
        num_features: int = 400,
        of: Of = "videos",
        dtype: Dtype = "float",
        low: float = -1.0,
        high: float = 1.0,
        arguments: Mapping[str, Any] | None = None,
        name: str | None = None,
        **torchmetrics_arguments: Any,
    ) -> None:
        super().__init__(**torchmetrics_arguments)
        if of not in ("frames", "videos"):
            raise ConfigurationError(f"of: expected 'frames' or 'videos', got {of!r}")
        if dtype not in ("uint8", "float"):
            raise ConfigurationError(f"dtype: expected 'uint8' or 'float', got {dtype!r}")
        if isinstance(num_features, bool) or not isinstance(num_features, int) or num_features < 1:
            raise ConfigurationError(f"num_features: expected an integer > 0, got {num_features!r}")
        if not low < high:
            raise ConfigurationError(f"low, high: expected low below high, got {low} and {high}")
        self.name = name or ("fid" if of == "frames" else "fvd")
        self.num_features = num_features
        self._of, self._input_dtype, self._low, self._high = of, dtype, low, high
        self._arguments = dict(arguments or {})
        self._extractor: nn.Module | None = None
        self._path = None if extractor is None else Path(extractor).absolute()
        self.extractor_sha256: str | None = None
        if self._path is not None:
            self._extractor, self.extractor_sha256 = _load(self._path)
        digest = "none" if self.extractor_sha256 is None else self.extractor_sha256[:12]
        scale = dtype if dtype == "uint8" else f"{low:g}..{high:g}"
        called = ",".join(f"{key}={value!r}" for key, value in sorted(self._arguments.items()))
        settings = ",".join(part for part in (of, scale, called) if part)
        self.metric_id = f"{self.name}/frechet-1.0({digest},{settings})"
        zeros = torch.zeros(num_features, dtype=torch.float64)
        square = torch.zeros((num_features, num_features), dtype=torch.float64)
        self.add_state("num_episodes", torch.zeros((), dtype=torch.long), dist_reduce_fx="sum")
        for side in _SIDES:
            self.add_state(f"{side}_count", torch.zeros((), dtype=torch.long), "sum")
            self.add_state(f"{side}_sum", zeros.clone(), "sum")
            self.add_state(f"{side}_outer", square.clone(), "sum")

    def update(self, prediction: Tensor, target: Tensor, valid: Tensor | None = None) -> None:
        """Add a batch of episodes; without an extractor they are counted and no more.

        Args:
            prediction: uint8 RGB ``[B, T, 3, H, W]``, 0-255.
            target: likewise.
            valid: bool ``[B, T]``, steps that exist; all by default.

        Raises:
            TypeError: frames that are not uint8.
            ValueError: shapes that do not fit together, or features that are not ``[n, D]`` of
                finite numbers.
        """
        for name, frames in (("prediction", prediction), ("target", target)):
            if frames.dtype != torch.uint8:
                raise TypeError(f"{name}: expected uint8 frames, got {frames.dtype}")
        if prediction.ndim != 5 or prediction.shape != target.shape:
            raise ValueError(
                f"prediction {tuple(prediction.shape)} and target {tuple(target.shape)}: expected "
                "two equal shapes [B, T, 3, H, W]"
            )
        if valid is not None:
            check_valid(valid, prediction.shape[:2])
        self.num_episodes = self.num_episodes + len(prediction)
        if self._extractor is None:
            return
        for episode in range(len(target)):
            steps = slice(None) if valid is None else valid[episode]
            own_prediction, own_target = prediction[episode][steps], target[episode][steps]
            if len(own_target):
                self._add(self.features(own_prediction, own_target))

    @property
    def num_frames_together(self) -> int | None:
        """Frames of an episode that the extractor must be given at once; ``None``: all."""
        return FRAMES_TOGETHER if self._of == "frames" else None

    @property
    def has_extractor(self) -> bool:
        """Whether there can be a value."""
        return self._extractor is not None

    def features(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Features of one episode, or of a part of one where observations are frames.

        On the CPU each observation is computed alone, on one thread, so its bits do not depend on
        any other.

        Args:
            prediction: uint8 RGB ``[T, 3, H, W]``, 0-255.
            target: likewise.

        Returns:
            ``[2, n, D]``, of target and prediction, on the device of the frames.

        Raises:
            ValueError: the extractor makes something else than ``[n, D]`` of finite numbers.
        """
        sides = (target, prediction)
        inputs = [side if self._of == "frames" else side.transpose(0, 1)[None] for side in sides]
        if target.device.type == "cpu":
            apart = [one for side in inputs for one in torch.split(side, 1)]
            features = torch.cat(each_apart(self._features, apart))
        else:
            with unfused():
                parts = [part for side in inputs for part in torch.split(side, FRAMES_TOGETHER)]
                features = torch.cat([self._features(part) for part in parts])
        return features.reshape(2, -1, self.num_features)

    def _features(self, inputs: Tensor) -> Tensor:
        assert self._extractor is not None
        if self._input_dtype == "float":
            inputs = inputs.float() / 255 * (self._high - self._low) + self._low
        features = self._extractor(inputs.contiguous(), **self._arguments)
        wanted = (len(inputs), self.num_features)
        if not isinstance(features, Tensor) or tuple(features.shape) != wanted:
            found = tuple(features.shape) if isinstance(features, Tensor) else type(features)
            raise ValueError(
                f"{self.name}: expected features {wanted} from the extractor, got {found}; set "
                "num_features, and arguments where it must be told to return features"
            )
        if not bool(features.isfinite().all()):
            raise ValueError(f"{self.name}: the extractor made features that are not finite")
        return features if features.dtype == torch.float64 else features.float()

    def add(self, episode: EpisodeFeatures) -> None:
        """Add an episode by its features, as `update` does by its frames.

        Episodes that are added in one order give one and the same distance, whichever process has
        looked at them.
        """
        self.num_episodes = self.num_episodes + 1
        sides = np.stack([episode.target, episode.prediction])
        self._add(torch.from_numpy(sides).to(self.device))

    def _add(self, features: Tensor) -> None:
        for side, own in zip(_SIDES, features.double(), strict=True):
            for key, value in (
                ("count", torch.tensor(len(own))),
                ("sum", own.sum(dim=0)),
                ("outer", own.T @ own),
            ):
                state = getattr(self, f"{side}_{key}")
                setattr(self, f"{side}_{key}", state + value.to(state.device))

    def __getstate__(self) -> dict[str, Any]:
        # TorchScript cannot be pickled; whoever unpickles this loads the file again.
        state: dict[str, Any] = super().__getstate__()
        return {**state, "_modules": {**state["_modules"], "_extractor": None}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if self._path is not None:
            module, digest = _load(self._path)
            if digest != self.extractor_sha256:
                raise ConfigurationError(
                    f"extractor {self._path}: the file has changed since the run began"
                )
            self._extractor = module.to(self.device)

    def compute(self) -> Tensor:
        """The distance, float64, NaN where a set has fewer than two observations."""
        return self._distance()

    def _distance(self) -> Tensor:
        if min(int(self.target_count), int(self.prediction_count)) < 2:
            return torch.full((), torch.nan, dtype=torch.float64, device=self.device)
        moments = [self._moments(side) for side in _SIDES]
        return frechet_distance(*moments[0], *moments[1])

    def _moments(self, side: str) -> tuple[Tensor, Tensor]:
        count, total = getattr(self, f"{side}_count"), getattr(self, f"{side}_sum")
        mean = total / count
        covariance = (getattr(self, f"{side}_outer") - torch.outer(total, mean)) / (count - 1)
        return mean, (covariance + covariance.T) / 2

    def result(self) -> DistributionDistance:
        """The distance of what this process has added, with what it takes to judge it."""
        num_observations = min(int(self.target_count), int(self.prediction_count))
        reason = None
        if self._extractor is None:
            reason = _NO_EXTRACTOR
        elif num_observations < 2:
            reason = f"A covariance takes two observations, and there are {num_observations}."
        return DistributionDistance(
            name=self.name,
            metric_id=self.metric_id,
            value=None if reason else float(self._distance()),
            reason=reason,
            num_episodes=int(self.num_episodes),
            num_observations=num_observations,
            num_features=self.num_features,
            extractor_sha256=self.extractor_sha256,
        )


def _load(path: Path) -> tuple[nn.Module, str]:
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        with warnings.catch_warnings():
            # Papers' extractors are TorchScript, whatever PyTorch now recommends.
            warnings.filterwarnings("ignore", r"`torch\.jit\.load`", category=FutureWarning)
            module = torch.jit.load(str(path), map_location="cpu")  # type: ignore[no-untyped-call]
    except Exception as error:
        raise ConfigurationError(
            f"extractor {path}: cannot be read as a TorchScript module ({error})"
        ) from error
    return module.eval(), digest
