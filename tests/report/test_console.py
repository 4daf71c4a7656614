from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest

from tests.records.golden import result
from tests.records.results import failed, simple_suite, suite
from tests.report.skills import with_skill
from wbgpu.report.console import result_summary, verdict_summary
from wbgpu.sdk import gate

LONG = "a very long episode name that goes on and on, deeper/and/deeper, beyond eighty columns.mp4"


@pytest.mark.parametrize("index", [0, 1, 2])
def test_a_verdict_states_worldbenchs_facts_in_its_order(shared: Path, index: int) -> None:
    """Scripts grep for its lines; ours have the same words and more digits."""
    case = json.loads((shared / "golden/expected/gate.json").read_text())[index]
    pair = [
        result(shared / f"golden/raw/batch_pypi_{case[side].split('_')[1]}_skip0.json.gz")
        for side in ("baseline", "candidate")
    ]
    ours = verdict_summary(gate(*pair)).splitlines()
    assert ours[0] == case["status"]
    position = 0
    shape = re.compile(r"Horizon t\+\d+ (\w+): [\d.]+ -> [\d.]+ \(-[\d.]+\); threshold 0")
    for line in filter(None, case["stdout"].splitlines()):
        if horizon := shape.match(line):
            # worldbench lists the first horizons, ours the worst one of each metric.
            assert [m[1] for m in map(shape.match, ours) if m].count(horizon[1]) == 1
            continue
        found = [i for i in range(position, len(ours)) if _same_fact(ours[i], line)]
        assert found, line
        position = found[0]


def _same_fact(ours: str, theirs: str) -> bool:
    """The same words, and numbers that differ by no more than their rounding to one decimal."""
    number = r"(?<![\w.+])[+-]?\d+(?:\.\d+)?(?![\w.])"
    if re.sub(number, "#", ours) != re.sub(number, "#", theirs):
        return False
    pairs = zip(re.findall(number, ours), re.findall(number, theirs), strict=True)
    return all(abs(float(one) - float(other)) < 0.0551 for one, other in pairs)


def test_lines_do_not_wrap_and_have_no_markup() -> None:
    """worldbench wraps at 80 columns when piped, so that grep misses."""
    batch = simple_suite({LONG: [50.0], "b[red]": [60.0]})
    text = result_summary(batch)
    assert f"  {LONG}: 50.00" in text.splitlines()
    assert "b[red]: 60.00" in text
    assert "\x1b" not in text


def test_p75_unavailable_metrics_print_na_and_the_reason() -> None:
    """A 0 would be read as the worst score."""
    text = result_summary(simple_suite({"a": [50.0]}))
    assert re.search(r"^contact_realism +N/A  0/1  does not apply$", text, re.MULTILINE)


def test_p05_p07_a_batch_states_its_spread_and_an_evaluation_its_score() -> None:
    """And both how much of the composite was measured."""
    batch = result_summary(simple_suite({"a": [50.0], "b": [60.0]}))
    assert "Composite Score mean: 55.00" in batch
    assert "Metric coverage: 1 of 5 configured metrics" in batch
    assert "Configured weight coverage: 25%" in batch
    single = result_summary(simple_suite({"a": [50.0]}, result_type="evaluation"))
    assert "Composite Score: 50.00" in single


def test_a_warning_about_many_episodes_is_one_line() -> None:
    """A thousand arrays without a frame rate hid the one video that was resized."""
    alike = [
        dataclasses.replace(episode, warnings=("no rate",))
        for episode in simple_suite({"a": [50.0], "b": [50.0], "c": [50.0]}).episodes
    ]
    other = dataclasses.replace(simple_suite({"d": [50.0]}).episodes[0], warnings=("resized",))
    lines = result_summary(suite([*alike, other])).splitlines()
    assert lines[lines.index("Warnings:") + 1 :] == ["  a and 2 more: no rate", "  d: resized"]


def test_failed_episodes_are_counted_and_named() -> None:
    """A mean over what is left must say what is missing."""
    text = result_summary(suite([*simple_suite({"a": [50.0]}).episodes, failed("b", "b: broken")]))
    assert "Episodes evaluated: 1 (1 of 2 failed)" in text
    assert "  b: VideoError: b: broken" in text


def test_demo_notices_come_first() -> None:
    """P22: nobody may take the demo's numbers for a model's."""
    demo = simple_suite({"a": [50.0]}, notes=("Not a benchmark result.",))
    assert result_summary(demo).startswith("Not a benchmark result.\n")


def test_a_tiny_regression_is_visible() -> None:
    """worldbench prints 'Change: -0.0' for it."""
    verdict = gate(simple_suite({"a": [50.0]}), simple_suite({"a": [49.996]}))
    assert "Change: -0.004" in verdict_summary(verdict)


def test_both_checkpoints_are_held_against_copying() -> None:
    """A gain over a baseline that loses to a copy is not yet good."""
    before, after = with_skill([[-0.1, 0.2]]), with_skill([[0.1, 0.2]], "step00900")
    text = verdict_summary(gate(before, after))
    assert (
        "Baseline: Worse than copying the last frame (whole frame) at t+1 "
        "(median step skill < -0.005), each step judged alone." in text
    )
    assert "Candidate: Worse than copying the last frame (whole frame): at no horizon, " in text
    assert "skill_persistence: mean 0.200 -> 0.200 skill (+0.000, higher is better)" in text


def test_a_result_without_any_score_prints_na() -> None:
    """Missing is not 0.00."""
    nothing = suite([failed("a")])
    assert "Composite Score: N/A" in result_summary(nothing)
    assert "Change: N/A" in verdict_summary(gate(nothing, nothing))


def test_an_interval_is_stated() -> None:
    """With its draws and its episodes, without which it says little."""
    pair = simple_suite({"a": [50.0]}), simple_suite({"a": [51.0]})
    text = verdict_summary(gate(*pair, bootstrap_samples=100))
    assert (
        "Interval of the change (95%): +1.00 to +1.00 (100 bootstrap samples, 1 episodes)" in text
    )
    assert "small episode count" in text
