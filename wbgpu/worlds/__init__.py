"""Exact stochastic worlds: peek, step, fork; batched; drawn as frames. docs/worlds.md explains."""

from wbgpu.worlds.batch import WorldBatch
from wbgpu.worlds.check_world import check_world
from wbgpu.worlds.definition import WorldDefinition
from wbgpu.worlds.episodes import write_episodes
from wbgpu.worlds.load import load_world, world_names
from wbgpu.worlds.render import Renderer
from wbgpu.worlds.rollout import Rollout, roll_out
from wbgpu.worlds.world import Distribution, World

__all__ = [
    "Distribution",
    "Renderer",
    "Rollout",
    "World",
    "WorldBatch",
    "WorldDefinition",
    "check_world",
    "load_world",
    "roll_out",
    "world_names",
    "write_episodes",
]
