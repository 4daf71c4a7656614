from __future__ import annotations

from tests.report.corruption_studies import BETTER, BY_CHANCE, SAME, WORSE, study
from wbgpu.report.corruption_markdown import corruption_report, corruption_summary

MIXED = {
    "freeze": {"psnr": WORSE, "mse": BETTER},
    "flicker": {"psnr": SAME, "mse": WORSE},
    "noise": {"psnr": BY_CHANCE, "mse": SAME},
}


def test_what_is_seen_by_which_metric_and_by_none():
    """The first thing a team looks for; a mean that moved by chance is not seen."""
    found = study(MIXED)
    assert found.seen_by("freeze") == ("psnr", "mse")
    assert found.unseen == ("flicker", "noise")
    report = corruption_report(found, [("Values", "values.png")])
    assert (
        "- freeze: seen best by mse, psnr" in report or "- freeze: seen best by psnr, mse" in report
    )
    assert "- flicker: **no metric sees it**" in report
    assert "- psnr is blind to flicker" in report
    assert "- mse rewards flicker and is blind to noise" in report
    assert "![Values](values.png)" in report
    assert "stands for the prediction" in report
    assert "Each fault is put into the predictions" in corruption_report(
        study(MIXED, predictions="step900"), []
    )


def test_where_the_order_fails_is_said_with_the_number_of_episodes():
    report = corruption_report(
        study({"x": {"psnr": [[60, 20, 40], [60, 30, 20], [60, 20, 50]]}}), []
    )
    assert "- psnr improves from severity 0.5 to 1: 23.33 to 36.67, in 2 of 3 episodes" in report


def test_why_values_and_episodes_are_missing_is_said():
    found = study(
        {"x": {"psnr": [[None, None, None]]}}, reason="No | context.", failures={"e9": "cut off"}
    )
    report = corruption_report(found, [])
    assert "- psnr: No \\| context." in report
    assert "- e9: cut off" in report
    # No row of nothing for a metric that the whole suite has no use for.
    assert "| psnr" not in report


def test_the_console_has_a_line_for_each_fault():
    lines = corruption_summary(study(MIXED, predictions="step900")).splitlines()
    assert lines[0].startswith(
        "3 episodes of gt, step900 corrupted, 4 context frames; severities 0.5"
    )
    (flicker,) = [line for line in lines if line.startswith("flicker")]
    assert flicker.split("  ")[1:] != []
    assert "0 of 2 metrics" in flicker
    assert "no metric" in flicker
    assert flicker.endswith("mse")
    assert lines[-1] == "Seen by no metric: flicker, noise."
