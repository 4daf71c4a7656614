"""Evidence against margins as a table of a page."""

from __future__ import annotations

from wbgpu.records.comparison import Status, Verdict
from wbgpu.records.regret_comparison import RegretVerdict
from wbgpu.report.evidence_lines import EVIDENCE_ALIGN, EVIDENCE_HEADER, evidence_rows
from wbgpu.report.html.page import Table, table

STATUS_TITLES: dict[Status, str] = {
    "PASS": "No threshold was exceeded.",
    "FAIL": "Regression detected:",
    "INCONCLUSIVE": "These episodes do not decide:",
}


def evidence_table(verdict: Verdict | RegretVerdict) -> Table | None:
    """What was held against margins; ``None`` of policies that hold nothing against any."""
    if not verdict.evidence:
        return None
    rows = evidence_rows(verdict.evidence)
    return table(
        "Evidence against margins", EVIDENCE_ALIGN, EVIDENCE_HEADER, rows, anchor="evidence"
    )
