from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from PIL import Image

from tests.cli.sweeping import write_suite
from tests.cli.test_main import HEAVY, modules_after
from wbgpu.cli.main import run


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A sweep of three, one of them failed, which is not to be changed."""
    folder = tmp_path_factory.mktemp("sweep")
    write_suite(folder, num_episodes=6)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        arguments = ["suite.ground_truth=gt", "suite.predictions=nowhere,bad,good", "device=cpu"]
        assert run(["eval", "-m", *arguments, "hydra.sweep.dir=sweep"]) == 2
    return folder / "sweep"


@pytest.fixture
def sweep(finished, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(finished, "sweep")
    return Path("sweep")


def read(path):
    return json.loads(Path(path).read_text("utf-8"))


def test_ranks_the_jobs_and_writes_report_json_and_picture(sweep, capsys):
    """Paired differences with intervals, failed jobs with their reasons, and a heat map."""
    assert run(["sweep-report", "sweep"]) == 2
    text = capsys.readouterr().out
    assert text.startswith("Best of 2 by composite (score, higher is better): job 2 (")
    assert "Every other ranked job is worse." in text
    assert "failed: InputError: predictions folder does not exist: nowhere" in text
    document = read("sweep/sweep_report.json")
    assert [job["checkpoint_name"] for job in document["ranking"]] == ["good", "bad"]
    change = document["ranking"][1]["against_best"]
    assert change["lower"] < change["mean"] < change["upper"] < 0
    assert (change["num_better"], change["num_worse"]) == (0, 6)
    assert [job["job"] for job in document["left_out"]] == [0]
    report = Path("sweep/sweep_report.md").read_text("utf-8")
    assert report.startswith("# Sweep sweep\n")
    assert "![metric x horizon](sweep_report.png)" in report
    with Image.open("sweep/sweep_report.png") as picture:
        assert picture.format == "PNG"


def test_means_are_those_of_the_results(sweep, capsys):
    """The ranking is over the same episodes, so here it must say what each result says."""
    assert run(["sweep-report", "sweep", "--json"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert document == read("sweep/sweep_report.json")
    for job in document["ranking"]:
        overall = read(Path(job["folder"], "batch.json"))["aggregate"]["overall"]
        assert job["mean"] == pytest.approx(overall["mean"], rel=1e-12)


@pytest.mark.parametrize("name", ["1", "bad", "suite.predictions=bad"])
def test_a_baseline_is_named_by_number_checkpoint_or_override(sweep, name):
    assert run(["sweep-report", "sweep", "--baseline", name]) == 2
    document = read("sweep/sweep_report.json")
    assert document["baseline_job"] == 1
    assert document["ranking"][0]["against_baseline"]["standing"] == "better"
    assert document["horizons"]["reference_job"] == 1


def test_another_metric_and_another_folder(sweep):
    assert run(["sweep-report", "sweep", "--metric", "mse", "-o", "reports/mse"]) == 2
    document = read("reports/mse/sweep_report.json")
    assert (document["unit"], document["higher_is_better"]) == ("squared intensity", False)
    assert document["ranking"][0]["checkpoint_name"] == "good"
    assert not Path("sweep/sweep_report.md").exists()


def test_all_jobs_done_is_exit_code_0(sweep):
    shutil.rmtree("sweep/0")
    assert run(["sweep-report", "sweep"]) == 0


def test_a_damaged_result_is_one_job_less(sweep, capsys):
    """Half a file of one job must not hide the others."""
    Path("sweep/1/batch.json").write_text("{")
    assert run(["sweep-report", "sweep"]) == 2
    assert "sweep/1/batch.json: not valid JSON" in capsys.readouterr().out


def test_a_damaged_status_hides_neither_the_other_jobs_nor_itself(sweep, capsys):
    Path("sweep/0/status.json").write_text('{"schema')
    assert run(["sweep-report", "sweep"]) == 2
    printed = capsys.readouterr()
    assert printed.out.startswith("Best of 2 by composite")
    assert "Error: sweep/0/status.json: not valid JSON" in printed.err


def test_regret_is_ranked_too(tmp_path, monkeypatch, capsys):
    """`wbgpu regret --multirun` makes the same folders."""
    monkeypatch.chdir(tmp_path)
    game = ["world=spectator", "contestant=kt,oracle,uniform", "seeds=6", "steps=20"]
    assert run(["regret", "-m", *game, "hydra.sweep.dir=sweep"]) == 0
    assert run(["sweep-report", "sweep", "--baseline", "uniform"]) == 0
    assert "by expected_regret (nats per step, lower is better)" in capsys.readouterr().out
    assert read("sweep/sweep_report.json")["ranking"][0]["checkpoint_name"] == "oracle"


def test_one_pair_of_videos_is_no_suite(sweep, capsys):
    pair = ["suite.ground_truth=x/gt/0.mp4", "suite.predictions=x/good/0.mp4,x/bad/0.mp4"]
    write_suite(Path("x"))
    assert run(["eval", "-m", *pair, "device=cpu", "hydra.sweep.dir=pairs"]) == 0
    assert run(["sweep-report", "pairs"]) == 2
    assert "ranked over folders of episodes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere: no status.json below it"),
        (["sweep", "--baseline", "better"], "'better' names 0 jobs of the sweep"),
        (["sweep", "--baseline", "device=cpu"], "'device=cpu' names 3 jobs of the sweep"),
        (["sweep", "--metric", "lpips"], "no job has a value of 'lpips'"),
        (["sweep", "--confidence-level", "95"], "level: expected a number between 0 and 1"),
    ],
)
def test_wrong_usage_is_named(sweep, arguments, message, capsys):
    assert run(["sweep-report", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not Path("sweep/sweep_report.json").exists()


def test_imports_neither_torch_nor_hydra(sweep):
    """A report is read on a laptop, and takes a second."""
    modules = modules_after("sweep-report", "sweep", cwd=Path.cwd())
    assert Path("sweep/sweep_report.json").is_file()
    assert not HEAVY & modules
