"""What the numbers of actions mean in the picture: the protocol, and adapters that declare it."""

from wbgpu.action_adapters.adapter import ActionAdapter, ImageMotion
from wbgpu.action_adapters.fit import ActionsAndTrack, FittedMap, LinearFit
from wbgpu.action_adapters.linear_map import LinearMap
from wbgpu.action_adapters.named_elements import NamedElements

__all__ = [
    "ActionAdapter",
    "ActionsAndTrack",
    "FittedMap",
    "ImageMotion",
    "LinearFit",
    "LinearMap",
    "NamedElements",
]
