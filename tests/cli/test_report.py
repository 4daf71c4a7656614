"""``wbgpu report`` and the files that ``wbgpu gate`` writes for people and for CI."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from tests.records.regret_results import regret_result
from tests.records.results import simple_suite
from wbgpu import sdk
from wbgpu.cli.main import run

HIGH = {f"{i}.mp4": [80.0 + i, 70.0 + i] for i in range(8)}
LOW = {f"{i}.mp4": [70.0 + i, 60.0 + i] for i in range(8)}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sdk.save_result(simple_suite(HIGH, checkpoint_name="high"), "high.json")
    sdk.save_result(simple_suite(LOW, checkpoint_name="low"), "low.json")
    sdk.save_result(regret_result("kt"), "kt.json")
    sdk.save_result(regret_result("mixed"), "mixed.json")
    return tmp_path


def test_the_suffix_decides_between_markdown_and_a_page(folder, capsys):
    assert run(["report", "low.json", "--against", "high.json", "-o", "r.html"]) == 0
    assert capsys.readouterr().out == "Saved report: r.html\n"
    page = (folder / "r.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "low against high" in page
    # Its videos were never there.
    assert "No pictures: gt/0.mp4 is not there any more" in page
    assert run(["report", "low.json", "-o", "r.md"]) == 0
    assert (folder / "r.md").read_text().startswith("# Evaluation of low")


def test_a_pages_verdict_is_the_gates(folder, capsys):
    """A wbgpu.yml changes the gate's verdict, so it changes the page's, which names it."""
    (folder / "wbgpu.yml").write_text(
        "gate: {max_metric_drop: 50, max_horizon_drop: 50, min_composite_improvement: -50}\n"
    )
    flags = ["--baseline", "high.json", "--candidate", "low.json"]
    assert run(["gate", *flags]) == 1
    assert run(["report", "low.json", "--against", "high.json", "-o", "r.html"]) == 0
    page = (folder / "r.html").read_text()
    assert '<span class="badge FAIL">' in page
    assert "Composite Score: 73.50 -&gt; 63.50" in page or "73.50 to 63.50" in page
    assert "wbgpu.yml" in page
    policy = ["--policy", "noninferiority", "--margin", "20"]
    assert run(["report", "low.json", "--against", "high.json", "-o", "r.html", *policy]) == 0
    assert '<span class="badge PASS">' in (folder / "r.html").read_text()


def test_clusters_count_in_the_heat_maps_of_report_and_gate(folder):
    """Ten episodes of two scenes are two observations, so nothing at any horizon is significant."""
    generator = np.random.default_rng(0)
    for name, shift in (("before", 0.0), ("after", -3.0)):
        scores = {
            f"s{i // 5}/e{i}": (60 + shift + generator.normal(0, 0.3, 3)).tolist()
            for i in range(10)
        }
        sdk.save_result(simple_suite(scores, checkpoint_name=name), folder / f"{name}.json")
    report = ["report", "after.json", "--against", "before.json", "-o", "r.html"]
    sides = ["--baseline", "before.json", "--candidate", "after.json", "--html", "g.html"]
    gate = ["gate", *sides, "--policy", "noninferiority"]
    clusters = ["--cluster-pattern", "^([^/]+)/"]
    for command, page in ((report, "r.html"), (gate, "g.html")):
        run(command)
        alone = (folder / page).read_text()
        run([*command, *clusters])
        together = (folder / page).read_text()
        assert "significantly worse at t+1 to t+3" in alone
        assert "significantly" not in together
        assert "No dots: fewer than 6 clusters are not tested (2 here)." in together
        assert "A dot: significant" not in together
        assert "A dot: significant" in alone
        assert "are over 2 clusters" in together
        assert "clusters" not in alone


@pytest.mark.parametrize("flag", [["--margin", "1"], ["--cluster-pattern", "x"]])
def test_regret_has_its_own_margin_and_no_clusters(folder, capsys, flag):
    """As of wbgpu gate: one option must not mean points here and nats there."""
    sides = ["report", "kt.json", "--against", "mixed.json", "-o", "r.html"]
    assert run([*sides, "--policy", "noninferiority", *flag]) == 2
    assert f"{flag[0]} does not apply to results of regret" in capsys.readouterr().err
    assert run([*sides, "--policy", "noninferiority", "--regret-margin", "9"]) == 0
    assert '<span class="badge PASS">' in (folder / "r.html").read_text()


def test_regret_has_a_page(folder):
    assert run(["report", "kt.json", "--against", "mixed.json", "-o", "r.html"]) == 0
    page = (folder / "r.html").read_text()
    assert "kt against mixed in spectator" in page
    assert '<span class="badge FAIL">' in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "r.md", "--films", "1"], "--films needs a page: --output FILE.html"),
        (["-o", "r.md", "--against", "high.json", "--margin", "1"], "--margin needs a page"),
        (["-o", "r.html", "--margin", "1"], "--margin needs a baseline: --against FILE"),
        (
            ["-o", "r.html", "--against", "high.json", "--margin", "1"],
            "--margin does not apply under the policy worldbench",
        ),
        (
            ["-o", "r.html", "--against", "high.json", "--policy", "noninferior"],
            "nearest: 'noninferiority'",
        ),
        (["-o", "r.html", "--against", "high.json", "--cluster-column", "x"], "needs --clusters"),
        (["-o", "mine.html"], "mine.html exists and is not a report of wbgpu"),
    ],
)
def test_what_cannot_be_done_is_refused(folder, capsys, arguments, message):
    (folder / "mine.html").write_text("<p>Mine</p>")
    assert run(["report", "low.json", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert (folder / "mine.html").read_text() == "<p>Mine</p>"


def test_a_page_may_be_written_again(folder):
    for _ in range(2):
        assert run(["report", "low.json", "-o", "r.html"]) == 0


def test_the_gate_writes_for_ci(folder, monkeypatch, capsys):
    """All of one verdict; a step's summary is added to, since other steps write to it too."""
    (folder / "summary.md").write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    flags = ["--baseline", "high.json", "--candidate", "low.json"]
    files = ["--junit", "out/j.xml", "--html", "out/r.html", "--github-summary"]
    assert run(["gate", *flags, *files]) == 1
    suites = ElementTree.parse(folder / "out/j.xml").getroot()
    assert int(suites.get("failures")) > 1
    assert (folder / "summary.md").read_text().startswith("before\n## ❌ Gate: FAIL")
    assert '<span class="badge FAIL">' in (folder / "out/r.html").read_text()
    assert "Saved JUnit XML: out/j.xml" in capsys.readouterr().out
    assert run(["gate", *flags, *files]) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--junit", "low.json"], "low.json exists and is not JUnit XML"),
        (["--html", "r.md"], "--html: expected a .html file"),
        (["--html", "r.html", "--junit", "r.html"], "--html and --junit: both are r.html"),
    ],
)
def test_files_for_ci_are_checked_first(folder, capsys, arguments, message):
    flags = ["--baseline", "high.json", "--candidate", "low.json"]
    assert run(["gate", *flags, *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not (folder / ".wbgpu").exists()


def test_without_github_the_gate_gates_and_warns(folder, monkeypatch, capsys):
    """The command line of CI is tried at home, where the verdict is what is wanted."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    flags = ["--baseline", "high.json", "--candidate", "low.json"]
    assert run(["gate", *flags, "--github-summary"]) == 1
    assert "GITHUB_STEP_SUMMARY is not set, so no summary" in capsys.readouterr().err


def test_a_page_says_what_it_takes_its_time_for(folder, capsys):
    """Half a minute of silence on a busy machine looks like a hang."""
    assert run(["report", "low.json", "-o", "r.html"]) == 0
    assert "Writing r.html: frames and videos" in capsys.readouterr().err
    assert run(["report", "low.json", "-o", "r.html", "--films", "0"]) == 0
    assert capsys.readouterr().err == ""


def test_two_results_of_one_name_are_told_apart_by_their_files(folder, capsys):
    """The same checkpoint twice is how people try actions, seeds and decoders."""
    for name, values in (("a.json", HIGH), ("b.json", LOW)):
        sdk.save_result(simple_suite(values, checkpoint_name="step"), name)
        sdk.save_result(regret_result("kt"), f"kt_{name}")
    assert run(["gate", "--baseline", "a.json", "--candidate", "b.json", "--html", "r.html"]) == 1
    console = capsys.readouterr().out
    assert "Baseline:  step (a.json)\nCandidate: step (b.json)\n" in console
    latest = folder / ".wbgpu/gates/latest"
    assert "step (a.json) -> step (b.json)" in (latest / "gate.md").read_text()
    # Programs go on to find the name.
    assert "step (a.json)" not in (latest / "gate.json").read_text()
    assert "step (b.json) against step (a.json)" in (folder / "r.html").read_text()
    noninferiority = ["--policy", "noninferiority", "--margin", "1"]
    run(["gate", "--baseline", "a.json", "--candidate", "b.json", *noninferiority])
    assert "Baseline:  step (a.json)" in capsys.readouterr().out
    assert run(["gate", "--baseline", "kt_a.json", "--candidate", "kt_b.json"]) == 0
    assert "kt (kt_a.json)" in capsys.readouterr().out
    for output in ("against.md", "against.html"):
        assert run(["report", "b.json", "--against", "a.json", "-o", output]) == 0
        assert "step (a.json)" in (folder / output).read_text()
        assert "step (b.json)" in (folder / output).read_text()
    assert run(["report", "kt_b.json", "--against", "kt_a.json", "-o", "kt.md"]) == 0
    assert "kt (kt_a.json)" in (folder / "kt.md").read_text()


def test_names_that_differ_stand_alone(folder, capsys):
    assert run(["gate", "--baseline", "low.json", "--candidate", "high.json"]) == 0
    assert "Baseline:  low\nCandidate: high\n" in capsys.readouterr().out
