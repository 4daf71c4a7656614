"""A file that was changed by hand, or is damaged, is refused with the place."""

from __future__ import annotations

import json

import pytest

from tests.records.regret_results import CONTESTANTS, regret_result
from wbgpu.aggregate.regret_consistency import check_regret
from wbgpu.errors import ResultFileError
from wbgpu.records.regret_file import parse_regret, regret_payload
from wbgpu.records.strict_json import to_text


def document(contestant="kt", **changes):
    return json.loads(to_text(regret_payload(regret_result(contestant, **changes))))


def check(payload):
    check_regret(parse_regret(payload, "x.json"), "x.json")


@pytest.mark.parametrize("contestant", CONTESTANTS)
@pytest.mark.parametrize("seeds", [(7,), (0, 1, 2**64 - 1)])
def test_what_we_write_is_consistent(contestant, seeds):
    check(document(contestant, seeds=seeds, num_steps=60))


def places(node, path=()):
    """Every number of a document, and every null that stands for an infinite one."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key not in ("configuration", "environment", "command"):
                yield from places(value, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from places(value, (*path, index))
    elif not isinstance(node, str):
        yield path


@pytest.mark.parametrize("contestant", ["kt", "reckless"])
@pytest.mark.parametrize("seeds", [(3,), (0, 1)])
def test_any_number_that_is_changed_alone_is_found(contestant, seeds):
    """A gate must not pass on an edited total, step, count or interval."""
    options = {"seeds": seeds, "num_steps": 5}
    for path in places(document(contestant, **options)):
        damaged = document(contestant, **options)
        node = damaged
        for key in path[:-1]:
            node = node[key]
        value = node[path[-1]]
        node[path[-1]] = 3.25 if value is None else value + 1
        if path[-1] == "seed":
            continue
        with pytest.raises(ResultFileError):
            check(damaged)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["cumulative_regret_nats"], 0.0, r"\$\.cumulative_regret_nats: the file says 0\.0, but"),
        (["seeds", 1, "cumulative_regret_nats"], 0.0, r"\$\.seeds\[1\]\.cumulative_regret_nats"),
        (["seeds", 1, "step_regret_nats", 3], 9.0, r"\$\.seeds\[1\]\.finite_regret_nats"),
        (["seeds", 1, "step_regret_nats", 3], None, r"\$\.seeds\[1\]\.finite_regret_nats"),
        (["horizons", 4, "step", "regret_nats", "mean"], 1.5, r"\$\.horizons\[4\]\.step\.regret"),
        (["per_step", "regret_nats", "upper"], 0.1, r"\$\.per_step\.regret_nats\.upper"),
        (["num_steps"], 13, r"\$\.num_steps: the file says 13, but its steps give 12"),
        (["seeds", 2, "seed"], 0, r"\$\.seeds: the seed 0 stands twice"),
        (["per_variable", "belt", "log_loss_nats"], 0.5, r"\$\.per_variable\.belt\.log_loss"),
    ],
)
def test_a_contradiction_names_its_place(path, value, message):
    damaged = document()
    node = damaged
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    with pytest.raises(ResultFileError, match=message):
        check(damaged)


def test_a_missing_variable_or_horizon_is_found():
    for path, message in (
        (["per_variable", "belt"], r"\$\.per_variable: 'belt'"),
        (["horizons", 3], r"\$\.horizons: the file says 11 entries, but its steps give 12"),
    ):
        damaged = document()
        del damaged[path[0]][path[1]]
        with pytest.raises(ResultFileError, match=message):
            check(damaged)


def test_a_negative_loss_is_found():
    """Consistent sums do not make it possible."""
    damaged = document("oracle", seeds=(3,))
    nodes = [damaged, damaged["seeds"][0]]
    nodes += [node["per_variable"]["belt"] for node in nodes]
    for node in nodes:
        node["reference_loss_nats"] -= 100
        node["log_loss_nats"] -= 100
    with pytest.raises(ResultFileError, match=r"reference_loss_nats: expected a number >= 0"):
        check(damaged)
