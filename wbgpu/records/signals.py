"""What a dataset says about an episode besides its frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class EpisodeSignals:
    """Actions, states and metadata; ``None`` where the dataset has none.

    Attributes:
        action_vectors: float32 ``[N, A]``; row i is what was done from frame i to frame i + 1.
        action_names: of the A elements.
        state_vectors: float32 ``[N, S]``; row i is the state at frame i.
        state_names: of the S elements.
        actions: worldbench's ``actions.json``, checked: one entry from each frame to the next.
        states: worldbench's ``states.json``, checked: one entry a frame.
        metadata: of the episode.
        files: what was read, by role such as ``actions``, for digests.
    """

    action_vectors: npt.NDArray[np.float32] | None = None
    action_names: tuple[str, ...] | None = None
    state_vectors: npt.NDArray[np.float32] | None = None
    state_names: tuple[str, ...] | None = None
    actions: tuple[Any, ...] | None = None
    states: tuple[Any, ...] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, Path] = field(default_factory=dict)
