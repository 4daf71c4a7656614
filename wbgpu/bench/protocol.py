"""Shapes of what goes over the wire, for server and client alike; knows nothing of the truth."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from wbgpu.bench.problems import RefusedError
from wbgpu.errors import ResultFileError
from wbgpu.records.node import Node
from wbgpu.records.strict_json import parse_json
from wbgpu.records.world import Schema, Variable
from wbgpu.regret import SUM_TOLERANCE

MAX_NAME_LENGTH = 80
MAX_SEED = 2**64 - 1
IDEMPOTENCY_KEY = "[A-Za-z0-9_-]{22,64}"

# Sums are rounded differently when they are scored: what passes here must pass there.
_SUM_TOLERANCE = SUM_TOLERANCE - 1e-12
_BODY = "body"

T = TypeVar("T")

Probabilities = tuple[tuple[float, ...], ...]
"""For each variable of a schema, in its order, K probabilities."""


@dataclass(frozen=True)
class SessionRequest:
    """Body of ``POST /bench/sessions``.

    Attributes:
        env: name of a world.
        seed: 0 ... 2**64 - 1; the server mixes its secret into it.
        max_steps: how many steps to forecast, or ``None`` for the world's own number.
        practice: outcomes are told at once, and nothing counts.
        name: who forecasts, for the leaderboard.
        idempotency_key: characters that the client drew for this session. The same request with
            the same key is answered with the same session.
    """

    env: str
    seed: int
    max_steps: int | None
    practice: bool
    name: str
    idempotency_key: str | None


@dataclass(frozen=True)
class PredictRequest:
    """Body of ``POST .../predict``.

    Attributes:
        step: which step it is for, 0-based; ``None`` is the one that was observed last.
        probabilities: of the next value of each variable.
    """

    step: int | None
    probabilities: Probabilities


def parse_session_request(raw: bytes) -> SessionRequest:
    """Check the body of ``POST /bench/sessions``.

    Raises:
        RefusedError: 400 for what is no strict JSON, 422 for a wrong field; it names the field.
    """
    return _checked(raw, _session_request)


def parse_predict_request(raw: bytes, schema: Schema) -> PredictRequest:
    """Check the body of ``POST .../predict``; ``schema`` is that of the session's world.

    Raises:
        RefusedError: as :func:`parse_session_request`.
    """
    return _checked(raw, lambda node: _predict_request(node, schema))


def prediction_document(
    schema: Schema, probabilities: Sequence[Sequence[float]], step: int | None = None
) -> dict[str, Any]:
    """The body of ``POST .../predict``.

    Args:
        schema: of the world.
        probabilities: for each variable K numbers.
        step: which step it is for, 0-based.
    """
    per_variable = [
        [
            variable.name,
            {"Categorical": {"outcomes": list(variable.outcomes), "probs": list(map(float, row))}},
        ]
        for variable, row in zip(schema.variables, probabilities, strict=True)
    ]
    document: dict[str, Any] = {"prediction": {"per_variable": per_variable}}
    return document if step is None else {"step": step, **document}


def schema_document(schema: Schema) -> dict[str, Any]:
    """Names of a world as the list of worlds has them."""
    return {
        "name": schema.world,
        "variables": [{"name": v.name, "outcomes": [*v.outcomes]} for v in schema.variables],
        "actions": [*schema.actions],
    }


def parse_schema(document: Any) -> Schema:
    """Read what :func:`schema_document` wrote.

    Raises:
        ResultFileError: it is something else; the message names the place.
    """
    node = Node(document, "$", "world")
    return Schema(
        node["name"].string(),
        tuple(
            Variable(variable["name"].string(), variable["outcomes"].strings())
            for variable in node["variables"].elements()
        ),
        node["actions"].strings(),
    )


def _checked(raw: bytes, read: Callable[[Node], T]) -> T:
    try:
        node = Node(parse_json(raw.decode("utf-8"), _BODY), "$", _BODY)
    except UnicodeDecodeError:
        raise RefusedError(400, "invalid-json", "expected JSON in UTF-8", field=_BODY) from None
    except ResultFileError as error:
        reason = error.reason.removesuffix("; wbgpu refuses the file")
        raise RefusedError(400, "invalid-json", reason, field=_field(error)) from None
    except RecursionError:
        raise RefusedError(400, "invalid-json", "nested too deeply to read", field=_BODY) from None
    try:
        return read(node)
    except ResultFileError as error:
        raise RefusedError(422, "invalid-field", error.reason, field=_field(error)) from None


def _field(error: ResultFileError) -> str:
    return error.json_path.removeprefix("$").removeprefix(".") or _BODY


def _session_request(node: Node) -> SessionRequest:
    _only(node, "env", "seed", "max_steps", "practice", "name", "idempotency_key")
    seed, steps, practice = _member(node, "seed"), node.get("max_steps"), node.get("practice")
    if seed.integer() > MAX_SEED:
        seed.fail(f"expected at most {MAX_SEED}")
    if steps is not None and steps.integer() < 1:
        steps.fail("expected at least 1")
    return SessionRequest(
        env=_member(node, "env").string(),
        seed=seed.integer(),
        max_steps=None if steps is None else steps.integer(),
        practice=practice is not None and practice.boolean(),
        name=_name(node.get("name")),
        idempotency_key=_key(node.get("idempotency_key")),
    )


def _name(node: Node | None) -> str:
    if node is None:
        return "anonymous"
    name = node.string()
    # Printable excludes control characters and lone surrogates, which no database takes.
    if not name.strip() or len(name) > MAX_NAME_LENGTH or not name.isprintable():
        node.fail(f"expected 1 to {MAX_NAME_LENGTH} printable characters")
    return name


def _key(node: Node | None) -> str | None:
    if node is None:
        return None
    # A short one could be somebody else's as well, and would open their session.
    if not re.fullmatch(IDEMPOTENCY_KEY, node.string()):
        node.fail("expected 22 to 64 characters that were drawn at random: A-Z a-z 0-9 _ -")
    return node.string()


def _predict_request(node: Node, schema: Schema) -> PredictRequest:
    _only(node, "step", "prediction")
    step, prediction = node.get("step"), _member(node, "prediction")
    _only(prediction, "per_variable")
    rows: dict[str, tuple[float, ...]] = {}
    variables = {variable.name: variable for variable in schema.variables}
    place = _member(prediction, "per_variable")
    for element in place.elements():
        pair = element.elements()
        if len(pair) != 2:
            element.fail(f"expected a pair of name and distribution, got {len(pair)} values")
        name = pair[0].string()
        if name not in variables:
            pair[0].fail(f"there is no such variable; expected {', '.join(variables)}")
        if name in rows:
            pair[0].fail(f"the variable {name!r} stands twice")
        rows[name] = _categorical(pair[1], variables[name])
    for name in variables:
        if name not in rows:
            place.fail(f"the variable {name!r} is missing")
    return PredictRequest(
        step=None if step is None else step.integer(),
        probabilities=tuple(rows[name] for name in variables),
    )


def _categorical(node: Node, variable: Variable) -> tuple[float, ...]:
    _only(node, "Categorical")
    inner = _member(node, "Categorical")
    _only(inner, "outcomes", "probs")
    outcomes, probs = _member(inner, "outcomes"), _member(inner, "probs")
    numbers = _probabilities(probs)
    in_order = [f"o{index}" for index in range(variable.num_outcomes)]
    is_in_order = outcomes.value in (in_order, [*variable.outcomes])
    names = in_order if is_in_order else outcomes.strings()
    for place, found in ((outcomes, len(names)), (probs, len(numbers))):
        if found != variable.num_outcomes:
            place.fail(f"expected {variable.num_outcomes} values, got {found}")
    total = math.fsum(numbers)
    if abs(total - 1.0) > _SUM_TOLERANCE:
        probs.fail(f"sum to {total:.9g}, expected 1 within {SUM_TOLERANCE:g}; normalise them")
    if is_in_order:
        return tuple(numbers)
    given = dict(zip(names, numbers, strict=True))
    if given.keys() != set(variable.outcomes):
        outcomes.fail(
            f"expected the outcomes of {variable.name!r} in any order "
            f"({', '.join(variable.outcomes)}), or o0 to o{len(names) - 1} in this order"
        )
    return tuple(given[outcome] for outcome in variable.outcomes)


def _probabilities(node: Node) -> list[float]:
    values = node.value
    # A node for each number, to name the one that is wrong, would double the cost of a prediction.
    if isinstance(values, list) and all(type(v) is float and 0.0 <= v <= 1.0 for v in values):
        return values
    return [_probability(element) for element in node.elements()]


def _probability(node: Node) -> float:
    value = node.number()
    if not 0.0 <= value <= 1.0 + SUM_TOLERANCE:
        node.fail(f"expected a probability of 0 to 1, got {value:.9g}")
    return value


def _member(node: Node, key: str) -> Node:
    """A key that must be there; the complaint names it and not the object around it."""
    if key not in node.object():
        Node(None, f"{node.path}.{key}", node.file).fail("is missing")
    return node[key]


def _only(node: Node, *known: str) -> None:
    for key in node.object():
        if key not in known:
            node[key].fail(f"is not known; expected {', '.join(known)}")
