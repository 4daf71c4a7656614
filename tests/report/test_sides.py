from __future__ import annotations

from dataclasses import replace

import pytest

from tests.records.results import available, episode, failed, simple_suite, suite
from wbgpu.records.suite import SuiteResult
from wbgpu.report.console import result_summary, verdict_summary
from wbgpu.report.markdown import gate_report
from wbgpu.report.sides import differing_settings, direction_of, episodes_note
from wbgpu.sdk import compare, gate


def _suite(visual: float, **others: float) -> SuiteResult:
    """One episode; names that end with ``mse`` are better when lower."""
    outcomes = [available("visual_similarity", [visual])]
    found = suite([episode("a", [*outcomes, *(available(n, [v]) for n, v in others.items())], 1)])
    infos = {
        name: replace(info, higher_is_better=not name.endswith("mse"))
        for name, info in found.metric_infos.items()
    }
    return replace(found, metric_infos=infos)


def test_a_pass_names_what_got_worse_without_a_gate() -> None:
    """PASS over a worse dynamic_mse reads as: nothing got worse."""
    before = _suite(50.0, dynamic_mse=100.0, psnr=30.0, ssim=0.5, skill_persistence=0.2)
    after = _suite(60.0, dynamic_mse=110.0, psnr=29.0, ssim=0.6, skill_persistence=0.19)
    verdict = gate(before, after)
    line = (
        "Not gated and worse: dynamic_mse, psnr, skill_persistence "
        "(by more than 1%, a skill by more than 0.005)"
    )
    text = verdict_summary(verdict).splitlines()
    assert text[:2] == ["PASS", line]
    assert "Other metrics (not gated):" in text
    report = gate_report(verdict)
    assert f"- **{line}**" in report.split("##")[0]
    assert "## No threshold exceeded" in report
    assert "| dynamic_mse | 100 | 110 | +10 | worse | dB | lower | 1 |" in report
    assert "| ssim | 0.500 | 0.600 | +0.100 | better | dB | higher | 1 |" in report


def test_trivial_changes_are_not_named_as_worse() -> None:
    """A line that always names half of the metrics is not read."""
    before = _suite(50.0, mse=100.0, skill_persistence=0.2)
    after = _suite(50.0, mse=100.9, skill_persistence=0.196)
    assert "Not gated" not in verdict_summary(gate(before, after)).splitlines()[1]


@pytest.mark.parametrize(
    ("change", "higher", "text"),
    [(1.0, True, "better"), (1.0, False, "worse"), (-1.0, True, "worse"), (0.0, False, "same")],
)
def test_direction(change: float, higher: bool, text: str) -> None:
    """A rising error is worse."""
    assert direction_of(change, higher) == text


def test_thresholds_and_tolerance_are_shown() -> None:
    """A drop of 0.008 that passes a threshold of 0 else looks like a mistake."""
    verdict = gate(simple_suite({"a": [50.0]}), simple_suite({"a": [49.992]}), max_metric_drop=1.5)
    wanted = "drops up to 0.01 count as unchanged"
    assert (
        "Thresholds: max_overall_drop 0, max_metric_drop 1.5, max_horizon_drop 0; " + wanted
        in verdict_summary(verdict)
    )
    assert wanted in gate_report(verdict).split("## Thresholds")[1]


def test_the_console_says_how_small_a_change_could_be_seen() -> None:
    """Are we sure? is the next question after every verdict."""
    before, after = simple_suite({"a": [50.0], "b": [60.0]}), simple_suite({"a": [51.0], "b": [63]})
    text = verdict_summary(gate(before, after))
    assert "Minimum detectable effect of these 2 episodes: 16.33 points" in text


def test_a_change_over_other_episodes_says_so() -> None:
    """60 over one episode against 55 over two is no progress."""
    before = simple_suite({"a": [60.0], "b": [50.0]})
    after = suite([*simple_suite({"a": [60.0]}).episodes, failed("b")])
    verdict = gate(before, after)
    assert "Change: +5.00 (over 2 and 1 episodes)" in verdict_summary(verdict)
    report = gate_report(verdict)
    assert "55.00 -> 60.00 (+5.00, over 2 and 1 episodes)" in report
    assert "| +5.00 | better | score | higher | over 2 and 1 episodes |" in report


def test_as_many_but_other_episodes_are_told_too() -> None:
    """Equal counts hide it."""
    a, b = simple_suite({"a": [60.0], "b": [50.0]}).episodes
    comparison = compare(suite([a, failed("b")]), suite([failed("a"), b]))
    assert episodes_note(comparison) == "over 1 episodes each, not the same ones"
    assert episodes_note(comparison, "visual_similarity") == episodes_note(comparison)
    assert episodes_note(compare(suite([a, b]), suite([a, b]))) == ""


def test_metrics_and_weights_that_differ_are_named() -> None:
    """'enabled metric sets differ' alone sends the reader into two files."""
    both = simple_suite({"a": [60.0]})
    weights = {"visual_similarity": 0.5, "temporal_stability": 0.2}
    fewer = replace(both, enabled_metrics=tuple(weights), configured_weights=weights)
    comparison = compare(both, fewer)
    assert differing_settings(comparison) == [
        "Enabled in the baseline only: action_consistency, object_permanence, contact_realism",
        "Weights differ: visual_similarity 0.25 and 0.5",
    ]
    verdict = gate(both, fewer)
    for text in (verdict_summary(verdict), gate_report(verdict).replace("- Weights", "Weights")):
        assert "Weights differ: visual_similarity 0.25 and 0.5" in text.splitlines()


def test_means_are_called_means_and_directions_are_said() -> None:
    """Beside a median and a falling error, a bare number is read wrongly."""
    lines = result_summary(_suite(50.0, mse=100.0)).splitlines()
    assert "mse                mean 100 dB  1/1  lower is better" in lines
    assert "visual_similarity  mean 50.00 score  1/1" in lines
