"""``wbgpu gate --policy``, ``wbgpu compare``: flags, exit codes, files."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.records.regret_results import regret_result
from tests.records.results import simple_suite
from wbgpu.cli.main import run
from wbgpu.sdk import save_result

NOISE = np.random.default_rng(0).normal(0.0, 0.5, (3, 10))


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Result files by name, in the current folder."""
    monkeypatch.chdir(tmp_path)
    for index, (name, shift) in enumerate((("base", 0.0), ("same", 0.0), ("worse", -4.0))):
        scores = {f"s{i // 2}/e{i}": [60.0 + shift + noise] for i, noise in enumerate(NOISE[index])}
        save_result(simple_suite(scores, checkpoint_name=name), f"{name}.json")
    for name in ("oracle", "mixed"):
        save_result(regret_result(name, seeds=tuple(range(8))), f"{name}.json")
    return tmp_path


def gate(*arguments, baseline="base", candidate="same"):
    return run(
        ["gate", "--baseline", f"{baseline}.json", "--candidate", f"{candidate}.json", *arguments]
    )


MARGINS = ("--policy", "noninferiority")


@pytest.mark.parametrize(
    ("candidate", "arguments", "code", "word"),
    [
        ("same", ("--margin", "1"), 0, "PASS"),
        ("worse", ("--margin", "1"), 1, "FAIL"),
        ("same", ("--margin", "0"), 3, "INCONCLUSIVE"),
        ("same", ("--margin", "0", "--fail-inconclusive"), 1, "FAIL"),
        ("worse", ("--margin", "9", "--interval", "student_t"), 0, "PASS"),
    ],
)
def test_exit_codes_and_the_first_line(results, capsys, candidate, arguments, code, word):
    assert gate(*MARGINS, *arguments, candidate=candidate) == code
    output = capsys.readouterr().out
    assert output.startswith(f"{word}\n")
    assert "composite: minimum detectable effect of 10 episodes" in output
    document = json.loads((results / ".wbgpu/gates/latest/gate.json").read_text())
    assert document["status"] == word
    assert document["wbgpu"]["policy"] == "noninferiority"
    assert document["wbgpu"]["evidence"][0]["minimum_detectable_effect"] > 0
    report = (results / ".wbgpu/gates/latest/gate.md").read_text()
    assert report.startswith(f"# Gate: {word}\n")


def test_how_many_episodes_would_decide_is_printed(results, capsys):
    gate(*MARGINS, "--margin", "0.1")
    output = capsys.readouterr().out
    assert "such episodes in all would decide it" in output
    assert "an unchanged candidate passes with" in output


def test_clusters_by_file_and_by_pattern(results, capsys):
    lines = [f"s{i // 2}/e{i},{'abcde'[i // 2]}" for i in range(10)]
    (results / "scenes.csv").write_text("\n".join(["episode_id,scene", *lines]))
    outputs = []
    for arguments in (("--clusters", "scenes.csv"), ("--cluster-pattern", "^([^/]+)/")):
        gate(*MARGINS, *arguments)
        outputs.append(capsys.readouterr().out.partition("Saved")[0])
    assert outputs[0] == outputs[1]
    assert "10 episodes in 5 clusters" in outputs[0]


def test_pixels_and_regret_in_one_verdict(results, capsys):
    regret = ("--baseline-regret", "oracle.json", "--candidate-regret", "mixed.json")
    assert gate(*MARGINS, *regret) == 1
    assert "regret: " in capsys.readouterr().out
    assert gate(*MARGINS, *regret, "--regret-margin", "9") == 0


def test_regret_alone(results, capsys):
    sides = {"baseline": "oracle", "candidate": "mixed"}
    assert gate(*MARGINS, **sides) == 1
    assert gate(*MARGINS, "--regret-margin", "9", **sides) == 0
    assert json.loads((results / ".wbgpu/gates/latest/gate.json").read_text())["evidence"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((*MARGINS, "--max-overall-drop", "1"), "--max-overall-drop does not apply"),
        (("--margin", "1"), "--margin does not apply under the policy worldbench"),
        (("--clusters", "x.csv"), "--clusters does not apply under the policy worldbench"),
        (("--clusters", "x.csv"), "use --policy noninferiority"),
        (("--policy", "nonsense"), "unknown policy"),
        ((*MARGINS, "--margin", "nan"), "finite"),
        ((*MARGINS, "--metric-margin", "psnr"), "METRIC=NUMBER"),
        ((*MARGINS, "--metric-margin", "psnr=x"), "METRIC=NUMBER"),
        ((*MARGINS, "--metric-margin", "lpips=1"), "no such metric"),
        ((*MARGINS, "--baseline-regret", "oracle.json"), "both or neither"),
        ((*MARGINS, "--cluster-column", "task"), "needs --clusters"),
        ((*MARGINS, "--cluster-pattern", "(", "--clusters", "x"), "give one of them"),
        ((*MARGINS, "--cluster-pattern", "^zzz"), "does not match"),
    ],
)
def test_wrong_usage_exits_with_2_and_says_why(results, capsys, arguments, words):
    assert gate(*arguments) == 2
    assert words in capsys.readouterr().err


def test_limits_of_a_project_file_that_the_policy_has_no_place_for_are_left_out(results, capsys):
    """A worldbench.yml with thresholds must not keep a team from trying the other policy."""
    (results / "worldbench.yml").write_text("gate: {max_metric_drop: 0.0, min_metric_count: 4}\n")
    assert gate(*MARGINS) == 1
    assert "Metric Count" in capsys.readouterr().out


def test_two_results_give_worldbenchs_keys(results, capsys):
    assert run(["compare", "base.json", "worse.json"]) == 0
    output = capsys.readouterr().out
    assert output.startswith("base is ahead of worse over 10 episodes, by more than chance")
    document = json.loads((results / ".wbgpu/comparisons/latest/comparison.json").read_text())
    assert document["overall"]["winner"] == "base"
    assert document["overall"]["delta"] == pytest.approx(
        document["overall"]["score_b"] - document["overall"]["score_a"]
    )
    assert document["delta_direction"] == "b_minus_a"
    assert (results / ".wbgpu/comparisons/latest/comparison.md").is_file()


def test_worldbenchs_own_comparison_is_reproduced(results, shared, capsys):
    """All numbers of its comparison.json; labels and the conclusion are ours."""
    from tests.records.golden import load

    sides = [
        load(shared / f"golden/raw/eval_pypi_demo_dataset_{side}_model.json.gz")
        for side in ("good", "bad")
    ]
    for name, document in zip("ab", sides, strict=True):
        (results / f"{name}.json").write_text(json.dumps(document))
    assert run(["compare", "a.json", "b.json", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["overall"]["delta"] == pytest.approx(sides[1]["score"] - sides[0]["score"])
    for metric in found["metrics"]:
        scores = [side["metrics"][metric["name"]]["score"] for side in sides]
        assert [metric["score_a"], metric["score_b"]] == pytest.approx(scores)
    assert [gap["name"] for gap in found["largest_gaps"]] == [
        "contact_realism",
        "action_consistency",
        "temporal_stability",
    ]
    assert found["coverage"]["a"] == sides[0]["coverage"]


def test_results_of_four_scenes_say_why_nothing_is_ranked(results, capsys):
    """N/A and 1 to 3 without a reason look like a fault."""
    lines = [f"s{i // 2}/e{i},{'wxyz'[i % 4]}" for i in range(10)]
    (results / "scenes.csv").write_text("\n".join(["episode_id,scene", *lines]))
    assert run(["compare", "base.json", "worse.json", "--clusters", "scenes.csv"]) == 0
    output = capsys.readouterr().out
    assert output.startswith("base has the better mean over 10 episodes, but fewer than 6 clusters")
    assert "p is N/A and ranks stay open: fewer than 6 clusters are not tested (4 here)" in output


def test_clusters_of_ids_without_their_extension_name_the_near_one(results, capsys):
    scores = {f"e{i}.mp4": [60.0 + i] for i in range(6)}
    save_result(simple_suite(scores), "videos.json")
    lines = [f"e{i},s" for i in range(6)]
    (results / "scenes.csv").write_text("\n".join(["episode_id,scene", *lines]))
    arguments = (*MARGINS, "--clusters", "scenes.csv")
    assert gate(*arguments, baseline="videos", candidate="videos") == 2
    assert "such as 'e0.mp4'; they name 'e0' instead" in capsys.readouterr().err


def test_three_results_are_ranked(results, capsys):
    assert run(["compare", "worse.json", "base.json", "same.json"]) == 0
    output = capsys.readouterr().out
    rows = [line.split() for line in output.splitlines() if line.startswith("worse ")]
    assert rows[0][-1] == "3"
    document = json.loads((results / ".wbgpu/comparisons/latest/comparison.json").read_text())
    assert len(document["wbgpu"]["ranking"]["pairs"]) == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["base.json"], "two or more"),
        (["base.json", "none.json"], "does not exist"),
        (["base.json", "oracle.json"], "not of regret"),
        (["base.json", "worse.json", "--models", "a", "b"], "--models"),
        (["base.json", "worse.json", "--skip-context", "3"], "--skip-context needs --models"),
        ([".", "--models", "a", "b"], "gt or ground_truth"),
    ],
)
def test_a_comparison_that_cannot_be_made_exits_with_2(results, capsys, arguments, words):
    """worldbench calls two missing models tied."""
    assert run(["compare", *arguments]) == 2
    assert words in capsys.readouterr().err
