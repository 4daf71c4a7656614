"""Play a contestant in a world: at each step it forecasts, is scored, and is told what happened.

Imports no torch; whoever plays a torch module brings it along.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from wbgpu.aggregate.regret_summary import summarize_regret
from wbgpu.contestants import AnswerKey, Contestant, LogContestant
from wbgpu.errors import ConfigurationError
from wbgpu.evaluation.environment import REGRET_PACKAGES, environment
from wbgpu.records.regret import EpisodeRegret, RegretResult
from wbgpu.regret import RegretAccumulator
from wbgpu.version import __version__
from wbgpu.worlds import WorldBatch, WorldDefinition

MAX_RECORDED_STEPS = 2**24
"""Episodes times steps of one result, which keeps two numbers for each: about 1 GiB."""


def run_regret(
    world: WorldDefinition,
    contestant: Contestant,
    seeds: Sequence[int],
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
        seeds: one episode each, 0 ... 2**64 - 1, none twice.
        num_steps: of every episode, at most the world's ``max_steps``.
        name: the contestant's, in results; its class's by default.
        batch_size: episodes played side by side. Numbers do not depend on it.
        configuration: kept with the result.
        command: kept with the result.

    Raises:
        ConfigurationError: an argument is out of range, or a forecast is none; the message then
            names the step, the variable and the row.
    """
    _check(world, seeds, num_steps, batch_size)
    episodes: list[EpisodeRegret] = []
    for start in range(0, len(seeds), batch_size):
        episodes += _play(world, contestant, seeds[start : start + batch_size], num_steps)
    return summarize_regret(
        episodes,
        producer=f"wbgpu {__version__}",
        created_at=datetime.now(timezone.utc).isoformat(),
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
    contestant.reset(len(seeds))
    state = batch.observe()
    for step in range(1, num_steps + 1):
        action = batch.draw_actions()
        for told in (state, action):
            told.setflags(write=False)
        forecast = predict(state, action)
        truth = batch.peek(action)
        outcome = batch.step(action)
        outcome.setflags(write=False)
        try:
            accumulator.update(forecast, outcome, truth, forecast_is_log=in_logs)
        except ConfigurationError as error:
            raise ConfigurationError(
                f"step {step} of the episodes of the seeds {seeds[0]} to {seeds[-1]}: {error}"
            ) from error
        contestant.learn(state, action, outcome)
        state = outcome
    return accumulator.episodes(seeds)


def _check(world: WorldDefinition, seeds: Sequence[int], num_steps: int, batch_size: int) -> None:
    if not seeds:
        raise ConfigurationError("seeds: expected at least one, got none")
    if len(seeds) * num_steps > MAX_RECORDED_STEPS:
        raise ConfigurationError(
            f"seeds, steps: {len(seeds)} episodes of {num_steps} steps are more than the "
            f"{MAX_RECORDED_STEPS:,} steps that one result holds; play fewer, or in several runs"
        )
    if len(set(seeds)) != len(seeds):
        twice = next(seed for seed in seeds if list(seeds).count(seed) > 1)
        raise ConfigurationError(f"seeds: {twice} stands twice")
    if not 1 <= num_steps <= world.max_steps:
        raise ConfigurationError(
            f"steps: expected 1 to {world.max_steps}, after which an episode of "
            f"{world.schema.world} is done, got {num_steps}; world.max_steps=... allows more"
        )
    if batch_size < 1:
        raise ConfigurationError(f"batch_size: expected at least 1, got {batch_size}")
