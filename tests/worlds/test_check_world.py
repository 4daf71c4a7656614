"""check_world accepts every world that is shipped and catches each kind of broken one."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import REPOSITORY
from tests.worlds.documents import CART, cart
from wbgpu.errors import ConfigurationError
from wbgpu.worlds import WorldBatch, check_world, load_world

FILES = sorted((REPOSITORY / "configs/world").glob("*.yaml"))
WORLD = load_world(CART)


def test_there_are_worlds():
    """Parametrised over no files, the tests below would pass."""
    assert len(FILES) >= 4


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_world_keeps_the_contract(path):
    """A world is one YAML: this is its test."""
    world = load_world(path)
    assert world.schema.world == path.stem
    check_world(world)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_world_is_described(path: Path):
    """A reader must find each world, and what it is for, in one place."""
    assert f"`{path.stem}`" in (REPOSITORY / "docs/worlds.md").read_text("utf-8")


def test_small_and_short_worlds_keep_the_contract():
    """The check itself must not need many variables, outcomes or steps."""
    check_world(WORLD)
    coin = cart(
        variables={"side": ["heads"]},
        initial={"side": "heads"},
        rules={"side": [{"then": "keep"}]},
        policy=None,
        action_matters=False,
        max_steps=1,
    )
    check_world(load_world(coin))


def test_secret_draws_keep_the_contract():
    """A server's worlds draw from another generator, which must be as fair."""
    check_world(WORLD, partial(WorldBatch, key=bytes(range(16))))


def tampered(index, change):
    """The world with one transition table changed behind the loader's back."""
    table = WORLD.transitions[index]
    probabilities = table.probabilities.copy()
    change(probabilities)
    transitions = list(WORLD.transitions)
    transitions[index] = replace(table, probabilities=probabilities)
    return replace(WORLD, transitions=tuple(transitions))


def test_catches_sums_that_are_not_one():
    def change(probabilities):
        probabilities[0] *= 0.9

    with pytest.raises(AssertionError, match=r"of place: a sum of 1, off by 0.1"):
        check_world(tampered(0, change))


def test_catches_negative_probabilities():
    def change(probabilities):
        probabilities[0] = [-0.25, 0.5, 0.75]

    with pytest.raises(AssertionError, match=r"of place: no negative probability"):
        check_world(tampered(0, change))


def test_catches_odds_that_draws_do_not_follow():
    """The answer key says one thing, the world does another: every regret is wrong."""

    def change(probabilities):
        probabilities[:] = [0.4, 0.6]

    with pytest.raises(AssertionError, match=r"as often as peek says.*chi-square of"):
        check_world(tampered(2, change))


def test_catches_what_happens_with_probability_zero():
    def change(probabilities):
        probabilities[:] = [1, 0]

    with pytest.raises(AssertionError, match="without what has probability 0"):
        check_world(tampered(2, change))


def test_catches_actions_that_do_not_matter_and_those_that_do():
    """An action-blind contestant's regret is only evidence where the declaration is right."""
    with pytest.raises(AssertionError, match="'ride' moves the odds of 'place'"):
        check_world(load_world(cart(action_matters=False)))
    still = cart(rules={name: [{"then": "keep"}] for name in CART["variables"]})
    with pytest.raises(AssertionError, match="an action that moves the odds"):
        check_world(load_world(still))


class PeekSteps(WorldBatch):
    def peek(self, actions):
        rows = super().peek(actions)
        self._step += 1
        return rows


class PeekMovesTheState(WorldBatch):
    def peek(self, actions):
        rows = super().peek(actions)
        self._state = self._state[::-1].copy()
        return rows


class HandsOutItsState(WorldBatch):
    def observe(self):
        return self._state


class HandsOutItsTables(WorldBatch):
    def peek(self, actions):
        rows = super().peek(actions)
        if not hasattr(self, "rows"):
            self.rows = rows
        return self.rows


class ForksAreTheSame(WorldBatch):
    def fork(self):
        return self


class ForksDrawAnew(WorldBatch):
    def fork(self):
        fork = WorldBatch(self.definition, self.seeds, key=bytes(16))
        fork.set_state(self.observe(), num_steps=self.num_steps)
        return fork


class ForksShareSteps(WorldBatch):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.shared = [0]

    @property
    def num_steps(self):
        return self.shared[0]

    def step(self, actions):
        self.shared[0] += 1
        return super().step(actions)


class DependsOnItsBatch(WorldBatch):
    def __init__(self, definition, seeds):
        super().__init__(definition, [seed ^ index for index, seed in enumerate(seeds)])


class OtherUniforms(WorldBatch):
    """Draws outcomes with changed uniforms."""

    def __init__(self, definition, seeds):
        super().__init__(definition, seeds)
        draws, change = self._draws, self.change

        class Changed:
            seeds = draws.seeds
            action = draws.action

            def outcomes(self, step, num_variables):
                return change(draws.outcomes(step, num_variables))

        self._draws = Changed()


class OneDrawForAllVariables(OtherUniforms):
    @staticmethod
    def change(uniforms):
        return np.repeat(uniforms[:1], len(uniforms), axis=0)


class LeansTowardsTheFirst(OtherUniforms):
    @staticmethod
    def change(uniforms):
        return uniforms * 0.9


class SameDrawsAtEveryStep(WorldBatch):
    def _drawn(self, tables, actions, step):
        return super()._drawn(tables, actions, min(step, 1))


class PeeksAtAnotherAction(WorldBatch):
    def peek(self, actions):
        return super().peek(np.zeros_like(actions))


class NeverEnds(WorldBatch):
    def step(self, actions):
        self._step = min(self._step, self.max_steps - 1)
        return super().step(actions)


class EndsEarly(WorldBatch):
    @property
    def done(self):
        return np.full(len(self), self._step >= self.max_steps - 1)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (LeansTowardsTheFirst, "as often as peek says.*chi-square"),
        (PeekSteps, "after peek"),
        (PeekMovesTheState, "as the definition has it"),
        (
            HandsOutItsState,
            "outcomes after peek|writing to what was handed out|actions drawn after",
        ),
        (HandsOutItsTables, "as the definition has it"),
        (ForksAreTheSame, "that its forks leave alone"),
        (ForksDrawAnew, "a fork that "),
        (ForksShareSteps, "a count of steps that forks leave alone"),
        (DependsOnItsBatch, "the same episodes in another order"),
        (OneDrawForAllVariables, "independent of each other"),
        (SameDrawsAtEveryStep, "along episodes"),
        (PeeksAtAnotherAction, r"peek\(ride\) as the definition has it"),
        (NeverEnds, "for a step after the end"),
        (EndsEarly, "not done before its last step"),
    ],
)
def test_catches_broken_batches(kind, message):
    """Each of these gives plausible episodes and wrong scores."""
    with pytest.raises(AssertionError, match=message):
        check_world(WORLD, kind)


def test_leaves_errors_of_the_world_alone():
    """A batch that cannot be made is not a broken contract."""

    def refuse(definition, seeds):
        raise ConfigurationError("no batches today")

    with pytest.raises(ConfigurationError, match="no batches today"):
        check_world(WORLD, refuse)
