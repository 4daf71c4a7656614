"""`--multirun`: every job has a folder and a status, and none takes another with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from hydra.core.plugins import Plugins

from tests.cli import sweeping
from tests.cli.sweeping import GREEDY, Greedy, statuses, write_suite
from wbgpu.cli import eval as eval_module
from wbgpu.cli.main import run
from wbgpu.cli.sweep_jobs import read_statuses
from wbgpu.models import Prediction

SUITE = ("suite.ground_truth=gt", "metrics=[visual_similarity,mse]", "device=cpu")
FOLDER = "hydra.sweep.dir=sweep"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_suite(tmp_path)
    return tmp_path


def sweep(*arguments):
    return run(["eval", "--multirun", *SUITE, FOLDER, *arguments])


def states():
    return [status["state"] for status in statuses()]


def test_two_of_three_jobs_finish_when_one_fails(capsys):
    """hydra #2284: the first failure ended the sweep, and the exit code was 0."""
    assert sweep("suite.predictions=nowhere,good,bad") == 2
    assert states() == ["failed", "done", "done"]
    first, second, _ = statuses()
    assert first["error"]["type"] == "InputError"
    assert "nowhere" in first["error"]["message"]
    assert (first["exit_code"], first["result"], first["scalar"]) == (2, None, None)
    assert second["result"] == "batch.json"
    result = json.loads(Path("sweep/1/batch.json").read_text("utf-8"))
    assert second["scalar"] == result["aggregate"]["overall"]["mean"]
    assert second["overrides"] == [*SUITE, "suite.predictions=good"]
    assert second["seconds"] > 0
    printed = capsys.readouterr()
    assert "2 of 3 jobs done" in printed.out
    assert "Job 0: InputError: predictions folder does not exist: nowhere" in printed.out
    assert "Job 0: failed" in printed.err


class Darker(torch.nn.Module):
    """The last context frame, darker by a weight."""

    def __init__(self, amount=0):
        super().__init__()
        self.amount = torch.nn.Parameter(torch.tensor(float(amount)))

    def predict(self, context_frames, actions, num_frames):
        frames = (context_frames[:, -1:] - self.amount).clamp(0, 255).to(torch.uint8)
        return Prediction(frames.expand(-1, num_frames, -1, -1, -1))


def test_a_sweep_over_checkpoints_of_which_one_is_damaged(capsys):
    """The night of every training run: many checkpoints, one cut off by a full disk."""
    for name, amount in (("a", 40), ("c", 0)):
        torch.save(Darker(amount).state_dict(), f"{name}.pt")
    Path("b.pt").write_bytes(Path("a.pt").read_bytes()[:100])
    model = ["model=module", f"model.module={__name__}.Darker", "model.checkpoint=a.pt,b.pt,c.pt"]
    assert sweep(*model, "suite.num_context=2") == 2
    assert states() == ["done", "failed", "done"]
    assert "b.pt" in statuses()[1]["error"]["message"]
    capsys.readouterr()
    assert run(["sweep-report", "sweep"]) == 2
    text = capsys.readouterr().out
    assert "job 2 (model.checkpoint=c.pt), mean" in text
    assert "job 1 (model.checkpoint=b.pt): failed" in text


def test_all_done_is_exit_code_0():
    """Else a scheduler reports every sweep as failed."""
    assert sweep("suite.predictions=good,bad") == 0
    assert states() == ["done", "done"]


def test_json_is_one_document_with_every_job(capsys):
    """Two documents one after the other are no JSON."""
    assert sweep("suite.predictions=nowhere,good", "--json") == 2
    document = json.loads(capsys.readouterr().out)
    assert document["sweep_folder"] == "sweep"
    assert [job["state"] for job in document["jobs"]] == ["failed", "done"]
    assert Path(document["jobs"][1]["folder"], document["jobs"][1]["result"]).is_file()


def test_a_fault_in_one_job_does_not_stop_the_others(monkeypatch, capsys):
    """A CUDA device that runs out of memory for one model has room for the next."""
    request = eval_module.run_request

    def sometimes(given, **options):
        if given.predictions.name == "bad":
            raise RuntimeError("CUDA out of memory")
        return request(given, **options)

    monkeypatch.setattr(eval_module, "run_request", sometimes)
    assert sweep("suite.predictions=bad,good") == 70
    assert states() == ["failed", "done"]
    error = statuses()[0]["error"]
    assert (error["type"], error["message"]) == ("RuntimeError", "CUDA out of memory")
    assert "in sometimes" in error["traceback"]


def test_a_job_that_lacks_episodes_is_incomplete(folder):
    """Its mean is over the episodes that could be scored, which may be the easy ones."""
    (folder / "bad/1.mp4").write_text("not a video")
    assert sweep("suite.predictions=bad,good") == 2
    assert states() == ["incomplete", "done"]
    assert statuses()[0]["scalar"] is None
    assert statuses()[0]["result"] == "batch.json"


def test_a_wrong_option_is_refused_before_any_job(capsys):
    """Not after the night in which the other jobs ran."""
    assert sweep("suite.predictions=good,bad", "decoder=auto,nonsense") == 2
    captured = capsys.readouterr()
    assert "unknown option of 'decoder' 'nonsense'" in captured.err
    assert captured.out == ""
    assert statuses() == []


def test_a_folder_that_is_used_again_counts_the_new_jobs_only(capsys):
    """A failure of last week would fail every sweep after it."""
    assert sweep("suite.predictions=good,bad,nowhere") == 2
    capsys.readouterr()
    assert sweep("suite.predictions=good,bad", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["jobs"]) == 2


@pytest.mark.parametrize("key", ["output", "journal", "save_predictions"])
def test_jobs_do_not_write_to_one_place(key, capsys):
    """The last one would win, or two at once would write what nobody can read."""
    models = ("model=copy_last,context_mean", "suite.num_context=2")
    assert sweep(*models, f"{key}=one") == 2
    assert f"{key}: every job of the sweep would write one" in capsys.readouterr().err
    assert not Path("one").exists()
    own = f"{key}=${{hydra:runtime.output_dir}}/one"
    assert sweep(*models, own) == 0
    assert Path("sweep/1/one").exists()


def test_resuming_keeps_what_was_done_and_runs_the_rest(folder, capsys):
    """Nineteen of twenty checkpoints were scored when the node died."""
    assert sweep("suite.predictions=good,later") == 2
    before = Path("sweep/0/batch.json").stat()
    (folder / "bad").rename("later")
    capsys.readouterr()
    assert sweep("suite.predictions=good,later", "resume=true", "--json") == 0
    printed = capsys.readouterr()
    assert "Job 0: kept, as it was done" in printed.err
    jobs = json.loads(printed.out)["jobs"]
    assert [job["state"] for job in jobs] == ["done", "done"]
    after = Path("sweep/0/batch.json").stat()
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)


def test_resuming_with_other_settings_runs_anew():
    """The kept result would be of another configuration."""
    assert sweep("suite.predictions=good,bad") == 0
    before = Path("sweep/0/batch.json").stat().st_ino
    assert sweep("suite.predictions=good,bad", "suite.num_context=1", "resume=true") == 0
    assert Path("sweep/0/batch.json").stat().st_ino != before


@pytest.mark.slow
def test_two_processes_a_job_start_each_job_once(capfd):
    """Lightning starts its processes by running the command again, and with it the sweep."""
    assert sweep("suite.predictions=good", "trainer.devices=1,2", "--json") == 0
    printed = capfd.readouterr()
    jobs = json.loads(printed.out)["jobs"]
    assert [job["job"] for job in jobs] == [0, 1]
    assert jobs[0]["scalar"] == jobs[1]["scalar"]
    assert printed.err.count("done after") == 2
    assert len(list(Path("sweep").glob("*/batch.json"))) == 2


def test_a_sweep_is_not_started_by_every_rank(monkeypatch, capsys):
    """Under torchrun each rank would write the same files."""
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert sweep("suite.predictions=good,bad") == 2
    assert "start it as one" in capsys.readouterr().err
    assert statuses() == []


@pytest.fixture
def greedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "hydra_plugins.greedy", sweeping)
    Plugins.instance().register(Greedy)
    Greedy.given = []
    return Greedy.given


def test_an_optimising_sweeper_is_given_finite_numbers(greedy):
    """A NaN or None ends Optuna's study; a failed job must not look like the best one."""
    assert sweep(GREEDY, "suite.predictions=good,nowhere,bad") == 2
    first, _, third = (status["scalar"] for status in statuses())
    assert greedy == [first, 0.0, third]
    assert first > third > 0


def test_an_optimising_sweeper_is_given_the_chosen_metric(greedy):
    arguments = ["objective=mse", "objective_if_failed=1e9"]
    assert sweep(GREEDY, "suite.predictions=good,nowhere,bad", *arguments) == 2
    assert greedy[0] < greedy[2] < greedy[1] == 1e9


def test_without_a_number_for_failed_jobs_the_optimisation_ends(greedy, capsys):
    """What a failed job counts as cannot be guessed for every unit."""
    arguments = ["objective=mse", "objective_if_failed=null"]
    assert sweep(GREEDY, "suite.predictions=good,nowhere,bad", *arguments) == 2
    assert len(greedy) == 1
    assert "predictions folder does not exist" in capsys.readouterr().err


def test_a_value_that_is_missing_is_said_and_not_guessed(greedy):
    """Without any composite metric, each trial would be 0 and the search blind."""
    nothing = "composite.visual_similarity.enabled=false"
    assert sweep(GREEDY, "suite.predictions=good,bad", nothing) == 2
    assert {status["error"]["type"] for status in statuses()} == {"ConfigurationError"}
    assert "needs a finite number" in statuses()[0]["error"]["message"]


def test_what_a_failed_job_counts_as_must_be_a_number(greedy):
    assert sweep(GREEDY, "suite.predictions=good,bad", "objective_if_failed=much") == 2
    assert greedy == []
    assert "expected a finite number or null" in statuses()[0]["error"]["message"]


def test_a_killed_job_is_told_from_one_that_runs(folder):
    """A status that says `running` for ever hides that its process is gone."""
    program = (
        "import time\n"
        "from wbgpu.cli import eval as module, main\n"
        "module.run_request = lambda *_, **__: time.sleep(600)\n"
        f"main.main(['eval', '-m', *{SUITE!r}, {FOLDER!r}, 'suite.predictions=good,bad'])"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    try:
        while not Path("sweep/0/status.json").is_file():
            assert process.poll() is None
            time.sleep(0.05)
        ((_, running),), _ = read_statuses(Path("sweep"))
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert (running.state, running.pid) == ("running", process.pid)
    ((_, killed),), _ = read_statuses(Path("sweep"))
    assert killed.state == "killed"
    assert statuses()[0]["state"] == "running"


def test_an_interrupted_job_says_so(monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(eval_module, "run_request", interrupt)
    assert sweep("suite.predictions=good,bad") == 130
    assert states() == ["interrupted"]


def test_two_jobs_in_one_folder_are_refused(capsys):
    """The second's result would replace the first's, and the sweep would seem to have one job."""
    subdir = ["hydra.sweep.subdir=same"]
    assert sweep("suite.predictions=good,bad", *subdir) == 2
    assert "hydra.sweep.subdir: jobs 0 and 1 of the sweep" in capsys.readouterr().err
    assert json.loads(Path("sweep/same/batch.json").read_text())["checkpoint_name"] == "good"
    assert sweep("suite.predictions=bad", *subdir) == 0  # another sweep's folder is its own affair


def test_other_programs_files_are_not_ours(folder):
    """`status.json` is no rare name."""
    (folder / "sweep/other").mkdir(parents=True)
    (folder / "sweep/other/status.json").write_text('{"schema_version": "0"}')
    assert read_statuses(Path("sweep")) == ([], [])


def test_a_class_in_the_current_folder_is_found(folder, monkeypatch, capsys):
    """A script has its folder on the path of modules, and an installed command has not."""
    monkeypatch.setattr(
        sys, "path", [place for place in sys.path if place not in ("", str(folder))]
    )
    Path("my_world_model.py").write_text(
        "from wbgpu.models import CopyLast\n\nclass Mine(CopyLast):\n    pass\n"
    )
    own = ("model=module", "model.module=my_world_model.Mine", "suite.num_context=2")
    assert run(["eval", *SUITE, *own]) == 0
    monkeypatch.delitem(sys.modules, "my_world_model")
