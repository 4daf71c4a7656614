"""The truth of scored and practised episodes: draws that only the secret's owner can make."""

from __future__ import annotations

import functools
import json
import math
import operator
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wbgpu.aggregate.regret_summary import t_interval
from wbgpu.bench.problems import RefusedError
from wbgpu.bench.secret import Secret
from wbgpu.errors import ConfigurationError
from wbgpu.records.regret import RegretTotals
from wbgpu.records.world import Schema
from wbgpu.regret import RegretAccumulator
from wbgpu.worlds import WorldBatch, WorldDefinition

PRACTICE = "practice"
BY_SEED = "by_seed"

_NUM_BLOCKS = 20
_NUM_KEPT = 4096


@dataclass(frozen=True)
class Question:
    """What a session is asked: the state and the action whose outcome is to be forecast."""

    state: tuple[int, ...]
    action: int


@dataclass(frozen=True)
class ScoredStep:
    """One prediction of an episode.

    Attributes:
        state, outcome: indices, one per variable.
        action: index.
        forecast: little-endian float64, the variables one after another.
    """

    state: Sequence[int]
    action: int
    outcome: Sequence[int]
    forecast: bytes


class AnswerKey:
    """Draws outcomes and scores forecasts.

    Args:
        worlds: that can be played; no name twice.
        secret: the server's.
    """

    def __init__(self, worlds: Iterable[WorldDefinition], secret: Secret) -> None:
        self._worlds: dict[str, WorldDefinition] = {}
        self._secret = secret
        for world in worlds:
            if world.schema.world in self._worlds:
                raise ConfigurationError(f"world: {world.schema.world!r} is given twice")
            self._worlds[world.schema.world] = world
        # Made from the secret at half the cost of a step, and the same at each of its steps.
        self._begun = functools.lru_cache(maxsize=_NUM_KEPT)(self._begin)

    @property
    def worlds(self) -> tuple[WorldDefinition, ...]:
        """In the order they were given."""
        return tuple(self._worlds.values())

    def world(self, name: str, sha256: str | None = None) -> WorldDefinition:
        """A world by name; of an earlier session also by its digest.

        Raises:
            RefusedError: there is none, or it is another than it was.
        """
        world = self._worlds.get(name)
        if world is None:
            known = ", ".join(self._worlds)
            raise RefusedError(
                404, "unknown-world", f"there is no such world; known: {known}", field="env"
            )
        if sha256 is not None and sha256 != world.sha256:
            raise RefusedError(
                409,
                "world-changed",
                f"the world {name!r} has been changed since this session began; begin another",
            )
        return world

    def new_draws(self, *, practice: bool, by_seed: bool) -> str:
        """A name for the draws of a new session: sessions of one name and seed are one episode.

        Args:
            practice: by seed as well, but not those of scored sessions.
            by_seed: whether scored sessions have draws by seed; otherwise each has draws of its
                own, because who has played a seed once could play it again with foresight.
        """
        if practice:
            return PRACTICE
        return BY_SEED if by_seed else f"own {secrets.token_hex(16)}"

    def session_id(self, request: str) -> str:
        """An id that nobody can guess, and that a request gets again when it is repeated."""
        return self._secret.session_id(request)

    def begin(self, world: WorldDefinition, seed: int, draws: str) -> Question:
        """The first question of an episode."""
        return _question(self._begun(world.schema.world, seed, draws))

    def step(
        self, world: WorldDefinition, seed: int, draws: str, asked: Question, num_steps: int
    ) -> Question:
        """The question after ``num_steps`` + 1 steps: its state is the outcome of ``asked``."""
        # A fork: the episode that is kept must stay at its start.
        batch = self._begun(world.schema.world, seed, draws).fork()
        batch.set_state(np.array([asked.state], dtype=np.int64), num_steps)
        batch.step(np.array([asked.action], dtype=np.int64))
        return _question(batch)

    def _begin(self, world: str, seed: int, draws: str) -> WorldBatch:
        return WorldBatch(self._worlds[world], [seed], key=self._secret.draw_key(draws))


def score(world: WorldDefinition, steps: Sequence[ScoredStep]) -> dict[str, Any]:
    """Losses of an episode against the truth: a part of what ``result`` answers.

    ``null`` stands for infinite. Intervals are Student-t over the means of at most 20 blocks of
    consecutive steps, because steps of one episode are not independent.
    """
    variables = world.schema.variables
    states = np.array([step.state for step in steps], dtype=np.int64)
    actions = np.array([step.action for step in steps], dtype=np.int64)
    outcomes = np.array([step.outcome for step in steps], dtype=np.int64)
    # Each step as an episode of its own: they are scored at once, and added up below.
    accumulator = RegretAccumulator(variables, len(steps))
    accumulator.update(
        unpacked([step.forecast for step in steps], world.schema),
        outcomes,
        world.transition(states, actions),
    )
    scored = accumulator.episodes(range(len(steps)))
    totals = [episode.totals for episode in scored]
    return {
        "num_steps": len(steps),
        **_sums(totals),
        "per_step": {
            "regret_nats": _interval([t.cumulative_regret_nats for t in totals]),
            "expected_regret_nats": _interval([t.expected_regret_nats for t in totals]),
            "reference_loss_nats": _interval([t.reference_loss_nats for t in totals]),
        },
        "per_variable": {
            variable.name: _sums([episode.per_variable[variable.name] for episode in scored])
            for variable in variables
        },
    }


def step_regret(world: WorldDefinition, step: ScoredStep) -> dict[str, Any]:
    """Losses of one step, for practice."""
    document = score(world, [step])
    return {key: value for key, value in document.items() if key.endswith("_nats")}


def packed(probabilities: Iterable[Iterable[float]]) -> bytes:
    """A forecast as little-endian float64, the variables one after another."""
    return np.array([p for row in probabilities for p in row], dtype="<f8").tobytes()


def unpacked(forecasts: Sequence[bytes], schema: Schema) -> list[npt.NDArray[np.float64]]:
    """Forecasts of T steps: for each variable float64 ``[T, K]``."""
    table = np.frombuffer(b"".join(forecasts), dtype="<f8").reshape(len(forecasts), -1)
    ends = np.cumsum([variable.num_outcomes for variable in schema.variables])
    return [np.ascontiguousarray(part) for part in np.split(table, ends[:-1], axis=1)]


def indices(text: str) -> tuple[int, ...]:
    """A state as the store has it."""
    return tuple(json.loads(text))


def _question(batch: WorldBatch) -> Question:
    return Question(tuple(batch.observe()[0].tolist()), int(batch.draw_actions()[0]))


def _sums(totals: Sequence[RegretTotals]) -> dict[str, Any]:
    def total(name: str) -> float:
        # One after another, as the accumulator adds steps: the same bits as in process.
        return functools.reduce(operator.add, (getattr(part, name) for part in totals), 0.0)

    names = (
        "cumulative_regret_nats",
        "expected_regret_nats",
        "reference_loss_nats",
        "log_loss_nats",
        "finite_regret_nats",
        "finite_expected_regret_nats",
    )
    counts = ("num_infinite", "num_infinite_expected")
    return {
        **{name: _plain(total(name)) for name in names},
        **{name: sum(getattr(part, name) for part in totals) for name in counts},
    }


def _interval(steps: Sequence[float]) -> dict[str, Any]:
    num_blocks = min(_NUM_BLOCKS, len(steps))
    # Blocks of one length, so that their mean is that of the steps; a rest goes into the mean only.
    length = len(steps) // num_blocks
    blocks = [math.fsum(steps[b * length : (b + 1) * length]) / length for b in range(num_blocks)]
    mean = math.fsum(steps) / len(steps)
    interval = t_interval(blocks)
    if interval.lower is None or interval.upper is None or not math.isfinite(mean):
        return {"mean": _plain(mean), "lower": None, "upper": None}
    half = (interval.upper - interval.lower) / 2
    return {"mean": mean, "lower": mean - half, "upper": mean + half}


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None
