"""The OpenAPI document of the server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wbgpu.bench.limits import Limits
from wbgpu.bench.problems import PROBLEM_MEDIA_TYPE
from wbgpu.bench.protocol import IDEMPOTENCY_KEY, MAX_NAME_LENGTH, MAX_SEED
from wbgpu.version import __version__

_NUMBER_OR_NULL = {"type": ["number", "null"], "description": "nats; null is infinite"}
_INTEGER = {"type": "integer", "minimum": 0}
_STRING = {"type": "string"}
_BOOLEAN = {"type": "boolean"}
_SESSION_ID = {
    "name": "session_id",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]{16,40}$"},
}
_RUN = {
    "name": "run",
    "in": "query",
    "required": True,
    "description": "run_id of a finished session",
    "schema": {"type": "array", "items": _STRING, "minItems": 1, "maxItems": 2},
}


def openapi_document(limits: Limits, worlds: Sequence[str]) -> dict[str, Any]:
    """What the server can be asked, as OpenAPI 3.1.

    Args:
        limits: of the server.
        worlds: names of those that it has.
    """
    session = "/bench/sessions/{session_id}"
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "wbgpu bench",
            "version": __version__,
            "description": "Forecast what happens in a world, step by step, and learn in the end "
            "how many nats were lost against the truth. Bodies may have at most "
            f"{limits.max_body_bytes} bytes.",
        },
        "paths": {
            "/healthz": {
                "get": _operation(
                    "healthz", "Whether the server works", _object({"status": _STRING})
                )
            },
            "/openapi.json": {"get": _operation("openapi", "This document", {"type": "object"})},
            "/bench/worlds": {
                "get": _operation("worlds", "Worlds that can be forecast", _ref("Worlds"))
            },
            "/bench/sessions": {
                "post": _operation(
                    "create_session",
                    "Begin a session",
                    _ref("Session"),
                    body=_ref("SessionRequest"),
                    success="201",
                    refusals=("400", "404", "413", "415", "422"),
                )
            },
            f"{session}/observe": {
                "get": _operation(
                    "observe",
                    "The state and the action whose outcome is to be forecast",
                    _ref("Observation"),
                    refusals=("404", "409", "410"),
                ),
                "parameters": [_SESSION_ID],
            },
            f"{session}/predict": {
                "post": _operation(
                    "predict",
                    "Forecast the next state; each step once",
                    _ref("Acknowledgement"),
                    body=_ref("PredictRequest"),
                    refusals=("400", "404", "409", "410", "413", "415", "422"),
                ),
                "parameters": [_SESSION_ID],
            },
            f"{session}/result": {
                "get": _operation(
                    "result",
                    "The score, after the last step and not before",
                    _ref("Result"),
                    refusals=("404", "409"),
                ),
                "parameters": [_SESSION_ID],
            },
            "/bench/leaderboard": {
                "get": _operation(
                    "leaderboard", "Finished scored sessions by world", {"type": "object"}
                )
            },
            "/bench/replay": {
                "get": _operation(
                    "replay",
                    "One finished episode, and what one or two contestants forecast of it",
                    {"type": "object"},
                    refusals=("404", "409", "422"),
                ),
                "parameters": [_RUN],
            },
        },
        "components": {"schemas": _schemas(worlds)},
    }


def _schemas(worlds: Sequence[str]) -> dict[str, Any]:
    prediction_schema = {
        "type": "array",
        "description": "pairs of a variable's name and its number of outcomes",
        "items": {"type": "array", "minItems": 2, "maxItems": 2},
    }
    return {
        "Worlds": _object({"worlds": _array(_ref("World"))}),
        "World": _object(
            {
                "name": _STRING,
                "description": _STRING,
                "variables": _array(_object({"name": _STRING, "outcomes": _array(_STRING)})),
                "actions": _array(_STRING),
                "max_steps": _INTEGER,
                "sha256": _STRING,
            }
        ),
        "SessionRequest": _object(
            {
                "env": {"type": "string", "enum": list(worlds)},
                "seed": {"type": "integer", "minimum": 0, "maximum": MAX_SEED},
                "max_steps": {"type": ["integer", "null"], "minimum": 1},
                "practice": {"type": ["boolean", "null"]},
                "name": {"type": ["string", "null"], "minLength": 1, "maxLength": MAX_NAME_LENGTH},
                "idempotency_key": {
                    "type": ["string", "null"],
                    "pattern": f"^{IDEMPOTENCY_KEY}$",
                    "description": "drawn at random; a request that is repeated with it is "
                    "answered with the same session",
                },
            },
            required=("env", "seed"),
            is_closed=True,
        ),
        "Session": _object(
            {
                "session_id": {"type": "string", "description": "opens the session: keep it"},
                "run_id": {"type": "string", "description": "names it in public"},
                "env": _STRING,
                "world_sha256": _STRING,
                "seed": _INTEGER,
                "max_steps": _INTEGER,
                "practice": _BOOLEAN,
                "name": _STRING,
                "expires_at": {"type": "number", "description": "seconds since 1970"},
                "prediction_schema": prediction_schema,
            }
        ),
        "Observation": _object(
            {
                "done": _BOOLEAN,
                "step": _INTEGER,
                "max_steps": _INTEGER,
                "practice": _BOOLEAN,
                "observation": {"type": "object", "additionalProperties": _INTEGER},
                "action": {"type": ["string", "null"]},
                "prediction_schema": prediction_schema,
            }
        ),
        "PredictRequest": _object(
            {
                "step": {"type": ["integer", "null"], "minimum": 0},
                "prediction": _object(
                    {
                        "per_variable": {
                            "type": "array",
                            "items": {
                                "type": "array",
                                "prefixItems": [_STRING, _ref("Distribution")],
                                "items": False,
                                "minItems": 2,
                            },
                        }
                    },
                    is_closed=True,
                ),
            },
            required=("prediction",),
            is_closed=True,
        ),
        "Distribution": _object(
            {
                "Categorical": _object(
                    {
                        "outcomes": _array(_STRING),
                        "probs": _array({"type": "number", "minimum": 0, "maximum": 1}),
                    },
                    is_closed=True,
                )
            },
            is_closed=True,
        ),
        "Acknowledgement": _object(
            {
                "acknowledged": _BOOLEAN,
                "step": _INTEGER,
                "practice": _BOOLEAN,
                "outcome": {
                    "type": "object",
                    "description": "in practice only, as are all nats",
                    "additionalProperties": _INTEGER,
                },
                "cumulative_regret_nats": _NUMBER_OR_NULL,
            },
            required=("acknowledged", "step", "practice"),
        ),
        "Result": _object(
            {
                "run_id": _STRING,
                "name": _STRING,
                "practice": _BOOLEAN,
                "env": _STRING,
                "world_sha256": _STRING,
                "seed": _INTEGER,
                "paired_episodes": _BOOLEAN,
                "finished_at": {"type": "number"},
                "num_steps": _INTEGER,
                "cumulative_regret_nats": _NUMBER_OR_NULL,
                "expected_regret_nats": _NUMBER_OR_NULL,
                "reference_loss_nats": _NUMBER_OR_NULL,
                "log_loss_nats": _NUMBER_OR_NULL,
                "num_infinite": _INTEGER,
                "num_infinite_expected": _INTEGER,
                "per_step": {"type": "object"},
                "per_variable": {"type": "object"},
            }
        ),
        "Problem": _object(
            {
                "type": _STRING,
                "title": _STRING,
                "status": _INTEGER,
                "detail": _STRING,
                "field": _STRING,
            },
            required=("type", "title", "status", "detail"),
        ),
    }


def _operation(
    name: str,
    summary: str,
    answer: dict[str, Any],
    *,
    body: dict[str, Any] | None = None,
    success: str = "200",
    refusals: tuple[str, ...] = (),
) -> dict[str, Any]:
    problem = {
        "description": "refused",
        "content": {PROBLEM_MEDIA_TYPE: {"schema": _ref("Problem")}},
    }
    operation: dict[str, Any] = {
        "operationId": name,
        "summary": summary,
        "responses": {
            success: {
                "description": summary,
                "content": {"application/json": {"schema": answer}},
            },
            **dict.fromkeys((*refusals, "429", "503"), problem),
        },
    }
    if body is not None:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": body}},
        }
    return operation


def _object(
    properties: dict[str, Any],
    *,
    required: tuple[str, ...] | None = None,
    is_closed: bool = False,
) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "required": list(properties if required is None else required),
    }
    return {**schema, "additionalProperties": False} if is_closed else schema


def _array(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}
