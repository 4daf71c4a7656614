"""What a file of ours or of worldbench says of itself, without reading the whole of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from wbgpu.records.regret import REGRET_RESULT_TYPE

Kind = Literal["videos", "video", "regret", "gate"]

_KINDS: Mapping[str, Kind] = {
    "batch_evaluation": "videos",
    "evaluation": "video",
    REGRET_RESULT_TYPE: "regret",
    "gate_comparison": "gate",
    "regret_gate": "gate",
}
_VALUES = (
    ("composite_score",),
    ("aggregate", "overall", "mean"),
    ("per_step", "expected_regret_nats", "mean"),
)
"""Where each kind of result keeps its one number."""


@dataclass(frozen=True)
class Headline:
    """Of a result or a verdict.

    Attributes:
        kind: what it is of.
        name: of the checkpoint or contestant; of a verdict ``BASELINE -> CANDIDATE``.
        created_at: ISO 8601; empty when the file does not say.
        value: composite, or expected regret in nats per step; ``None`` of a verdict, and when the
            file does not say.
        status: of a verdict; empty of a result.
    """

    kind: Kind
    name: str
    created_at: str
    value: float | None
    status: str


def headline(document: Any) -> Headline | None:
    """Of a parsed file; ``None`` when it is neither a result nor a verdict.

    Nothing is checked but what is returned: :func:`wbgpu.sdk.load_result` does that.
    """
    kind = _KINDS.get(_text(document, "result_type"))
    if kind is None:
        return None
    if kind == "gate":
        name = f"{_name(_at(document, 'baseline'))} -> {_name(_at(document, 'candidate'))}"
    else:
        name = _name(document)
    numbers = (_number(_at(document, *place)) for place in _VALUES)
    return Headline(
        kind,
        name,
        _text(document, "created_at"),
        next((number for number in numbers if number is not None), None),
        _text(document, "status") if kind == "gate" else "",
    )


def _at(document: Any, *keys: str) -> Any:
    for key in keys:
        document = document.get(key) if isinstance(document, dict) else None
    return document


def _text(document: Any, key: str) -> str:
    value = _at(document, key)
    return value if isinstance(value, str) else ""


def _name(side: Any) -> str:
    return _text(side, "checkpoint_name") or _text(side, "contestant") or "?"


def _number(value: Any) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number else None
