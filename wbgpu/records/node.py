"""A JSON value with its place in the document, so that every complaint names the place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from wbgpu.errors import ResultFileError

MAX_MAGNITUDE = 1e100
"""Larger numbers are damage, and their squares would overflow."""


@dataclass(frozen=True)
class Node:
    """One value of a parsed document. Every accessor raises :class:`ResultFileError`.

    Attributes:
        value: as ``json`` parsed it.
        path: such as ``$.episodes[2].score``.
        file: named in errors.
    """

    value: Any
    path: str
    file: str | Path

    def fail(self, reason: str) -> NoReturn:
        """Refuse the document because of this value."""
        raise ResultFileError(self.file, self.path, reason)

    def __getitem__(self, key: str) -> Node:
        """The value of ``key`` in this object; it must be there."""
        document = self.object()
        if key not in document:
            self.fail(f"the key {key!r} is missing")
        return Node(document[key], f"{self.path}.{key}", self.file)

    def get(self, key: str) -> Node | None:
        """The value of ``key``, or ``None`` where it is missing or null."""
        value = self.object().get(key)
        return None if value is None else Node(value, f"{self.path}.{key}", self.file)

    def object(self) -> dict[str, Any]:
        """The object itself."""
        if not isinstance(self.value, dict):
            self._wrong("an object")
        return self.value

    def items(self) -> Iterator[tuple[str, Node]]:
        """Keys and values of this object."""
        for key in self.object():
            yield key, self[key]

    def elements(self) -> list[Node]:
        """Elements of this list."""
        if not isinstance(self.value, list):
            self._wrong("a list")
        return [Node(v, f"{self.path}[{i}]", self.file) for i, v in enumerate(self.value)]

    def string(self) -> str:
        """Its string."""
        if not isinstance(self.value, str):
            self._wrong("a string")
        return self.value

    def strings(self) -> tuple[str, ...]:
        """Its strings, if it is a list of them."""
        return tuple(element.string() for element in self.elements())

    def number(self) -> float:
        """Its number; ``true`` and ``false`` are not numbers."""
        if isinstance(self.value, bool) or not isinstance(self.value, (int, float)):
            self._wrong("a number")
        if abs(self.value) > MAX_MAGNITUDE:
            self.fail(f"expected a number of at most {MAX_MAGNITUDE:g} in magnitude")
        return float(self.value)

    def integer(self) -> int:
        """Its integer, not negative."""
        if isinstance(self.value, bool) or not isinstance(self.value, int) or self.value < 0:
            self._wrong("an integer >= 0")
        return self.value

    def boolean(self) -> bool:
        """Its boolean."""
        if not isinstance(self.value, bool):
            self._wrong("true or false")
        return self.value

    def one_of(self, *allowed: str) -> str:
        """Its string, which must be one of ``allowed``."""
        if self.value not in allowed:
            self.fail(f"expected {' or '.join(map(repr, allowed))}, got {self.value!r}")
        return self.string()

    def optional_number(self, key: str) -> float | None:
        """The number under ``key``, or ``None`` where it is missing or null."""
        node = self.get(key)
        return None if node is None else node.number()

    def optional_string(self, key: str) -> str | None:
        """The string under ``key``, or ``None`` where it is missing or null."""
        node = self.get(key)
        return None if node is None else node.string()

    def optional_strings(self, key: str) -> tuple[str, ...]:
        """The list of strings under ``key``; empty where it is missing or null."""
        node = self.get(key)
        return () if node is None else node.strings()

    def _wrong(self, expected: str) -> NoReturn:
        kinds = {dict: "an object", list: "a list", str: "a string", type(None): "null"}
        got = kinds.get(type(self.value), repr(self.value))
        self.fail(f"expected {expected}, got {got}")
