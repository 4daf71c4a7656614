from __future__ import annotations

import pytest

from tests.records.golden import at, plain_json
from tests.records.results import available, episode, suite
from wbgpu.records.suite import SuiteResult
from wbgpu.records.worldbench import batch_payload, evaluation_payload
from wbgpu.records.worldbench.places import (
    COVERAGE,
    EPISODES,
    HORIZONS,
    WORST_EPISODES,
    Places,
)

VISUAL = available("visual_similarity", [60.0, 50.0], step=(60.0, 40.0))
PSNR = available("psnr", [30.0, 25.0], step=(30.0, 20.0))


def _result(kind: str) -> SuiteResult:
    return suite([episode("a", [VISUAL, PSNR])], result_type=kind)


@pytest.mark.parametrize("kind", ["batch_evaluation", "evaluation"])
def test_every_place_holds_what_the_record_holds(kind: str) -> None:
    """An error that names a place which does not exist sends its reader on a search."""
    result = _result(kind)
    batch = kind == "batch_evaluation"
    document = plain_json(batch_payload(result) if batch else evaluation_payload(result))
    places = Places.of(result)
    assert places == Places(batch, frozenset(result.enabled_metrics))

    overall = at(document, places.overall)
    assert (overall["mean"] if batch else overall) == 50.0
    assert at(document, places.horizon(2))["sample_count"] == 1
    assert at(document, places.prefix_score(0, 1)) == 60.0
    for metric in (VISUAL, PSNR):
        name = metric.name
        assert name in at(document, places.metrics(name))
        assert at(document, places.value(0, name)) == metric.value
        assert at(document, places.unavailable(1, name)) == {}
        assert at(document, places.outcome(0, name))
        for horizon in (1, 2):
            assert at(document, places.prefix(0, name, horizon)) == metric.prefix_at(horizon)
            assert at(document, places.step(0, name, horizon)) == metric.step_at(horizon)
            prefix = at(document, places.view(horizon, "prefix", name))
            assert prefix[name]["mean"] == metric.prefix_at(horizon)
            step = at(document, places.view(horizon, "step", name))
            assert step[name]["mean"] == metric.step_at(horizon)
    assert at(document, places.episode(0)) == at(document, EPISODES)[0]
    assert len(at(document, HORIZONS)) == 2
    assert at(document, COVERAGE)["available_metric_count"] == 1
    if batch:
        assert len(at(document, WORST_EPISODES)) == 1
