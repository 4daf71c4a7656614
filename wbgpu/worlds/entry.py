"""A value of a world's document with its place, so that every complaint names file and place."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from wbgpu.errors import ConfigurationError

RESERVED = ("action", "keep", "next", "not", "previous", "same_as", "uniform")
"""Words of the rule language, which nothing may be called."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_FRACTION = re.compile(r"(\d{1,15})\s*/\s*(\d{1,15})")


@dataclass(frozen=True)
class Entry:
    """One value. Every accessor raises :class:`~wbgpu.errors.ConfigurationError`.

    Attributes:
        value: as YAML gave it.
        source: the file, or what stands for it.
        path: such as ``rules.block[2].then``; empty for the whole document.
    """

    value: Any
    source: str
    path: str = ""

    def fail(self, reason: str) -> NoReturn:
        """Refuse the document because of this value."""
        place = f"{self.source}: {self.path}" if self.path else self.source
        raise ConfigurationError(f"{place}: {reason}")

    def items(self) -> list[tuple[str, Entry]]:
        """Keys and values of a mapping; the keys are text."""
        if not isinstance(self.value, dict):
            self._wrong("key: value pairs")
        pairs = []
        for key, value in self.value.items():
            if not isinstance(key, str):
                self.fail(f"expected text as key, got {key!r}; quote it if it is meant as a name")
            path = f"{self.path}.{key}" if self.path else key
            pairs.append((key, Entry(value, self.source, path)))
        return pairs

    def section(self, required: Sequence[str], optional: Sequence[str] = ()) -> dict[str, Entry]:
        """A mapping that has the required keys, may have the optional ones, and no others."""
        entries = dict(self.items())
        for key in entries:
            if key not in (*required, *optional):
                self.fail(unknown(key, "key", (*required, *optional)))
        for key in required:
            if key not in entries:
                self.fail(f"the key {key!r} is missing")
        return entries

    def elements(self) -> list[Entry]:
        """Elements of a list that is not empty."""
        if not isinstance(self.value, list) or not self.value:
            self._wrong("a list with at least one element")
        return [Entry(v, self.source, f"{self.path}[{i}]") for i, v in enumerate(self.value)]

    def text(self) -> str:
        """Its text."""
        if not isinstance(self.value, str):
            self._wrong("text")
        return self.value

    def new_name(self) -> str:
        """A name that this value introduces: letters, digits and underscores."""
        name = self.value
        if not isinstance(name, str):
            self.fail(f"expected a name, got {name!r}; quote it if it is meant as a name")
        if _NAME.fullmatch(name) is None:
            self.fail(f"expected a name of letters, digits and underscores, got {name!r}")
        if name in RESERVED:
            self.fail(f"{name!r} is a word of the rule language; take another name")
        return name

    def new_names(self) -> tuple[str, ...]:
        """The names that this list introduces, each once."""
        names = tuple(element.new_name() for element in self.elements())
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            self.fail(f"the name {twice!r} stands twice")
        return names

    def index_in(self, known: Sequence[str], kind: str) -> int:
        """Position of this name among the known ones; ``kind`` says what they are."""
        if self.value not in known:
            self.fail(unknown(str(self.value), kind, known))
        return known.index(self.value)

    def number(self) -> float:
        """Its number, which is finite."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self._wrong("a number")
        if not math.isfinite(value):
            self.fail(f"expected a finite number, got {value!r}")
        return float(value)

    def integer(self, minimum: int, maximum: int) -> int:
        """Its integer within bounds."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
            self.fail(f"expected an integer of {minimum} to {maximum}, got {value!r}")
        return value

    def boolean(self) -> bool:
        """Its boolean."""
        if not isinstance(self.value, bool):
            self._wrong("true or false")
        return self.value

    def probability(self) -> float:
        """A number of 0 to 1, or a fraction such as ``1/3``."""
        if isinstance(self.value, str):
            fraction = _FRACTION.fullmatch(self.value.strip())
            if fraction is None or int(fraction[2]) == 0:
                self._wrong("a number or a fraction such as 1/3")
            number = int(fraction[1]) / int(fraction[2])
        else:
            number = self.number()
        if not 0 <= number <= 1:
            self.fail(f"expected a probability of 0 to 1, got {self.value!r}")
        return number

    def _wrong(self, expected: str) -> NoReturn:
        self.fail(f"expected {expected}, got {self.value!r}")


def unknown(name: str, kind: str, known: Iterable[str]) -> str:
    """Reason for refusing an unknown name: with the nearest valid one and all of them."""
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.0)
    hint = f"; nearest: {near[0]!r}" if near else ""
    return f"unknown {kind} {name!r}{hint}; known: {', '.join(names)}"
