from __future__ import annotations

import re

from tests.aggregate.sweeps import entry, flat, scored
from tests.records.regret_results import regret_result
from wbgpu.aggregate.sweep import rank_sweep
from wbgpu.records.sweep import LeftOut, SweepEntry
from wbgpu.report.sweep_markdown import sweep_lines, sweep_report

FAILED = LeftOut(9, "x=a|b", "sweep/9", "failed", "InputError: no\nfolder")


def test_the_report_says_who_is_best_who_is_not_told_apart_and_who_is_missing() -> None:
    """The three questions of a sweep."""
    entries = [
        flat(0, 50, 60, 70, 55, 65, 45, 50),
        flat(1, 51, 60.5, 70.2, 55.3, 65, 45, 50),
        flat(2, 40, 51, 60, 44, 55, 34, 41),
    ]
    text = sweep_report(rank_sweep(entries, [FAILED], baseline=2), "nightly", "sweep_report.png")
    assert text.startswith("# Sweep nightly\n")
    assert "Best of 3 by composite (score, higher is better): job 1 (x=1), mean 56.71" in text
    assert "These episodes do not tell it from: job 0 (x=0)." in text
    assert "| 1 to 2 | 0 | x=0 | step00900 | 56.43 | -0.29 (" in text
    assert "| 3 | 2 | x=2 | step00900 | 46.43 | -10.29 (" in text
    assert "), worse | baseline |" in text
    assert "1 of 4 jobs are not ranked." in text
    assert r"| 9 | x=a\|b | failed | InputError: no\\nfolder |" in text
    assert "significant among all pairs of jobs" in text
    assert "![metric x horizon](sweep_report.png)" in text


def test_without_a_picture_none_is_shown() -> None:
    ranking = rank_sweep([flat(0, 50, 60), flat(1, 40, 50)])
    assert "![" not in sweep_report(ranking, "s", None)


def test_the_extremes_of_a_job_name_metric_and_horizon() -> None:
    """Where it got better and worse is what to look at next."""
    entries = [
        scored(0, {"a": [60, 50], "b": [60.5, 50.5]}),
        scored(1, {"a": [61, 40], "b": [61.2, 41]}),
    ]
    text = sweep_report(rank_sweep(entries), "s", None)
    assert "composite at t+1: +0.85 score, higher is better (+5.7)" in text
    assert "composite at t+2: -9.75 score, higher is better (beyond -10)" in text


def test_lower_regret_is_better() -> None:
    """With the sign left as it is, the worse contestant would be praised."""
    entries = [
        SweepEntry(job, name, name, regret_result(name, seeds=range(6)))
        for job, name in enumerate(("oracle", "mixed"))
    ]
    text = sweep_report(rank_sweep(entries), "s", None)
    row = next(line for line in text.splitlines() if line.startswith("| job 1 (mixed) |"))
    assert row.split("|")[2].strip() == "nowhere"
    worst = row.split("|")[3]
    # More nats, and worse: the number alone would read as a gain.
    assert re.search(r"expected_regret at t\+\d+: \+[\d.]+ nats.*, lower is better \(.*-", worst)


def test_the_console_says_the_same() -> None:
    entries = [flat(0, *range(50, 71, 4)), entry(1, flat(1, 20, 24, 28, 31, 36, 41).result)]
    lines = sweep_lines(rank_sweep(entries, [FAILED], baseline=1)).splitlines()
    assert lines[1] == "Every other ranked job is worse."
    assert lines[4].split()[:4] == ["Rank", "Job", "Mean", "Change"]
    assert lines[5].split()[:4] == ["1", "0", "60.00", "best"]
    assert r"  job 9 (x=a|b): failed: InputError: no\nfolder" in lines


def test_one_job_is_no_comparison() -> None:
    """Its table has nothing in brackets to explain."""
    text = sweep_report(rank_sweep([flat(0, 50, 60)]), "s", None)
    assert "In brackets" not in text
    assert "worse" not in text
