"""What the server accepts, and that what it refuses is named."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wbgpu.bench.problems import RefusedError
from wbgpu.bench.protocol import (
    MAX_SEED,
    parse_predict_request,
    parse_schema,
    parse_session_request,
    prediction_document,
    schema_document,
)
from wbgpu.records.world import Schema, Variable

SCHEMA = Schema(
    "toy", (Variable("lamp", ("on", "off")), Variable("cup", ("left", "right", "held"))), ("go",)
)
PLACE = "prediction.per_variable"


def body(lamp=(0.5, 0.5), cup=(0.2, 0.3, 0.5), **top):
    return {**prediction_document(SCHEMA, [lamp, cup]), **top}


def refusal(parse, raw):
    with pytest.raises(RefusedError) as raised:
        parse(raw)
    document = raised.value.document()
    assert document["status"] == raised.value.status
    return raised.value.status, document["field"], document["detail"]


def refused_session(document):
    raw = document if isinstance(document, bytes) else json.dumps(document).encode()
    return refusal(parse_session_request, raw)


def refused_prediction(document):
    raw = document if isinstance(document, bytes) else json.dumps(document).encode()
    return refusal(lambda raw: parse_predict_request(raw, SCHEMA), raw)


def test_a_session_needs_world_and_seed_and_nothing_else():
    request = parse_session_request(b'{"env": "toy", "seed": 7}')
    assert (request.env, request.seed, request.max_steps) == ("toy", 7, None)
    assert request.practice is False
    assert request.name == "anonymous"
    all_of_it = {"env": "toy", "seed": 2**64 - 1, "max_steps": 3, "practice": True, "name": "né"}
    all_of_it["idempotency_key"] = "k" * 22
    request = parse_session_request(json.dumps(all_of_it).encode())
    assert vars(request) == all_of_it


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ([], "body"),
        ({}, "seed"),
        ({"seed": 1}, "env"),
        ({"env": 3, "seed": 1}, "env"),
        ({"env": "toy"}, "seed"),
        ({"env": "toy", "seed": -1}, "seed"),
        ({"env": "toy", "seed": True}, "seed"),
        ({"env": "toy", "seed": 1.0}, "seed"),
        ({"env": "toy", "seed": "1"}, "seed"),
        ({"env": "toy", "seed": MAX_SEED + 1}, "seed"),
        ({"env": "toy", "seed": 1, "max_steps": 0}, "max_steps"),
        ({"env": "toy", "seed": 1, "max_steps": 1.5}, "max_steps"),
        ({"env": "toy", "seed": 1, "practice": 1}, "practice"),
        ({"env": "toy", "seed": 1, "name": ""}, "name"),
        ({"env": "toy", "seed": 1, "name": "x" * 81}, "name"),
        ({"env": "toy", "seed": 1, "name": "a\nb"}, "name"),
        ({"env": "toy", "seed": 1, "name": "a\x00"}, "name"),
        ({"env": "toy", "seed": 1, "name": "\ud800"}, "name"),
        ({"env": "toy", "seed": 1, "steps": 4}, "steps"),
    ],
)
def test_a_wrong_field_of_a_session_is_named(document, field):
    assert refused_session(document)[:2] == (422, field)


@pytest.mark.parametrize(
    ("raw", "status", "field"),
    [
        (b"", 400, "body"),
        (b"{", 400, "body"),
        (b"\xff\xfe", 400, "body"),
        (b'{"env": "toy", "seed": NaN}', 400, "seed"),
        (b'{"env": "toy", "seed": Infinity}', 400, "seed"),
        (b'{"env": "toy", "seed": -Infinity}', 400, "seed"),
        (b'{"env": "toy", "seed": 1e999}', 400, "seed"),
        (b'{"env": "toy", "seed": 1, "seed": 2}', 400, "body"),
        (b'{"env": "toy", "seed": ' + b"9" * 5000 + b"}", 400, "body"),
        (b"[" * 100_000, 400, "body"),
        (b"[" * 900 + b"NaN" + b"]" * 900, 400, None),
        (b'{"a":' * 100_000, 400, "body"),
        (b'{"env": "toy", "seed": 1} {}', 400, "body"),
        (b'\xef\xbb\xbf{"env": "toy", "seed": 1}', 400, "body"),
    ],
)
def test_what_is_no_strict_json_is_refused(raw, status, field):
    found = refused_session(raw)
    assert found[0] == status
    assert field is None or found[1] == field
    assert "file" not in found[2]


def test_a_prediction_is_read_in_the_worlds_order():
    """Whatever order the client has, no probability may end at another outcome."""
    request = parse_predict_request(
        json.dumps(
            {
                "step": 3,
                "prediction": {
                    "per_variable": [
                        distribution("cup", ["held", "left", "right"], [0.5, 0.2, 0.3]),
                        distribution("lamp", ["o0", "o1"], [0.9, 0.1]),
                    ]
                },
            }
        ).encode(),
        SCHEMA,
    )
    assert request.step == 3
    assert request.probabilities == ((0.9, 0.1), (0.2, 0.3, 0.5))


def distribution(name, outcomes, probs):
    return [name, {"Categorical": {"outcomes": outcomes, "probs": probs}}]


@pytest.mark.parametrize(
    ("rows", "field"),
    [
        ({"lamp": (0.5, 0.499)}, f"{PLACE}[0][1].Categorical.probs"),
        ({"lamp": (0.5, 0.5 + 2e-6)}, f"{PLACE}[0][1].Categorical.probs"),
        ({"cup": (0.6, 0.6, -0.2)}, f"{PLACE}[1][1].Categorical.probs[2]"),
        ({"cup": (2.0, -0.5, -0.5)}, f"{PLACE}[1][1].Categorical.probs[0]"),
    ],
)
def test_what_is_no_distribution_is_refused(rows, field):
    assert refused_prediction(body(**rows))[:2] == (422, field)


@pytest.mark.parametrize(
    ("per_variable", "field"),
    [
        (None, PLACE),
        ([], PLACE),
        ([5], f"{PLACE}[0]"),
        ([["lamp"]], f"{PLACE}[0]"),
        ([distribution("bulb", ["on", "off"], [1, 0])], f"{PLACE}[0][0]"),
        ([distribution("lamp", ["on"], [1])], f"{PLACE}[0][1].Categorical.outcomes"),
        ([distribution("lamp", ["on", "off"], [1])], f"{PLACE}[0][1].Categorical.probs"),
        ([distribution("lamp", ["on", "up"], [1, 0])], f"{PLACE}[0][1].Categorical.outcomes"),
        ([distribution("lamp", ["on", "on"], [1, 0])], f"{PLACE}[0][1].Categorical.outcomes"),
        ([distribution("lamp", ["o1", "o0"], [1, 0])], f"{PLACE}[0][1].Categorical.outcomes"),
        ([distribution("lamp", ["on", "off"], ["1", 0])], f"{PLACE}[0][1].Categorical.probs[0]"),
        ([distribution("lamp", ["on", "off"], [True, 0])], f"{PLACE}[0][1].Categorical.probs[0]"),
        (
            [distribution("lamp", ["on", "off"], [10**400, 0])],
            f"{PLACE}[0][1].Categorical.probs[0]",
        ),
        ([["lamp", {"Gaussian": {}}]], f"{PLACE}[0][1].Gaussian"),
        ([["lamp", {"Categorical": {"probs": [1, 0]}}]], f"{PLACE}[0][1].Categorical.outcomes"),
        ([distribution("lamp", ["on", "off"], [1, 0])] * 2, f"{PLACE}[1][0]"),
        ([distribution("lamp", ["on", "off"], [1, 0])], PLACE),
    ],
)
def test_a_wrong_place_of_a_prediction_is_named(per_variable, field):
    document = {"prediction": {"per_variable": per_variable}}
    assert refused_prediction(document)[:2] == (422, field)


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({}, "prediction"),
        ({"prediction": 1}, "prediction"),
        ({"prediction": {}}, PLACE),
        (body(step=-1), "step"),
        (body(step="1"), "step"),
        (body(truth=1), "truth"),
    ],
)
def test_a_wrong_key_around_a_prediction_is_named(document, field):
    assert refused_prediction(document)[:2] == (422, field)


def test_numbers_that_json_does_not_have_are_refused_where_they_stand():
    raw = json.dumps(body(lamp=(0.25, 0.75))).replace("0.25", "NaN").encode()
    assert refused_prediction(raw)[:2] == (400, f"{PLACE}[0][1].Categorical.probs[0]")


@given(st.lists(st.floats(1e-9, 1.0), min_size=3, max_size=3))
def test_what_the_client_writes_the_server_reads_bit_for_bit(weights):
    row = [w / sum(weights) for w in weights]
    raw = json.dumps(prediction_document(SCHEMA, [(1.0, 0.0), row], 2)).encode()
    request = parse_predict_request(raw, SCHEMA)
    assert request.probabilities == ((1.0, 0.0), tuple(row))
    assert request.step == 2


@given(st.binary(max_size=200))
def test_no_bytes_do_anything_but_parse_or_be_refused(raw):
    for parse in (parse_session_request, lambda raw: parse_predict_request(raw, SCHEMA)):
        with pytest.raises(RefusedError):
            parse(raw)


def test_a_schema_survives_the_wire():
    assert parse_schema(json.loads(json.dumps(schema_document(SCHEMA)))) == SCHEMA
