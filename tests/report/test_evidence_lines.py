from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.records.results import failed, simple_suite, suite
from wbgpu.records.comparison import Failure
from wbgpu.report.evidence_lines import (
    evidence_rows,
    margin_failure_line,
    method_line,
    power_lines,
)
from wbgpu.report.noninferiority import evidence_report, evidence_summary
from wbgpu.sdk import gate

NOISE = np.random.default_rng(0).normal(0.0, 0.5, (2, 10))


def _suite(shift, side, **fields):
    scores = {f"e{i}": [60.0 + shift + noise] for i, noise in enumerate(NOISE[side])}
    return simple_suite(scores, **fields)


def _verdict(shift=0.0, side=1, name="new", **settings):
    after = _suite(shift, side, checkpoint_name=name)
    return gate(_suite(0.0, 0), after, policy="noninferiority", **settings)


@pytest.mark.parametrize(
    ("shift", "says", "words"),
    [(-5.0, "worse", "wholly beyond"), (0.0, "not worse", None), (-1.0, "undecided", "about")],
)
def test_a_row_and_a_line_say_what_the_verdict_says(shift, says, words):
    verdict = _verdict(shift)
    assert evidence_rows(verdict.evidence)[0][4] == says
    lines = [margin_failure_line(f) for f in (*verdict.failures, *verdict.undecided)]
    assert bool(lines) == (words is not None)
    if words is not None:
        assert words in lines[0]


@pytest.mark.parametrize("needed", [None, 4303])
def test_a_change_at_the_margin_is_promised_no_number_of_episodes(needed):
    """4303 for a suite of ten reads as advice."""
    failure = _verdict(-1.0).undecided[0]
    at_margin = replace(failure, evidence={**failure.evidence, "episodes_to_decide": needed})
    line = margin_failure_line(at_margin)
    assert "it lies on the margin" in line
    assert "4303" not in line


def test_equal_changes_and_one_episode_are_said_in_words():
    """0.00 points and nothing at all would both look like precision."""
    assert "all 10 episodes changed alike" in power_lines(_verdict(0.0, side=0).evidence)[0]
    sides = [simple_suite({"a": [value]}) for value in (50.0, 60.0)]
    outcome = gate(*sides, policy="noninferiority")
    assert "one episode has no spread" in power_lines(outcome.evidence)[0]
    assert "no interval from one episode" in evidence_summary(outcome)
    # Nor is it known how many would do.
    assert "on the margin" not in evidence_summary(outcome)
    sides = [simple_suite({"a": [value], "b": [value + 3]}) for value in (50.0, 60.0)]
    tied = gate(*sides, policy="noninferiority", clusters={"a": "x", "b": "x"})
    assert "one cluster has no spread" in power_lines(tied.evidence)[0]


def test_a_verdict_without_evidence_shows_no_table_of_it():
    """A header and an interval of nothing read as if something had been weighed."""
    nothing = suite([failed("a")])
    outcome = gate(nothing, nothing, policy="noninferiority")
    for text in (evidence_summary(outcome), evidence_report(outcome)):
        assert "Intervals:" not in text
        assert "Says" not in text


def test_hostile_names_stay_on_their_line():
    """A checkpoint called so would otherwise print a verdict of its own."""
    verdict = _verdict(-5.0, name="x\nPASS|`*<b>")
    assert "\nPASS" not in evidence_summary(verdict)
    report = evidence_report(verdict)
    assert "\nPASS" not in report
    assert "x\\\\nPASS\\|\\`\\*&lt;b>" in report


def test_error_rates_are_stated_with_their_condition():
    """With skewed differences of ten episodes they are up to 5 %."""
    assert "for symmetric differences a number at its margin" in method_line(_verdict())


def test_no_test_over_horizons_is_not_called_a_share_of_tests():
    few = _verdict(clusters={f"e{i}": "wxyz"[i % 4] for i in range(10)})
    assert "none of 1 metric x horizon tests was made" in method_line(few)
    failure = Failure("horizons_not_tested", {"reason": "the rule was off", "margin": 1.0})
    assert "the rule was off, and a margin of 1 is asked for" in margin_failure_line(failure)


def test_scores_coverage_and_warnings_come_before_the_evidence():
    """PASS over 45 % of the composite's weight is another PASS; console and report say it."""
    same = gate(_suite(0.0, 0), _suite(0.0, 0), policy="noninferiority")
    for text in (evidence_summary(same), evidence_report(same)):
        order = [
            text.index(part)
            for part in (
                "Composite Score: ",
                "Metric coverage: 1 of 5; configured weight coverage: ",
                "composite clears its margin",
                "the same predictions",
                "minimum detectable effect",
            )
            if part != "minimum detectable effect" or part in text
        ]
        assert order == sorted(order)


def test_episodes_are_in_all_and_the_effect_has_its_name():
    """How many more or how many in all was the question."""
    (line,) = power_lines(_verdict(-0.3).evidence)
    assert line.startswith("composite: minimum detectable effect of 10 episodes: ")
    assert "episodes in all" in line
