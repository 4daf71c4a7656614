"""Regret in words: on the console and in Markdown."""

from __future__ import annotations

import dataclasses
import re

import pytest

from tests.records.regret_results import CONTESTANTS, regret_result
from wbgpu.aggregate.regret_comparison import compare_regret
from wbgpu.gating.regret_policy import RegretThresholds, decide_regret
from wbgpu.report.regret_console import regret_summary, regret_verdict_summary
from wbgpu.report.regret_markdown import regret_gate_report, regret_report
from wbgpu.report.regret_rows import curve, nats


def verdict(before, after, num_steps=60, **thresholds):
    results = [regret_result(c, num_steps=num_steps) for c in (before, after)]
    return decide_regret(compare_regret(*results), RegretThresholds(**thresholds))


def test_the_summary_holds_what_was_measured():
    result = regret_result(num_steps=60)
    text = regret_summary(result)
    assert f"World: spectator (sha256 {result.world_sha256[:12]})" in text
    assert "Contestant: kt" in text
    assert "Episodes: 3 of 60 steps" in text
    for name, value in (
        ("expected regret", result.expected_regret_per_step.mean),
        ("realised regret", result.regret_per_step.mean),
        ("log-loss", result.totals.log_loss_nats / 60),
        ("reference loss", result.totals.reference_loss_nats / 60),
    ):
        assert re.search(rf"^{name} +{re.escape(nats(value))}\b", text, re.MULTILINE)
    assert "Infinite losses: none in 180 steps" in text
    assert re.search(r"^belt ", text, re.MULTILINE)
    # Powers of two and the last.
    rows = re.findall(r"^(\d+) +[\d.]+ ", text, re.MULTILINE)
    assert rows == ["1", "2", "4", "8", "16", "32", "60"]


def test_infinite_losses_are_said_with_the_finite_part():
    """`inf` in a column, or a number that hides it, would be read past."""
    text = regret_summary(regret_result("reckless", num_steps=60))
    assert re.search(r"^expected regret +infinite +N/A +infinite$", text, re.MULTILINE)
    assert re.search(r"^realised regret, finite part +-?\d", text, re.MULTILINE)
    assert re.search(r"Infinite losses: at \d+ of 180 steps something happened", text)
    assert "nan" not in text
    assert "inf " not in text


def test_the_curve_falls_as_the_learner_learns():
    """A mark is the mean over as many steps as it says, highest at full height."""
    line, _, scale = curve(regret_result(seeds=tuple(range(50)), num_steps=100)).partition("  ")
    assert scale.endswith("nats, a mark is 2 steps")
    assert len(line) == 50
    assert line[0] == "█"
    heights = [" ▁▂▃▄▅▆▇█".index(mark) for mark in line]
    assert sum(heights[:10]) > 2 * sum(heights[-10:]) > 0


@pytest.mark.parametrize(("contestant", "marks"), [("oracle", {" "}), ("reckless", {"!"})])
def test_the_curve_of_nothing_and_of_the_infinite(contestant, marks):
    line, _, scale = curve(regret_result(contestant)).partition("  0 to ")
    assert set(line) == marks
    assert scale == "0.000 nats, a mark is 1 step"


def test_a_verdict_begins_with_its_status_and_says_why():
    text = regret_verdict_summary(verdict("oracle", "mixed"))
    assert text.startswith("FAIL\n")
    assert "the gate decides on it" in text
    assert re.search(r"interval of the change: \+0\.\d+ to \+0\.\d+ \(paired Student-t, 3", text)
    assert "Minimum detectable effect of these 3 episodes" in text
    assert re.search(r"^Expected regret: 0\.000 -> .* allowed increase 0$", text, re.MULTILINE)
    assert re.search(r"over steps t\+1 to t\+\d+: .*; largest of 60 increases, between", text)
    assert "increases up to 1e-06 count as none" in text
    assert regret_verdict_summary(verdict("mixed", "oracle")).startswith("PASS\n")


def test_a_loss_at_the_first_step_alone_is_not_said_to_be_over_steps():
    """`over steps t+1 to t+1` reads like a fault."""
    text = regret_verdict_summary(verdict("mixed", "kt", max_regret_increase=9))
    assert re.search(r"^Expected regret at t\+1: ", text, re.MULTILINE)


def test_an_infinite_loss_is_the_first_reason():
    text = regret_verdict_summary(verdict("oracle", "reckless"))
    assert "Regression detected:\nInfinite loss: the candidate ruled out what happened at" in text
    assert "0.000 -> infinite" in text


@pytest.mark.parametrize("contestant", CONTESTANTS)
def test_reports_are_tables_with_one_width(contestant):
    """A cell with a bar in it, or a missing one, breaks a table."""
    result = dataclasses.replace(
        regret_result(contestant, num_steps=60), contestant="a|b\n<b>c", world="*w*"
    )
    baseline = dataclasses.replace(regret_result("oracle", num_steps=60), world="*w*")
    comparison = compare_regret(baseline, result)
    outcome = decide_regret(comparison, RegretThresholds())
    for text in (
        regret_report(result),
        regret_report(result, comparison),
        regret_gate_report(outcome),
    ):
        assert "# Regret of a\\|b\\\\n&lt;b>c in \\*w\\*" in text or text.startswith("# Gate: ")
        widths = {}
        for number, line in enumerate(text.splitlines()):
            if line.startswith("|"):
                start = number if number - 1 not in widths else widths[number - 1][0]
                width = line.replace("\\|", "").count("|")
                widths[number] = (start, width)
                assert width == widths[start][1]
        assert len(widths) >= 4
        assert result.world_sha256 in text
