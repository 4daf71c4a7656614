"""Names of what a world consists of, which worlds, contestants and the bench share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Variable:
    """One categorical variable of a world's state.

    Attributes:
        name: unique in its world.
        outcomes: names of its values, in the order of their indices.
    """

    name: str
    outcomes: tuple[str, ...]

    @property
    def num_outcomes(self) -> int:
        """K, how many values there are."""
        return len(self.outcomes)


@dataclass(frozen=True)
class Schema:
    """Variables and actions of a world, in the order of their indices.

    Attributes:
        world: the world's name.
        variables: of the state; arrays of states are int64 ``[B, V]`` in this order.
        actions: names; arrays of actions are int64 ``[B]`` in this order.
    """

    world: str
    variables: tuple[Variable, ...]
    actions: tuple[str, ...]
