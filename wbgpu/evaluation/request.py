"""What to evaluate, checked before any video is opened."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import torch

from wbgpu.episodes.actions import find_actions, read_actions
from wbgpu.episodes.layout import DescribedLayout, Layout, SuiteDescription
from wbgpu.episodes.logits import LogitFiles, find_logits
from wbgpu.episodes.pairing import Episode, EpisodePair
from wbgpu.episodes.video_folders import VideoFolders
from wbgpu.errors import ConfigurationError
from wbgpu.evaluation.live_model import LiveModel
from wbgpu.metrics import EpisodeMetric, FrechetDistance, TrackMetric
from wbgpu.records.clip import Clip
from wbgpu.records.profile import REASONS_WITHOUT_SIGNALS, MetricSetting, Profile
from wbgpu.records.signals import EpisodeSignals
from wbgpu.records.suite import ResultType
from wbgpu.records.video import AlignmentPolicy, ResizeRule
from wbgpu.statistics import PATHS
from wbgpu.video.decoder import Decoder

PROCESS_BACKENDS = ("gloo", "nccl")
"""What `torch.distributed` may exchange records by."""


@dataclass(frozen=True)
class EvaluationRequest:
    """One run of the evaluation loop.

    Attributes:
        ground_truth, predictions: roots that ``layout`` understands. There are no predictions
            where there is a model, or where they lie within the suite.
        decoder: how videos become frames.
        metrics: by name; composite metrics among them are weighed by ``profile``.
        distances: of the suite as a whole, by name, in no composite.
        layout: how the suite lies on disk.
        live: the model that predicts, or ``None`` for saved predictions.
        logits: folder of saved logits of the same episodes, or ``None``; see
            `wbgpu.episodes.logits`. Not with a model.
        float_range: what black and white are in predictions that are arrays of floats; ``None``
            refuses them.
        actions: saved actions of the same episodes for metrics that look at them, or ``None``; see
            `wbgpu.episodes.actions`. Of a model that is run, they are those of ``live``.
        num_context: leading frames of every video that are not scored.
        alignment: ``strict`` or ``safe``.
        max_mismatch_ratio, max_mismatch_frames: of ``safe``.
        resize: of ``safe``; see `wbgpu.records.video.ResizeRule`.
        whole_predictions: of ``safe``: where a prediction is longer than the ground truth, the
            values of metrics that look at it alone are of all its frames; horizons end all the
            same where the ground truth does. A model predicts no such frames.
        aggregation: the rule of the suite's aggregates; ``None`` for ``evaluation`` of a single
            file and ``batch_evaluation`` otherwise. See `wbgpu.aggregate.summary`.
        profile: the composite's settings.
        name: checkpoint name; ``None`` takes the suite's, or that of the predictions folder or the
            model.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        statistics_path: ``auto``, ``reference``, ``cpu`` or ``triton``.
        window_frames: frames scored at once; ``None`` for 8 MiB a video.
        num_workers: decoding threads; ``None`` for as many as cores, at most 4.
        num_processes: processes of this machine that evaluate together.
        process_backend: ``gloo`` or ``nccl``: how they exchange records.
        journal: file in which every finished episode is recorded, or ``None``.
        keeps_journal: whether the journal stays when the result is saved.
        resume: whether to go on from what is in the journal.
        measures_stages: whether the throughput of every stage is to be measured.
        configuration: the resolved configuration, kept with the result.
        configuration_file: the project file that was read, or ``None``.
        notes: remarks that go into the result.
        command_line: the command that is running, or ``None``.

    Raises:
        ConfigurationError: a value is out of range; the message names the key.
    """

    ground_truth: Path
    predictions: Path | None
    decoder: Decoder
    metrics: Mapping[str, EpisodeMetric]
    distances: Mapping[str, FrechetDistance] = field(default_factory=dict)
    layout: Layout = field(default_factory=VideoFolders)
    live: LiveModel | None = None
    logits: Path | None = None
    float_range: tuple[float, float] | None = None
    actions: Path | None = None
    num_context: int = 0
    alignment: AlignmentPolicy = "strict"
    max_mismatch_ratio: float = 0.25
    max_mismatch_frames: int = 8
    resize: ResizeRule = "bilinear"
    whole_predictions: bool = False
    aggregation: ResultType | None = None
    profile: Profile = field(default_factory=Profile)
    name: str | None = None
    device: str = "auto"
    statistics_path: str = "auto"
    window_frames: int | None = None
    num_workers: int | None = None
    num_processes: int = 1
    process_backend: str = "gloo"
    journal: Path | None = None
    keeps_journal: bool = True
    resume: bool = False
    measures_stages: bool = False
    configuration: Mapping[str, Any] = field(default_factory=dict)
    configuration_file: Path | None = None
    notes: tuple[str, ...] = ()
    command_line: str | None = None

    def __post_init__(self) -> None:
        if self.num_context < 0:
            raise ConfigurationError(
                f"suite.num_context (--skip-context): must be non-negative, got {self.num_context}"
            )
        if self.alignment not in ("strict", "safe"):
            raise ConfigurationError(
                f"suite.alignment: expected 'strict' or 'safe', got {self.alignment!r}"
            )
        if self.resize not in (rules := get_args(ResizeRule)):
            raise ConfigurationError(f"suite.resize: expected one of {rules}, got {self.resize!r}")
        if self.aggregation not in (None, *(types := get_args(ResultType))):
            raise ConfigurationError(
                f"suite.result_type: expected one of {types}, got {self.aggregation!r}"
            )
        if self.statistics_path not in PATHS:
            raise ConfigurationError(
                f"statistics: expected one of {PATHS}, got {self.statistics_path!r}"
            )
        if self.float_range is not None and not _is_range(self.float_range):
            raise ConfigurationError(
                f"suite.float_range: expected two finite numbers, the value of black and the "
                f"greater one of white, such as [0,1], got {self.float_range!r}"
            )
        for key in ("window_frames", "num_workers"):
            value = getattr(self, key)
            if value is not None and value < 1:
                raise ConfigurationError(f"loader.{key}: must be at least 1, got {value}")
        if self.num_processes < 1:
            raise ConfigurationError(
                f"trainer.devices: must be at least 1, got {self.num_processes}"
            )
        if self.resume and self.journal is None:
            raise ConfigurationError(
                "resume: there is no journal to go on from; name that of the run that died: "
                "journal=FILE"
            )
        if self.process_backend not in PROCESS_BACKENDS:
            raise ConfigurationError(
                f"trainer.backend: expected one of {PROCESS_BACKENDS}, got {self.process_backend!r}"
            )
        if self.process_backend == "nccl" and self.device not in ("auto", "cuda"):
            raise ConfigurationError(
                "trainer.backend: nccl needs a GPU for each process, so device=auto or "
                f"device=cuda; got device={self.device}; use trainer.backend=gloo"
            )
        if not self.metrics:
            raise ConfigurationError("metrics: at least one metric must be chosen")
        for key, distance in self.distances.items():
            if distance.name != key:
                raise ConfigurationError(
                    f"distribution_metrics.{key}: its name is {distance.name!r}; set "
                    f"distribution_metrics.{key}.name={key}"
                )
        self._check_predictions()

    @property
    def result_type(self) -> ResultType:
        """Of the result: whether it is of one video or dataset, or of a batch of videos."""
        if self.aggregation is not None:
            return self.aggregation
        return "evaluation" if self.ground_truth.is_file() else "batch_evaluation"

    @property
    def checkpoint_name(self) -> str:
        """The given name, the suite's, or the predictions' root's (a file's without extension)."""
        if self.name:
            return self.name
        if self.live is not None and self.predictions is None:
            return self.live.name
        if (described := self.description.checkpoint_name) is not None:
            return described
        path = (self.predictions or self.ground_truth).resolve()
        return path.name if path.is_dir() else path.stem

    @property
    def description(self) -> SuiteDescription:
        """What the suite says about itself, where its layout knows."""
        if isinstance(self.layout, DescribedLayout):
            predictions = None if self.live is not None else self.predictions
            return self.layout.describe(self.ground_truth, predictions)
        return SuiteDescription()

    @property
    def predictions_root(self) -> str:
        """Where predictions come from: the folder, the file, or ``live:`` and the model's name.

        The suite itself where they lie within it.
        """
        return str(self.predictions or self.ground_truth) if self.live is None else self.live.place

    @property
    def measured_profile(self) -> Profile:
        """The profile without composite metrics that exist but were not chosen."""
        return Profile(
            {
                name: MetricSetting(
                    enabled=setting.enabled
                    and (name in self.metrics or name in REASONS_WITHOUT_SIGNALS),
                    required=setting.required,
                    weight=setting.weight,
                )
                for name, setting in self.profile.metrics.items()
            }
        )

    def pairs(self) -> tuple[EpisodePair, ...]:
        """The episodes.

        Raises:
            InputError, PairingError: as :mod:`wbgpu.episodes.pairing` says.
        """
        if self.live is None:
            pairs = self.layout.pairs(self.ground_truth, self.predictions)
            if self.float_range is None:
                return pairs
            return tuple(
                replace(pair, prediction=replace(pair.prediction, float_range=self.float_range))
                for pair in pairs
            )
        place = self.live.place
        episodes = self.layout.episodes(self.ground_truth)
        if self.ground_truth.is_file():
            return tuple(episode.with_prediction(Clip(Path(place))) for episode in episodes)
        return tuple(
            episode.with_prediction(Clip(Path(place, episode.episode_id))) for episode in episodes
        )

    def logit_files(self, pairs: Sequence[EpisodePair]) -> dict[str, LogitFiles]:
        """Saved logits by episode id; none where no folder was given.

        Raises:
            InputError, PairingError: as :mod:`wbgpu.episodes.logits` says.
        """
        if self.logits is None:
            return {}
        return find_logits(self.logits, [pair.episode_id for pair in pairs])

    def action_files(self, pairs: Sequence[Episode]) -> dict[str, Path]:
        """Saved actions by episode id; none where no folder was given.

        Raises:
            InputError, PairingError: as :mod:`wbgpu.episodes.actions` says.
        """
        root = self.actions if self.live is None else self.live.actions
        return {} if root is None else find_actions(root, [pair.episode_id for pair in pairs])

    def with_actions(self, pairs: Sequence[EpisodePair]) -> tuple[EpisodePair, ...]:
        """The episodes with saved actions as their signals, where a metric looks at them.

        Raises:
            InputError, PairingError: as :mod:`wbgpu.episodes.actions` says.
        """
        if not self._looks_at_actions:
            return tuple(pairs)
        files = self.action_files(pairs)
        return tuple(
            pair
            if pair.episode_id not in files
            else replace(
                pair,
                signals=replace(
                    pair.signals or EpisodeSignals(),
                    action_vectors=read_actions(files[pair.episode_id]),
                ),
            )
            for pair in pairs
        )

    def actions_of_model(
        self, pairs: Sequence[Episode]
    ) -> Mapping[str, Path | npt.NDArray[np.float32]]:
        """What a model is told by episode id: saved actions, else those of the suite.

        Raises:
            InputError, PairingError: as :mod:`wbgpu.episodes.actions` says.
        """
        if self.live is None or self.live.actions is not None:
            return self.action_files(pairs)
        return {
            pair.episode_id: pair.signals.action_vectors
            for pair in pairs
            if pair.signals is not None and pair.signals.action_vectors is not None
        }

    @property
    def _looks_at_actions(self) -> bool:
        return any(isinstance(m, TrackMetric) and m.needs_actions for m in self.metrics.values())

    def _check_predictions(self) -> None:
        if self.predictions is not None and self.live is not None:
            raise ConfigurationError(
                "suite.predictions: give a folder of saved predictions, or a model that predicts "
                "(model=...), and not both"
            )
        if self.live is not None and self.logits is not None:
            raise ConfigurationError(
                "suite.logits: saved logits belong to saved predictions; a model brings its own"
            )
        if self.actions is not None and not self._looks_at_actions:
            raise ConfigurationError(
                "suite.actions: neither a model (model=...) nor a chosen metric looks at actions; "
                "leave it out, or choose one that does: +metrics@metrics=action_following"
            )


def _is_range(given: object) -> bool:
    return (
        isinstance(given, tuple)
        and len(given) == 2
        and all(isinstance(x, (int, float)) and math.isfinite(x) for x in given)
        and given[0] < given[1]
    )


def resolve_device(device: str) -> torch.device:
    """``auto`` is the first CUDA device if there is one, else the CPU.

    Raises:
        ConfigurationError: not a device wbgpu runs on, or not present.
    """
    if device == "auto":
        return torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
    try:
        chosen = torch.device(device)
    except RuntimeError:
        chosen = None
    if chosen is None or chosen.type not in ("cpu", "cuda"):
        raise ConfigurationError(f"device: expected auto, cpu, cuda or cuda:N, got {device!r}")
    if chosen.type == "cpu":
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise ConfigurationError(
            f"device: {device!r} was asked for, but torch sees no CUDA device; "
            "use device=cpu or device=auto"
        )
    index = chosen.index or 0
    if index >= torch.cuda.device_count():
        raise ConfigurationError(
            f"device: {device!r} was asked for, but there are {torch.cuda.device_count()}"
        )
    return torch.device("cuda", index)


def device_name(device: torch.device) -> str:
    """``cpu``, or the CUDA device with its model, such as ``cuda:0 (NVIDIA H200)``."""
    if device.type != "cuda":
        return device.type
    return f"{device} ({torch.cuda.get_device_name(device)})"
