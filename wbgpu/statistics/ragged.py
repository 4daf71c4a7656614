"""Statistics of episodes of different lengths, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from wbgpu.statistics.frame_statistics import FrameStatistics


@dataclass(frozen=True)
class RaggedStatistics:
    """B episodes of T_b steps, for functions that treat a prefix like any other.

    Attributes:
        episodes: statistics of each, ``[1, T_b]``.
        statistics: of all, ``[B, T]`` with T the most steps; a step that does not exist is a frame
            of one value in which nothing differs.
        valid: bool ``[B, T]``, steps that exist.
    """

    episodes: tuple[FrameStatistics, ...]
    statistics: FrameStatistics
    valid: Tensor

    @classmethod
    def of(cls, episodes: Sequence[FrameStatistics]) -> RaggedStatistics:
        """Lay ``episodes``, each ``[1, T_b]`` with T_b >= 1 and of the same groups, side by side.

        Raises:
            ValueError: no episode, or one of another shape.
        """
        if not episodes:
            raise ValueError("episodes: expected at least one")
        for index, episode in enumerate(episodes):
            if len(episode.shape) != 2 or episode.shape[0] != 1 or episode.shape[1] == 0:
                raise ValueError(
                    f"statistics {tuple(episode.shape)} of episode {index}: expected one episode, "
                    "[1, T] with T >= 1"
                )
        columns = {
            name: pad_sequence(
                [episode.require(name)[0] for episode in episodes],
                batch_first=True,
                padding_value=1 if name == "num_values" else 0,
            )
            for name in episodes[0].present()
        }
        statistics = FrameStatistics(**columns)
        device = statistics.num_values.device
        num_steps = torch.tensor([episode.shape[1] for episode in episodes], device=device)
        steps = torch.arange(statistics.shape[1], device=device)
        return cls(tuple(episodes), statistics, steps < num_steps[:, None])
