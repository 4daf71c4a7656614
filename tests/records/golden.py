"""worldbench's own files, and what they must be equal to."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wbgpu.records.suite import SuiteResult
from wbgpu.records.worldbench import parse_result


def load(path: Path) -> Any:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return json.loads(text)


def result(path: Path) -> SuiteResult:
    return parse_result(load(path), path)


def plain_json(payload: Any) -> Any:
    """What a reader of the written file gets."""
    return json.loads(json.dumps(payload, allow_nan=False))


def missing_from(wanted: Any, given: Any, path: str = "$") -> Iterator[str]:
    """Places where ``given`` lacks or contradicts something of ``wanted``; it may have more."""
    if isinstance(wanted, dict) and isinstance(given, dict):
        for key, value in wanted.items():
            if key not in given:
                yield f"{path}.{key} is missing"
            else:
                yield from missing_from(value, given[key], f"{path}.{key}")
    elif isinstance(wanted, list) and isinstance(given, list) and len(wanted) == len(given):
        for index, (one, other) in enumerate(zip(wanted, given, strict=True)):
            yield from missing_from(one, other, f"{path}[{index}]")
    elif isinstance(wanted, float) and isinstance(given, float):
        if abs(wanted - given) > 1e-9 * max(1.0, abs(wanted)):
            yield f"{path}: {wanted!r} != {given!r}"
    elif wanted != given or type(wanted) is not type(given):
        yield f"{path}: {wanted!r} != {given!r}"


def at(document: Any, path: str) -> Any:
    """The value at a JSON path such as ``$.episodes[2].score``; an error where there is none."""
    for key in _keys(path):
        document = document[key]
    return document


def put(document: Any, path: str, value: Any) -> None:
    """Change the value at a JSON path."""
    *parents, last = _keys(path)
    for key in parents:
        document = document[key]
    assert document[last] != value
    document[last] = value


def _keys(path: str) -> list[Any]:
    found = re.findall(r"\.([^.\[]+)|\[(\d+)\]", path)
    return [key or int(index) for key, index in found]
