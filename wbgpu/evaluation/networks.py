"""What networks see of an episode while its frames come by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from wbgpu.metrics import FrameValueMetric, FrechetDistance
from wbgpu.metrics.apart import FRAMES_TOGETHER
from wbgpu.records.distribution_distance import EpisodeFeatures, Features
from wbgpu.records.metric import MetricOutcome


class EpisodeNetworks:
    """Runs each network on an episode's pairs of frames, in groups that depend on nothing else.

    Windows are cut by memory and filled with other episodes. A network's last bits may depend on
    what it is given together, so it is given steps 1 to 16, 17 to 32 and so on of one episode, or
    all of its steps, wherever windows end.

    Args:
        metrics: of each step; those that refuse frames of this size see none.
        distances: of the suite, by name; those without an extractor see none.
        size: height and width of the target's frames, in which predictions are seen too.
    """

    def __init__(
        self,
        metrics: Sequence[FrameValueMetric],
        distances: Mapping[str, FrechetDistance],
        size: tuple[int, int],
    ) -> None:
        self._size = size
        self._values = {
            metric.name: _Viewer(metric.frame_values, FRAMES_TOGETHER)
            for metric in metrics
            if metric.refusal(size) is None
        }
        self._distances = {name: d for name, d in distances.items() if d.has_extractor}
        self._features = {
            name: _Viewer(distance.features, distance.num_frames_together)
            for name, distance in self._distances.items()
        }

    @property
    def is_wanted(self) -> bool:
        """Whether any network is to see frames."""
        return bool(self._values or self._features)

    def take(self, prediction: Tensor, target: Tensor) -> None:
        """The next frames, uint8 ``[n, 3, H, W]`` each."""
        for viewer in self._viewers():
            viewer.take(prediction, target)

    def close(self) -> None:
        """Show what is left after the last frame."""
        for viewer in self._viewers():
            viewer.close()

    def outcome(self, metric: FrameValueMetric) -> MetricOutcome:
        """A metric's record of the closed episode.

        Raises:
            Exception: what the network raised.
        """
        if (reason := metric.refusal(self._size)) is not None:
            return metric.refused_outcome(reason)
        return metric.outcome(torch.cat(self._values[metric.name].outputs()))

    def features(self) -> Features:
        """Of the closed episode, for each distance that can have a value."""
        found = {}
        for name, viewer in self._features.items():
            try:
                target, prediction = torch.cat(viewer.outputs(), dim=1).numpy()
                found[name] = EpisodeFeatures(target, prediction)
            except Exception as error:
                none = np.empty((0, self._distances[name].num_features), np.float32)
                found[name] = EpisodeFeatures(none, none, f"{type(error).__name__}: {error}")
        return found

    def _viewers(self) -> list[_Viewer]:
        return [*self._values.values(), *self._features.values()]


class _Viewer:
    """Shows frames to one network, ``num_together`` at a time; ``None``: all at once."""

    def __init__(
        self, network: Callable[[Tensor, Tensor], Tensor], num_together: int | None
    ) -> None:
        self._network = network
        self._num_together = num_together
        self._waiting: list[tuple[Tensor, Tensor]] = []
        self._num_waiting = 0
        self._outputs: list[Tensor] = []
        self._error: Exception | None = None

    def take(self, prediction: Tensor, target: Tensor) -> None:
        if self._error is not None:
            return
        most = self._num_together or self._num_waiting + len(target) + 1
        while len(target):
            room = most - self._num_waiting
            # A copy: a slice would keep its whole window in memory.
            self._waiting.append((prediction[:room].clone(), target[:room].clone()))
            self._num_waiting += len(self._waiting[-1][1])
            prediction, target = prediction[room:], target[room:]
            if self._num_waiting == most:
                self._show()

    def close(self) -> None:
        if self._waiting:
            self._show()

    def outputs(self) -> list[Tensor]:
        """Of each group, on the CPU."""
        if self._error is not None:
            raise self._error
        return [output.cpu() for output in self._outputs]

    def _show(self) -> None:
        prediction, target = (torch.cat(side) for side in zip(*self._waiting, strict=True))
        self._waiting, self._num_waiting = [], 0
        try:
            self._outputs.append(self._network(prediction, target))
        except Exception as error:
            # Costs this network its values, and not the episode.
            self._error = error
