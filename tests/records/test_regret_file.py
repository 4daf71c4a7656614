"""Regret results as JSON: strict, whole, and readable again."""

from __future__ import annotations

import json
import math

import pytest

from tests.records.regret_results import CONTESTANTS, regret_result
from wbgpu.errors import ResultFileError
from wbgpu.records.regret_file import is_regret, parse_regret, regret_payload
from wbgpu.records.strict_json import parse_json, to_text


def document(contestant="kt", **changes):
    return json.loads(to_text(regret_payload(regret_result(contestant, **changes))))


@pytest.mark.parametrize("contestant", CONTESTANTS)
@pytest.mark.parametrize("seeds", [(7,), (0, 1, 2**64 - 1)])
def test_round_trip_keeps_every_bit(contestant, seeds):
    """Infinite losses, one episode without errors, and seeds beyond 2**63 among them."""
    result = regret_result(contestant, seeds=seeds)
    text = to_text(regret_payload(result))
    assert parse_regret(parse_json(text, "x.json"), "x.json") == result


def test_the_keys_that_tools_read():
    """Other tools rely on these names and meanings."""
    result, payload = regret_result(), document()
    assert payload["result_type"] == "regret_evaluation"
    assert payload["cumulative_regret_nats"] == result.cumulative_regret_nats
    assert payload["cumulative_regret_nats"] == pytest.approx(
        sum(seed["cumulative_regret_nats"] for seed in payload["seeds"]) / 3
    )
    assert payload["expected_regret_nats"] == pytest.approx(
        sum(sum(seed["step_expected_regret_nats"]) for seed in payload["seeds"]) / 3
    )
    assert payload["log_loss_nats"] == pytest.approx(
        payload["reference_loss_nats"] + payload["cumulative_regret_nats"]
    )
    assert payload["num_infinite"] == 0
    assert [seed["seed"] for seed in payload["seeds"]] == [0, 1, 2**64 - 1]
    assert [horizon["horizon"] for horizon in payload["horizons"]] == list(range(1, 13))
    last = payload["horizons"][-1]
    assert last["prefix"]["cumulative_regret_nats"]["mean"] == payload["cumulative_regret_nats"]
    assert last["prefix"]["expected_regret_nats"]["count"] == 3
    assert last["step"]["regret_nats"]["standard_error"] > 0
    assert set(payload["per_variable"]) == {"belt", "lamp"}


def test_what_is_infinite_is_null_beside_its_count_and_finite_part():
    """Infinity is not JSON, and 0 or a missing key would be a lie."""
    payload = document("reckless", num_steps=60)
    assert payload["cumulative_regret_nats"] is None
    assert payload["log_loss_nats"] is None
    assert payload["expected_regret_nats"] is None
    assert payload["num_infinite"] > 0
    assert math.isfinite(payload["finite_regret_nats"])
    steps = [step for seed in payload["seeds"] for step in seed["step_regret_nats"]]
    assert steps.count(None) == payload["num_infinite"]
    horizon = payload["horizons"][-1]["prefix"]["expected_regret_nats"]
    assert horizon["mean"] is horizon["standard_error"] is None
    assert horizon["num_infinite"] == 3
    assert math.isfinite(horizon["finite_mean"])


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (["schema_version"], "9", r"\$\.schema_version: unknown schema version '9'"),
        (["result_type"], "evaluation", r"\$\.result_type: expected 'regret_evaluation'"),
        (["num_seeds"], 4, r"\$\.num_seeds: says 4, but \$\.seeds has 3"),
        (["num_infinite"], -1, r"\$\.num_infinite: expected an integer >= 0"),
        (["num_infinite"], 0.0, r"\$\.num_infinite: expected an integer >= 0"),
        (["reference_loss_nats"], None, r"\$\.reference_loss_nats: expected a number, got null"),
        (["seeds", 1, "seed"], "1", r"\$\.seeds\[1\]\.seed: expected an integer"),
        (["seeds", 1, "seed"], 2**64, r"\$\.seeds\[1\]\.seed: expected .* below 2\*\*64"),
        (["seeds", 1, "step_regret_nats", 2], "x", r"\$\.seeds\[1\]\.step_regret_nats\[2\]"),
        (["seeds", 1, "step_regret_nats"], 1.0, r"step_regret_nats: expected a list"),
        (["seeds", 0, "finite_regret_nats"], True, r"finite_regret_nats: expected a number"),
        (["seeds", 0, "log_loss_nats"], 1e200, r"log_loss_nats: expected a number of at most"),
        (["horizons", 3, "step", "regret_nats", "mean"], [], r"horizons\[3\]\.step\.regret_nats"),
        (["world"], "spectator", r"\$\.world: expected an object"),
        (["environment", "numpy"], 2, r"\$\.environment\.numpy: expected a string"),
    ],
)
def test_a_damaged_document_is_refused_with_its_place(place, value, message):
    damaged = document()
    node = damaged
    for key in place[:-1]:
        node = node[key]
    node[place[-1]] = value
    with pytest.raises(ResultFileError, match=message):
        parse_regret(damaged, "x.json")


@pytest.mark.parametrize("key", sorted(document().keys() - {"command"}))
def test_a_missing_key_is_refused_by_name(key):
    damaged = document()
    del damaged[key]
    with pytest.raises(ResultFileError, match=f"the key '{key}' is missing"):
        parse_regret(damaged, "x.json")


def test_other_documents_are_told_apart():
    assert is_regret(document())
    assert not any(map(is_regret, ({"result_type": "evaluation"}, {}, [], None, "regret")))
