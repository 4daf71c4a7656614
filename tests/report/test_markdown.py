from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.records.golden import result
from tests.records.results import available, episode, failed, simple_suite, suite, unsupported
from tests.report.skills import with_skill
from wbgpu.records.profile import REASONS_WITHOUT_SIGNALS
from wbgpu.records.suite import Provenance
from wbgpu.report.markdown import gate_report, result_report
from wbgpu.sdk import gate

BATCH = simple_suite({"a|b.mp4": [60.0, 50.0], "c.mp4": [80.0, 70.0]})


def test_p07_the_headline_says_score_coverage_and_skill() -> None:
    """The question of the reader: how good, how much of it measured, better than a copy?"""
    text = result_report(with_skill([[-0.1, -0.2, 0.3]] * 3))
    head = text.split("##")[0]
    assert "**Composite score: 71.00** of 100" in head
    assert "Metric coverage: 1 of 5 configured metrics" in head
    assert "at t+1 to t+2 (median step skill < -0.005), each step judged alone.**" in head


def test_every_table_row_has_as_many_cells_as_its_header() -> None:
    """A pipe in an episode id must not shift the columns."""
    partial = suite([*BATCH.episodes, failed("d|e", "d|e: broken\nbadly")])
    lines = (
        result_report(partial, BATCH).splitlines() + gate_report(gate(BATCH, BATCH)).splitlines()
    )
    width = 0
    rows = 0
    for line in lines:
        cells = line.replace("\\|", "").count("|")
        width = width if line.startswith("|") and width else cells
        assert cells == width, line
        rows += cells > 0
        width = cells
    assert rows > 20


def test_p75_unavailable_metrics_are_na_with_the_reason() -> None:
    """A 0 would be read as the worst score."""
    text = result_report(BATCH)
    assert "| contact_realism | score | higher | N/A | N/A | N/A | 0/2 |" in text
    assert "- contact_realism, N/A in 2 episodes: does not apply" in text


def test_horizons_show_both_views_and_the_median_of_a_skill() -> None:
    """The mean of a skill is ruled by one still episode."""
    text = result_report(with_skill([[0.5, 0.1], [0.3, 0.2], [-90.0, 0.3]]))
    assert (
        "| visual_similarity, prefix | skill_persistence, prefix | skill_persistence, step |"
        in text
    )
    assert "| t+1 | 3 | 71.00 | 0.300 | 0.300 | 1/3 |" in text


def test_many_horizons_are_thinned_and_keep_both_ends() -> None:
    """300 rows are not read, and the last horizon is the worst."""
    text = result_report(simple_suite({"a": [50.0] * 300}))
    rows = [line for line in text.splitlines() if line.startswith("| t+")]
    assert rows[0].startswith("| t+1 |")
    assert rows[-1].startswith("| t+300 |")
    assert len(rows) <= 65


def test_worst_episodes_come_with_their_reason() -> None:
    """A low number alone does not say where to look."""
    weak = available("visual_similarity", [30.0], issues=("Frames diverge.",))
    text = result_report(suite([episode("a", [weak], 1), *simple_suite({"b": [90.0]}).episodes]))
    assert "| a | 30.00 | visual_similarity 30.00: Frames diverge. |" in text


def test_failed_episodes_come_before_the_numbers() -> None:
    """The numbers are without them."""
    text = result_report(suite([*BATCH.episodes, failed("d", "d: broken")]))
    assert "**1 failed**" in text
    assert text.index("## Failed episodes") < text.index("## Metrics")
    assert "| d | VideoError: d: broken |" in text


def test_changes_against_a_baseline_say_which_way_is_better() -> None:
    """A rising MSE is worse, a rising score better."""

    def batch(visual: float, mse: float) -> object:
        found = suite(
            [episode("a", [available("visual_similarity", [visual]), available("mse", [mse])], 1)]
        )
        info = replace(found.metric_infos["mse"], higher_is_better=False)
        return replace(found, metric_infos={**found.metric_infos, "mse": info})

    text = result_report(batch(60.0, 5.0), batch(50.0, 4.0))  # type: ignore[arg-type]
    assert "| composite | 50.00 | 60.00 | +10.00 | better |" in text
    assert "A change is no verdict: `wbgpu gate --baseline" in text
    assert "| mse | 4 | 5 | +1 | worse |" in text


def test_changes_are_not_shown_across_other_episodes_or_definitions() -> None:
    """They would be changes of the suite or of the metric."""
    assert "no change is shown" in result_report(BATCH, simple_suite({"x": [50.0]}))
    info = replace(BATCH.metric_infos["visual_similarity"], metric_id="visual_similarity/luma")
    other = replace(BATCH, metric_infos={**BATCH.metric_infos, "visual_similarity": info})
    text = result_report(BATCH, other).split("## Change against")[1].split("##")[0]
    assert "so no change is shown: visual_similarity, and so the composite.**" in text
    assert "defined otherwise: visual_similarity/luma" in text
    assert "| composite |" not in text


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"num_context": 0}, "after 0 and after 4 context frames, so no change"),
        ({"dataset_identifier": "sha256:ff"}, "other ground truth, so no change is shown"),
    ],
)
def test_changes_are_not_shown_across_other_frames(changes: dict[str, Any], reason: str) -> None:
    """Equal names hide that other frames were scored."""
    text = result_report(BATCH, replace(BATCH, **changes))
    assert reason in text
    assert "| composite |" not in text


def test_p36_protocol_and_provenance_make_it_repeatable() -> None:
    """Each fact that is missing here is a reason why nobody gets the same number again."""
    provenance = Provenance(
        environment={"python": "3.11", "torch": "2.8"},
        device="cpu",
        statistics_path="cpu",
        decoder="decord",
        input_sha256={},
        configuration={},
        configuration_file="wbgpu.yml",
        command="wbgpu eval-batch",
    )
    text = result_report(replace(BATCH, provenance=provenance))
    for fact in (
        "wbgpu 0.1.0 at 2026",
        "sha256:00",
        f"Composite configuration hash: {BATCH.configuration_hash}",
        "Context frames, not scored: 4",
        "visual_similarity/worldbench-1.0",
        "Resize policy: refuse",
        "Decoder: decord",
        "torch 2.8",
        "Configuration file: wbgpu.yml",
        "Command: wbgpu eval-batch",
    ):
        assert fact in text, fact


def test_p02_p07_p17_p18_a_pair_reports_its_alignment(shared: Path) -> None:
    """Frames that were trimmed or resized explain a score."""
    found = result(shared / "data/worldbench_artifacts/fixtures_v0_4_1/saved_video/result.json")
    text = result_report(found)
    assert "Ground truth: tests/fixtures/v0_4_1/saved_video/demo_inputs/ground_truth.mp4" in text
    assert "Ground-truth video: 8 frames, 0 trimmed, 48x32, 6 fps" in text
    assert "Metric coverage: 2 of 5" in text
    assert "Configured weight coverage: 45%" in text
    assert "Not in the composite: action_consistency, object_permanence, contact_realism" in text
    assert text.count("**") > 2, "its demo notices"


def test_a_gate_report_says_verdict_reasons_and_uncertainty() -> None:
    """And how small a change these episodes can show."""
    worse = simple_suite({"a|b.mp4": [60.0, 40.0], "c.mp4": [80.0, 61.0]})
    verdict = gate(BATCH, worse, bootstrap_samples=200, max_horizon_drop=3.0)
    text = gate_report(verdict)
    assert text.startswith("# Gate: FAIL\n")
    assert "**Composite score: 60.00 -> 50.50 (-9.50)**" in text
    assert "- Horizon t+2 visual_similarity: 60.00 -> 50.50 (-9.50); threshold 3" in text
    assert "95 % interval of the change: -10.00 to -9.00" in text
    assert "Minimum detectable effect of these 2 episodes: 8.17 points" in text
    assert "| a\\|b.mp4 | 50.00 | 40.00 | -10.00 |" in text
    assert "max_horizon_drop: 3" in text


def test_a_passing_gate_report_names_no_regression() -> None:
    """An empty list of reasons could also be a bug."""
    text = gate_report(gate(BATCH, BATCH))
    assert text.startswith("# Gate: PASS\n")
    assert "No configured regression threshold was exceeded." in text


def test_few_episodes_are_listed_once_and_many_by_what_they_are() -> None:
    """'Worst' over episodes that all gained, and the same five again as 'best', confuse."""
    few = gate_report(gate(BATCH, BATCH))
    assert few.count("| c.mp4 |") == 1
    assert "## Episodes, lowest change first" in few
    ids = [f"e{index:02}" for index in range(12)]
    before = simple_suite({name: [50.0] for name in ids})
    for sign, titles in (
        (1.0, ("## Smallest gains", "## Largest gains")),
        (-1.0, ("## Largest drops", "## Smallest drops")),
    ):
        after = simple_suite({name: [50.0 + sign * (1 + i)] for i, name in enumerate(ids)})
        text = gate_report(gate(before, after))
        assert all(title in text for title in titles)
    mixed = simple_suite({name: [44.5 + index] for index, name in enumerate(ids)})
    text = gate_report(gate(before, mixed))
    assert "## Largest drops" in text
    assert "## Largest gains" in text


def test_provenance_of_both_sides_is_printed_once_where_it_is_equal() -> None:
    """Twenty equal lines hide the one that differs."""
    text = gate_report(gate(BATCH, replace(BATCH, predictions_root="other", checkpoint_name="n")))
    assert text.count("Ground-truth identity") == 1
    assert "## Baseline: step00900\n\n- Predictions: pred\n" in text
    assert "## Candidate: n\n\n- Predictions: other\n" in text


def test_a_gate_report_names_the_file_of_its_thresholds() -> None:
    """A file in the working folder can turn a FAIL into a PASS."""
    verdict = gate(BATCH, BATCH)
    assert "- Configuration file: conf/wbgpu.yml" in gate_report(verdict, "conf/wbgpu.yml")
    assert "- Configuration file: none" in gate_report(verdict)


def test_metrics_that_plain_videos_cannot_have_are_explained() -> None:
    """'No actions aligned' to somebody who gave actions reads like a mistake of theirs."""
    reason = REASONS_WITHOUT_SIGNALS["action_consistency"]
    outcomes = [
        available("visual_similarity", [50.0]),
        unsupported("action_consistency", reason),
        unsupported("contact_realism", "switched off"),
    ]
    text = result_report(suite([episode("a", outcomes, 1)]))
    assert "- action_consistency: plain videos never have these." in text
    assert "plain videos" not in result_report(BATCH)
