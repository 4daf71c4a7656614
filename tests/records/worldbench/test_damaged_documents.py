"""Whatever stands in a file: a result, or one error that names the file."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.records.golden import plain_json
from tests.records.results import available, episode, failed, suite, unsupported
from wbgpu.aggregate.consistency import check_result
from wbgpu.errors import WbgpuError
from wbgpu.records.worldbench import batch_payload, evaluation_payload, gate_payload, parse_result
from wbgpu.report.console import result_summary
from wbgpu.report.markdown import result_report
from wbgpu.sdk import gate

JUNK = st.sampled_from(
    [None, True, False, 0, -1, 3, 1e308, -2.5, 10**400, "", "t+1", [], {}, [[]], [None], {"a": 1}]
)


@cache
def _document(kind: str) -> Any:
    outcomes = [
        available("visual_similarity", [60.0, 50.0], prefix_details={"mse": (1.0, 2.0)}),
        available("temporal_stability", [None, 90.0]),
        unsupported("contact_realism"),
        available("psnr", [30.0, 25.0], step=(30.0, 20.0)),
    ]
    episodes = [episode("a", outcomes), episode("b", outcomes)]
    if kind == "evaluation":
        return plain_json(evaluation_payload(suite(episodes, result_type="evaluation")))
    return plain_json(batch_payload(suite([*episodes, failed("c")])))


def _places(node: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    children = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in children:
        yield (*place, key)
        if isinstance(value, (dict, list)):
            yield from _places(value, (*place, key))


@cache
def _all_places(kind: str) -> list[tuple[Any, ...]]:
    return list(_places(_document(kind)))


@pytest.mark.parametrize("kind", ["batch", "evaluation"])
@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damage_is_an_error_or_harmless(kind: str, data: st.DataObject) -> None:
    """Any other exception would end a gate with 1, the code of FAIL."""
    document = plain_json(_document(kind))
    place = data.draw(st.sampled_from(_all_places(kind)))
    parent = document
    for key in place[:-1]:
        parent = parent[key]
    if data.draw(st.booleans()):
        del parent[place[-1]]
    else:
        parent[place[-1]] = data.draw(JUNK)
    try:
        result = parse_result(document, "damaged.json")
        check_result(result, "damaged.json")
        result_summary(result)
        result_report(result, result)
        if kind == "batch":
            plain_json(gate_payload(gate(result, result)))
    except WbgpuError:
        return
