"""Play a contestant in a world: at each step it forecasts, is scored, and is told what happened.

Imports no torch; whoever plays a torch module brings it along.
"""

from __future__ import annotations

import operator
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from wbgpu.aggregate.regret_summary import summarize_regret
from wbgpu.contestants import AnswerKey, Contestant, LogContestant
from wbgpu.errors import ConfigurationError, WbgpuError
from wbgpu.evaluation.environment import REGRET_PACKAGES, environment
from wbgpu.records.created_at import created_at
from wbgpu.records.regret import EpisodeRegret, RegretResult
from wbgpu.regret import RegretAccumulator
from wbgpu.version import __version__
from wbgpu.worlds import WorldBatch, WorldDefinition

MAX_RECORDED_STEPS = 2**24
"""Episodes times steps of one result, which keeps two numbers for each: about 1 GiB."""


def run_regret(
    world: WorldDefinition,
    contestant: Contestant,
    seeds: Sequence[int] | npt.NDArray[np.integer[Any]],
    num_steps: int,
    *,
    name: str | None = None,
    batch_size: int = 256,
    configuration: Mapping[str, Any] | None = None,
    command: str | None = None,
) -> RegretResult:
    """What a contestant loses in a world, whose behaviour policy takes the actions.

    Args:
        world: see :func:`wbgpu.worlds.load_world`.
        contestant: forecasts; it is reset before each batch of episodes.
        seeds: one episode each, 0 ... 2**64 - 1, none twice; a sequence or a 1-D array.
        num_steps: of every episode, at most the world's ``max_steps``.
        name: the contestant's, in results; its class's by default.
        batch_size: episodes played side by side. Numbers do not depend on it.
        configuration: kept with the result.
        command: kept with the result.

    Raises:
        ConfigurationError: an argument is of the wrong type or out of range, the contestant raises,
            or a forecast is none; the message then names the step, the variable and the row.
    """
    num_steps = _integer(num_steps, "num_steps")
    batch_size = _integer(batch_size, "batch_size")
    chosen = _checked_seeds(seeds, num_steps)
    _check(world, chosen, num_steps, batch_size)
    episodes: list[EpisodeRegret] = []
    for start in range(0, len(chosen), batch_size):
        episodes += _play(world, contestant, chosen[start : start + batch_size], num_steps)
    return summarize_regret(
        episodes,
        producer=f"wbgpu {__version__}",
        created_at=created_at(),
        world=world.schema.world,
        world_sha256=world.sha256,
        contestant=name or type(contestant).__name__,
        configuration=configuration,
        environment=environment(REGRET_PACKAGES),
        command=command,
    )


def answer_key(world: WorldDefinition) -> AnswerKey:
    """The truth of a world, for contestants that are given it."""
    return AnswerKey(world.transition, world.action_probabilities)


def _play(
    world: WorldDefinition, contestant: Contestant, seeds: Sequence[int], num_steps: int
) -> tuple[EpisodeRegret, ...]:
    batch = WorldBatch(world, seeds, max_steps=num_steps)
    accumulator = RegretAccumulator(world.schema.variables, len(seeds))
    predict, in_logs = contestant.predict, False
    if isinstance(contestant, LogContestant):
        predict, in_logs = contestant.predict_log, True
    with _named(contestant):
        contestant.reset(len(seeds))
    state = batch.observe()
    for step in range(1, num_steps + 1):
        action = batch.draw_actions()
        for told in (state, action):
            told.setflags(write=False)
        try:
            with _named(contestant):
                forecast = predict(state, action)
            if not isinstance(forecast, (tuple, list)):
                raise ConfigurationError(
                    f"contestant {type(contestant).__name__}: expected a tuple with an array "
                    f"[B, K] for each variable, got {type(forecast).__name__}"
                )
            truth = batch.peek(action)
            outcome = batch.step(action)
            outcome.setflags(write=False)
            accumulator.update(forecast, outcome, truth, forecast_is_log=in_logs)
            with _named(contestant):
                contestant.learn(state, action, outcome)
        except ConfigurationError as error:
            raise ConfigurationError(
                f"step {step} of the episodes of the seeds {seeds[0]} to {seeds[-1]}: {error}"
            ) from error
        state = outcome
    return accumulator.episodes(seeds)


@contextmanager
def _named(contestant: Contestant) -> Iterator[None]:
    """What a contestant raises is a mistake in it, and none of ours."""
    try:
        yield
    except WbgpuError:
        raise
    except Exception as error:
        raise ConfigurationError(
            f"contestant {type(contestant).__name__} raised {type(error).__name__}: {error}"
        ) from error


def _check(world: WorldDefinition, seeds: Sequence[int], num_steps: int, batch_size: int) -> None:
    if len(set(seeds)) != len(seeds):
        twice = next(seed for seed, count in Counter(seeds).items() if count > 1)
        raise ConfigurationError(f"seeds: {twice} stands twice")
    if not 1 <= num_steps <= world.max_steps:
        raise ConfigurationError(
            f"steps: expected 1 to {world.max_steps}, after which an episode of "
            f"{world.schema.world} is done, got {num_steps}; world.max_steps=... allows more"
        )
    if batch_size < 1:
        raise ConfigurationError(f"batch_size: expected at least 1, got {batch_size}")


def _checked_seeds(seeds: Any, num_steps: int) -> Sequence[int]:
    """Seeds as Python's integers; whether they are in range the world says."""
    is_array = hasattr(seeds, "__array__")
    if not is_array and (not isinstance(seeds, Sequence) or isinstance(seeds, (str, bytes))):
        raise ConfigurationError(
            f"seeds: expected a sequence or array of integers, got {type(seeds).__name__}"
        )
    if is_array:
        seeds = np.asarray(seeds)
        if seeds.ndim != 1:
            raise ConfigurationError(f"seeds: expected one dimension, got {[*seeds.shape]}")
    try:
        num_seeds = len(seeds)
    except OverflowError:
        num_seeds = sys.maxsize
    if not num_seeds:
        raise ConfigurationError("seeds: expected at least one, got none")
    if num_seeds * num_steps > MAX_RECORDED_STEPS:
        raise ConfigurationError(
            f"seeds, steps: {num_seeds} episodes of {num_steps} steps are more than the "
            f"{MAX_RECORDED_STEPS:,} steps that one result holds; play fewer, or in several runs"
        )
    return [_integer(seed, "seeds") for seed in seeds]


def _integer(value: Any, name: str) -> int:
    """As Python's own: NumPy's would be kept in the result."""
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    raise ConfigurationError(f"{name}: expected an integer, got {value!r}")
