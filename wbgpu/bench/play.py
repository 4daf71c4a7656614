"""Play a contestant over HTTP, as it would be played in process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from wbgpu.bench.client import BenchClient
from wbgpu.contestants import Contestant
from wbgpu.records.world import Schema

Progress = Callable[[int], None]


def play(
    client: BenchClient,
    session: Mapping[str, Any],
    schema: Schema,
    contestant: Contestant,
    *,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Play a session from where it is to its end.

    Args:
        client: of the server.
        session: what :meth:`BenchClient.create_session` returned.
        schema: of its world.
        contestant: forecasts; it is reset first.
        progress: is told the number of each step that has been forecast.

    Returns:
        The server's result.

    Raises:
        RefusedError: the server refuses, for one a forecast that is no distribution.
        UnreachableError: it does not answer.
    """
    session_id = session["session_id"]
    contestant.reset(1)
    before: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None = None
    while True:
        asked = client.observe(session_id)
        observation = asked["observation"]
        state = np.array([[observation[v.name] for v in schema.variables]], dtype=np.int64)
        if before is not None:
            contestant.learn(*before, state)
        if asked["done"]:
            return client.result(session_id)
        action = np.array([schema.actions.index(asked["action"])], dtype=np.int64)
        forecast = contestant.predict(state, action)
        client.predict(session_id, asked["step"], schema, [row[0].tolist() for row in forecast])
        before = state, action
        if progress is not None:
            progress(asked["step"])
