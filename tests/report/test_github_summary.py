from __future__ import annotations

from tests.records.results import simple_suite
from wbgpu.report.github_summary import github_summary
from wbgpu.report.markdown import gate_report
from wbgpu.report.noninferiority import evidence_report
from wbgpu.sdk import gate

REPORT = gate_report(gate(simple_suite({"a": [80.0]}), simple_suite({"a": [70.0]})))


def test_the_verdict_and_its_reasons_are_not_folded():
    text = github_summary("FAIL", REPORT)
    shown, _, folded = text.partition("<details>")
    assert shown.startswith("## ❌ Gate: FAIL\n")
    assert "## Regression detected" in shown
    assert "Metric visual_similarity: 80.00 -> 70.00" in shown
    assert "## Metrics" not in shown
    assert "## Metrics" in folded
    # GitHub renders Markdown in it only after an empty line.
    assert "</summary>\n\n## " in folded
    assert text.endswith("</details>\n")


def test_a_long_report_is_cut_below_githubs_limit():
    """GitHub drops the whole summary of a step when it is too long."""
    text = github_summary("PASS", REPORT + "é | row |\n" * 200_000)
    assert len(text.encode()) < 1 << 20
    assert "Cut here" in text
    assert text.endswith("</details>\n")


def test_evidence_and_warnings_are_not_folded():
    """PASS without a number, or INCONCLUSIVE without an interval, has to be unfolded to be used."""
    side = simple_suite({f"e{i}": [80.0 + i] for i in range(8)})
    text = github_summary("PASS", evidence_report(gate(side, side, policy="noninferiority")))
    shown, _, folded = text.partition("<details>")
    for part in (
        "Composite Score: 83.50 -> 83.50",
        "Metric coverage",
        "| composite |",
        "same pred",
    ):
        assert part in shown
    assert folded.count("## Metrics") == 1
