"""The JSON files of an episode of a frame dataset, checked against worldbench's schema.

``actions.json`` is a list with an object for each action, ``states.json`` one with an object for
each frame, ``metadata.json`` one object. Keys beyond those below are kept and not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wbgpu.errors import ResultFileError
from wbgpu.records.node import MAX_MAGNITUDE, Node
from wbgpu.records.strict_json import read_json

Check = Callable[[Node], object]


def _integer(node: Node) -> None:
    value = node.value
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value // 1:
        node.fail(f"expected an integer, got {_shown(value)}")


def _number(node: Node) -> None:
    node.number()


def _rate(node: Node) -> None:
    if node.number() <= 0:
        node.fail(f"expected frames per second above 0, got {node.value!r}")


def _optional(check: Check) -> Check:
    def checked(node: Node) -> None:
        if node.value is not None:
            check(node)

    return checked


def _anything(node: Node) -> None:
    """Any JSON; vectors among it are vectors of numbers that float32 holds."""
    values = node.value if isinstance(node.value, list) else [node.value]
    for index, value in enumerate(values):
        if isinstance(value, (int, float)) and abs(value) > MAX_MAGNITUDE:
            node.fail(f"element {index} is {value!r}; expected at most {MAX_MAGNITUDE:g}")


def _string_map(node: Node) -> None:
    for _, value in node.items():
        value.string()


def _timeline(node: Node) -> None:
    node.one_of("video", "control")


_SOURCE: Mapping[str, Check] = {
    "t": _integer,
    "timestamp": _optional(_number),
    "source_control_index": _optional(_integer),
    "source_control_timestamp": _optional(_number),
    "source_video_frame_index": _optional(_integer),
    "source_video_timestamp": _optional(_number),
}
_ACTION: Mapping[str, Check] = {
    **_SOURCE,
    "action": _anything,
    "dx": _number,
    "dy": _number,
    "gripper": _optional(Node.string),
}
_STATE: Mapping[str, Check] = {
    **_SOURCE,
    "observation_state": _anything,
    "robot_x": _optional(_number),
    "robot_y": _optional(_number),
    "object_x": _optional(_number),
    "object_y": _optional(_number),
}
_METADATA: Mapping[str, Check] = {
    "name": Node.string,
    "robot": Node.string,
    "task": Node.string,
    "fps": _rate,
    "description": Node.string,
    "source": _optional(Node.string),
    "repo_id": _optional(Node.string),
    "episode_index": _optional(_integer),
    "camera_key": _optional(Node.string),
    "timeline": _optional(_timeline),
    "video_fps": _optional(_rate),
    "alignment_strategy": _optional(_string_map),
    "source_control_steps": _optional(_integer),
    "source_unique_video_frames": _optional(_integer),
    "source_referenced_video_frames": _optional(_integer),
    "exported_timesteps": _optional(_integer),
}


def read_actions_json(path: Path) -> tuple[tuple[Any, ...], list[ResultFileError]]:
    """The entries of ``actions.json`` and all that is wrong with them."""
    return _records(path, _ACTION)


def read_states_json(path: Path) -> tuple[tuple[Any, ...], list[ResultFileError]]:
    """The entries of ``states.json`` and all that is wrong with them."""
    return _records(path, _STATE)


def read_metadata_json(path: Path) -> tuple[dict[str, Any], list[ResultFileError]]:
    """The object of ``metadata.json`` and all that is wrong with it."""
    try:
        node = Node(read_json(path), "$", path)
        document = node.object()
    except ResultFileError as error:
        return {}, [error]
    return document, [*_faults(node, _METADATA)]


def vectors(records: tuple[Any, ...], key: str) -> npt.NDArray[np.float32] | None:
    """``[N, A]`` where ``key`` of every record is a list of as many numbers, else ``None``."""
    rows = [record.get(key) for record in records]
    if not rows or not all(
        isinstance(row, list)
        and row
        and len(row) == len(rows[0])
        and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in row)
        for row in rows
    ):
        return None
    with np.errstate(over="ignore"):
        array = np.asarray(rows, np.float64).astype(np.float32)
    return array if bool(np.isfinite(array).all()) else None


def _records(
    path: Path, checks: Mapping[str, Check]
) -> tuple[tuple[Any, ...], list[ResultFileError]]:
    faults: list[ResultFileError] = []
    try:
        nodes = Node(read_json(path), "$", path).elements()
    except ResultFileError as error:
        return (), [error]
    before = None
    for node in nodes:
        try:
            node["t"]
        except ResultFileError as error:
            faults.append(error)
            continue
        found = [*_faults(node, checks)]
        faults += found
        now = node["t"].value
        if not found and before is not None and now <= before:
            faults.append(
                ResultFileError(
                    path,
                    f"{node.path}.t",
                    f"is {now} after {before}; entries stand in the order of their frames",
                )
            )
        before = before if found else now
    return tuple(node.value for node in nodes), faults


def _faults(node: Node, checks: Mapping[str, Check]) -> Iterator[ResultFileError]:
    for key, check in checks.items():
        if key in node.object():
            try:
                check(Node(node.object()[key], f"{node.path}.{key}", node.file))
            except ResultFileError as error:
                yield error


def _shown(value: Any) -> str:
    return "null" if value is None else repr(value)
