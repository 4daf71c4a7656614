from __future__ import annotations

from typing import Any

import pytest

from tests.records.results import simple_suite
from wbgpu.gating.noninferiority import Noninferiority
from wbgpu.records.suite import Provenance, SuiteResult
from wbgpu.report.console import verdict_summary
from wbgpu.report.html.suite_page import SuiteReport, suite_page
from wbgpu.report.markdown import gate_report, result_report
from wbgpu.report.model_inputs import actions_note, model_rows
from wbgpu.report.noninferiority import evidence_report, evidence_summary
from wbgpu.sdk import gate


def _live(
    actions: str | None = None,
    action_sha256: str | None = None,
    root: str = "live:step00900",
    **settings: Any,
) -> SuiteResult:
    digests = {} if action_sha256 is None else {"actions/a": action_sha256}
    if "model" in settings:
        digests["checkpoint"] = "0123456789abcdef" * 4
    provenance = Provenance(
        environment={},
        device="cpu",
        statistics_path="cpu",
        decoder="pyav",
        input_sha256=digests,
        configuration={"suite": {"actions": actions}, **settings},
    )
    scores = {"a": [50.0], "b": [60.0]}
    return simple_suite(scores, predictions_root=root, provenance=provenance)


def test_reports_name_the_checkpoint_file_and_the_actions() -> None:
    """Two runs of one name differ in just these, and the command line may be gone."""
    result = _live("bridge/actions", "1f", model={"checkpoint": "runs/step00900.pt"})
    for text in (result_report(result), suite_page(SuiteReport(result))):
        assert "runs/step00900.pt (sha256 0123456789ab)" in text
        assert "bridge/actions" in text
    assert "- Actions: none" in result_report(_live())
    assert "- Actions: those of the suite" in result_report(_live(None, "1f"))


@pytest.mark.parametrize(
    "result",
    [simple_suite({"a": [50.0]}), _live(root="step00900"), _live(model=None), _live(model="kt")],
)
def test_what_a_result_does_not_say_is_not_made_up(result: SuiteResult) -> None:
    """Saved predictions, other tools, and models without a file."""
    assert "Checkpoint" not in model_rows(result)
    if not result.predictions_root.startswith("live:"):
        assert model_rows(result) == {}


def test_verdicts_say_that_only_one_side_was_given_actions() -> None:
    """A gain that actions made is else put down to training."""
    before, after = _live(), _live("bridge", "1f")
    verdict = gate(before, after)
    weighed = gate(before, after, policy=Noninferiority(margin=1.0))
    note = "Actions: none -> bridge"
    assert note in verdict_summary(verdict).splitlines()
    assert note in evidence_summary(weighed).splitlines()
    for text in (gate_report(verdict), evidence_report(weighed), result_report(after, before)):
        assert note.replace(">", "&gt;") in text or note in text
    assert "Actions: none -&gt; bridge" in suite_page(SuiteReport(after, verdict))


@pytest.mark.parametrize(
    ("before", "after", "note"),
    [
        (("x", "1f"), ("y", "2f"), "Actions: x -> y"),
        (("x", "1f"), ("x", "2f"), "Actions: x -> x (other files)"),
        (("x", "1f"), ("y", "1f"), None),
        ((None, None), (None, None), None),
    ],
)
def test_actions_are_told_apart_by_content(before: Any, after: Any, note: str | None) -> None:
    """A folder that was moved holds the same actions, one that was changed does not."""
    assert actions_note(_live(*before), _live(*after)) == note


def test_saved_predictions_do_not_say_what_they_were_given() -> None:
    assert actions_note(_live(root="folder"), _live("x", "1f")) is None
