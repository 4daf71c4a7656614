"""Requests that schemathesis makes up from the document get the answers that it promises."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import (
    not_a_server_error,
)
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from tests.bench.serving import serving
from wbgpu.bench.limits import Limits
from wbgpu.bench.openapi import openapi_document
from wbgpu.bench.server import create_app
from wbgpu.worlds import world_names

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
schema = schemathesis.openapi.from_dict(openapi_document(Limits(), world_names()))


@pytest.fixture(scope="module")
def listening(tmp_path_factory):
    from wbgpu.bench.serve import open_bench

    folder = tmp_path_factory.mktemp("bench")
    bench = open_bench(str(folder / "bench.sqlite"), None, Limits(max_open_sessions=10**6))
    with serving(bench) as server:
        server.path = server.session(max_steps=1000)
        yield server


@schema.parametrize()
@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_every_answer_is_as_the_document_says(case, listening):
    """A 5xx, or an answer of another shape, is a fault that a stranger can cause."""
    answer = case.call_and_validate(base_url=listening.url, checks=CHECKS)
    assert answer.status_code < 500


@schema.include(path_regex="session_id").parametrize()
@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_answers_of_a_session_that_exists_are_too(case, listening):
    """Made-up ids only ever reach the refusal of an unknown session."""
    case.path_parameters = {"session_id": listening.path.rpartition("/")[2]}
    answer = case.call_and_validate(base_url=listening.url, checks=CHECKS)
    assert answer.status_code < 500


def test_every_route_that_answers_json_is_in_the_document(tmp_path):
    """What the document leaves out is never tried by the tests above."""
    from wbgpu.bench.serve import open_bench

    app = create_app(open_bench(str(tmp_path / "bench.sqlite"), None, Limits()))
    pages = {"/", "/leaderboard", "/replay", "/static/{name}", "/bench/frames/{env}/{state}.png"}
    served = {
        (route.path, method.lower())
        for route in app.routes
        if route.path not in pages
        for method in route.methods - {"HEAD"}
    }
    paths = openapi_document(Limits(), world_names())["paths"]
    documented = {(p, m) for p, entry in paths.items() for m in entry if m != "parameters"}
    assert served == documented
