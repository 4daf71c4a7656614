"""JSON that refuses what JSON does not have, and files that appear whole or not at all."""

from __future__ import annotations

import json
import math
import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import orjson

from wbgpu.errors import ResultFileError


def read_json(path: str | Path) -> Any:
    """Read one JSON document.

    Raises:
        ResultFileError: the file is missing or no regular file, not UTF-8, not JSON, has a key
            twice in one object, or holds a number that is not finite (``NaN``, ``Infinity``,
            ``1e999``).
    """
    file = Path(path)
    try:
        mode = file.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            # A pipe would be waited for, and a device read, without end.
            raise ResultFileError(file, "$", "expected a regular file, found a device or pipe")
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ResultFileError(file, "$", "the file does not exist") from None
    except IsADirectoryError:
        raise ResultFileError(file, "$", "expected a file, found a folder") from None
    except UnicodeDecodeError as error:
        raise ResultFileError(file, "$", f"not UTF-8 text ({error.reason})") from error
    except OSError as error:
        raise ResultFileError(file, "$", f"cannot be read ({error.strerror})") from error
    return parse_json(text, file)


def parse_json(text: str, source: str | Path) -> Any:
    """Parse strict JSON; ``source`` names the text in errors. Raises as :func:`read_json`."""

    def reject_constant(name: str) -> NoReturn:
        raise ResultFileError(
            source, _locate(text, name), f"{name} is not a finite number; wbgpu refuses the file"
        )

    def finite(literal: str) -> float:
        value = float(literal)
        if not math.isfinite(value):
            raise ResultFileError(
                source, _locate(text, literal), f"{literal} overflows to infinity"
            )
        return value

    def whole(literal: str) -> int:
        try:
            return int(literal)
        except ValueError:
            # Python refuses to convert integers of more than a few thousand digits.
            raise ResultFileError(
                source, "$", f"holds an integer of {len(literal)} digits"
            ) from None

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        document = dict(pairs)
        if len(document) != len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise ResultFileError(source, "$", f"the key {twice!r} stands twice in one object")
        return document

    try:
        return json.loads(
            text,
            parse_constant=reject_constant,
            parse_float=finite,
            parse_int=whole,
            object_pairs_hook=unique,
        )
    except json.JSONDecodeError as error:
        raise ResultFileError(
            source, "$", f"not valid JSON: {error.msg} (line {error.lineno}, column {error.colno})"
        ) from error
    except RecursionError:
        raise ResultFileError(source, "$", "nested too deeply to read") from None


class Line(dict[str, Any]):
    """An object that `to_text` writes in one line, whatever it holds."""


def to_text(payload: Any) -> str:
    """Strict JSON for people and machines: a line per entry, but rows of plain values in one line.

    A C encoder writes a line, so the fewer lines, the faster; a `Line` that stands at several
    places is encoded once.

    Raises:
        ValueError: the payload holds a number that is not finite.
        TypeError: it holds something that JSON does not have, or a key that is not text.
    """
    parts: list[str] = []
    _add_lines(parts, payload, "\n", {})
    parts.append("\n")
    return "".join(parts)


def _add_lines(parts: list[str], node: Any, newline: str, known: dict[int, str]) -> None:
    # Into one list: with a text for each level, a deep document is copied many times over.
    write = _WRITE.get(type(node))
    if write is not None:
        parts.append(write(node))
    elif isinstance(node, Line):
        text = known.get(id(node))
        if text is None:
            text = known[id(node)] = _one_line(node)
        parts.append(text)
    elif isinstance(node, dict) and not _WRITE.keys() >= set(map(type, node.values())):
        if bad := [key for key in node if not isinstance(key, str)]:
            raise TypeError(f"JSON keys must be text, got {bad[0]!r}")
        deeper, before = f"{newline}  ", "{"
        for key, value in node.items():
            parts += (before, deeper, _text(key), ": ")
            _add_lines(parts, value, deeper, known)
            before = ","
        parts += (newline, "}")
    elif isinstance(node, (list, tuple)) and not _WRITE.keys() >= set(map(type, node)):
        deeper, before = f"{newline}  ", "["
        for value in node:
            parts += (before, deeper)
            _add_lines(parts, value, deeper, known)
            before = ","
        parts += (newline, "]")
    else:
        parts.append(_one_line(node))


def _number(value: float) -> str:
    if not math.isfinite(value):
        raise ValueError(f"JSON has no {value!r}")
    return repr(value)


def _one_line(node: Any) -> str:
    # orjson writes numbers twenty times as fast as json, and what is not finite as null. Whether a
    # null was None shows reading it back, in C; where it does not, and where orjson refuses (lone
    # surrogates, long integers), json decides.
    try:
        line = orjson.dumps(node, option=_AS_JSON)
    except TypeError:
        return _encode(node)
    return _encode(node) if b"null" in line and orjson.loads(line) != node else line.decode()


_AS_JSON = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
_text = json.encoder.encode_basestring_ascii
_WRITE: dict[type, Callable[[Any], str]] = {
    str: _text,
    int: repr,
    float: _number,
    bool: {True: "true", False: "false"}.__getitem__,
    type(None): lambda _: "null",
}
"""Plain values, as json writes them, without the cost of its call."""


def write_json(path: str | Path, payload: Any) -> Path:
    """Write strict JSON atomically: readers see the old file or the whole new one.

    Raises:
        ValueError: the payload holds a number that is not finite.
    """
    return write_text(path, to_text(payload))


def write_text(path: str | Path, text: str) -> Path:
    """Write UTF-8 text atomically, creating parent folders; returns the path.

    A link stays a link: the file that it names is written. What is no regular file, such as
    ``/dev/stdout`` or a named pipe, is written through instead of replaced.
    """
    given = Path(path)
    file = Path(os.path.realpath(given))
    if file.exists() and not file.is_file() and not file.is_dir():
        with file.open("w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        return given
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.parent / f".{secrets.token_hex(8)}.tmp"
    # Not tempfile: its files are private, and a result is meant to be read by the team.
    handle = temporary.open("x", encoding="utf-8", newline="\n")
    try:
        with handle:
            handle.write(text)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(temporary, file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return given


def _locate(text: str, token: str) -> str:
    """JSON path of the first occurrence of a bad number, by parsing with it marked."""
    marker = object()

    def mark(literal: str) -> Any:
        return marker if literal == token else 0.0

    try:
        document = json.loads(text, parse_constant=mark, parse_float=mark)
    except (json.JSONDecodeError, RecursionError):
        return "$"
    return _path_of(document, marker, "$") or "$"


def _path_of(node: Any, wanted: object, path: str) -> str | None:
    if node is wanted:
        return path
    if isinstance(node, dict):
        children = ((f"{path}.{key}", value) for key, value in node.items())
    elif isinstance(node, list):
        children = ((f"{path}[{index}]", value) for index, value in enumerate(node))
    else:
        return None
    for child_path, value in children:
        if (found := _path_of(value, wanted, child_path)) is not None:
            return found
    return None
