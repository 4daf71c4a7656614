"""`wbgpu regret`, and the gate and report that read what it writes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.test_main import HEAVY, modules_after
from wbgpu import gate_regret, load_result, save_result
from wbgpu.cli.main import run
from wbgpu.errors import ConfigurationError, IncompatibleResultsError
from wbgpu.records.regret import RegretResult
from wbgpu.sdk import compare, compare_regret, gate, write_report

SMALL = ("world=spectator", "seeds=6", "steps=20")
VIDEOS = "data/worldbench_artifacts/checkpoint_validation"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def played(name, *arguments):
    """Play and return the result's file."""
    assert run(["regret", *SMALL, *arguments, f"output={name}.json", f"name={name}"]) == 0
    return f"{name}.json"


def error_of(capsys, *arguments):
    """Run a command that must exit with 2, leave no result behind, and say why."""
    capsys.readouterr()
    before = set(Path().rglob("*"))
    assert run(arguments) == 2
    left = {path for path in Path().rglob("*") if path.is_file()} - before
    # Hydra's own note of a sweep.
    assert {path.name for path in left} <= {"multirun.yaml", "status.json"}
    return capsys.readouterr().err


def test_prints_a_table_and_writes_result_and_report(capsys):
    assert run(["regret", *SMALL, "contestant=kt", "output=kt.json"]) == 0
    text = capsys.readouterr().out
    (run_folder,) = Path(".wbgpu/regrets").iterdir()
    assert (run_folder / "result.json").read_text() == Path("kt.json").read_text()
    assert (run_folder / "report.md").read_text().startswith("# Regret of kt in spectator")
    document = json.loads(Path("kt.json").read_text())
    assert document["contestant"] == "kt"
    assert document["num_seeds"] == 6
    assert document["configuration"]["contestant"]["context"] is None
    assert document["command"].startswith("wbgpu regret world=spectator")
    assert "Saved result: kt.json" in text
    assert re.search(r"^expected regret +\d", text, re.MULTILINE)


def test_json_output_is_json_without_the_table_of_seeds(capsys):
    assert run(["regret", "--json", *SMALL, "contestant=uniform"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["result_type"] == "regret_evaluation"
    assert document["expected_regret_nats"] > 0
    assert "seeds" not in document


def test_a_sweep_plays_each_job_in_its_own_folder(capsys):
    sweep = ["world=markov_chain,spectator", "contestant=oracle,kt", "seeds=2", "steps=5"]
    assert run(["regret", "--multirun", *sweep]) == 0
    results = [load_result(path) for path in Path(".wbgpu/sweeps").rglob("result.json")]
    assert {(r.world, r.contestant) for r in results} == {
        (world, contestant)
        for world in ("markov_chain", "spectator")
        for contestant in ("oracle", "kt")
    }
    error = error_of(capsys, "regret", "--multirun", *sweep, "output=x.json")
    assert "every job of the sweep would write x.json" in error


def test_a_world_and_a_contestant_of_ones_own(folder):
    """In one's own package and configuration folder, without a change to wbgpu."""
    (folder / "mine/world").mkdir(parents=True)
    (folder / "mine/contestant").mkdir()
    (folder / "mine/world/coin.yaml").write_text(
        "name: coin\nmax_steps: 9\naction_matters: false\nvariables: {coin: [tails, heads]}\n"
        "actions: [flip]\ninitial: {coin: uniform}\nrules: {coin: [{then: uniform}]}\n"
    )
    (folder / "mine/contestant/me.yaml").write_text(
        "_target_: tests.contestants.near_truth.Tempered\nanswer_key: ???\npower: 2.0\n"
    )
    mine = ["--config-dir", "mine", "world=coin", "contestant=me", "seeds=3", "steps=9"]
    assert run(["regret", *mine, "output=coin.json"]) == 0
    result = load_result("coin.json")
    assert (result.world, result.contestant) == ("coin", "me")
    assert result.expected_regret_nats == 0.0


def test_an_interrupted_run_leaves_no_folder(monkeypatch, capsys):
    """An empty one would be taken for the latest run."""

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("wbgpu.evaluation.prequential.run_regret", interrupted)
    assert run(["regret", *SMALL]) == 130
    assert not list(Path(".wbgpu/regrets").iterdir())


def test_seeds_are_a_number_or_a_list():
    assert load_result(played("a", "first_seed=5")).seeds == tuple(range(5, 11))
    assert load_result(played("b", "seeds=[3,1]")).seeds == (3, 1)


@pytest.mark.parametrize("contestant", ["oracle", "uniform", "action_blind", "kt"])
def test_imports_no_torch(contestant, tmp_path):
    """Seconds of import for a game of milliseconds; and a laptop without torch could play."""
    modules = modules_after("regret", *SMALL, f"contestant={contestant}", cwd=tmp_path)
    assert list((tmp_path / ".wbgpu/regrets").rglob("result.json"))
    assert HEAVY & modules <= {"hydra", "omegaconf"}


def test_gate_and_report_import_neither_torch_nor_hydra(tmp_path):
    file = played("kt", "contestant=kt")
    arguments = ["gate", "--baseline", file, "--candidate", file]
    assert not HEAVY & modules_after(*arguments, cwd=tmp_path)
    assert Path(".wbgpu/gates/latest/gate.json").is_file()
    assert not HEAVY & modules_after("report", file, cwd=tmp_path)


def test_a_torch_module_plays_from_a_checkpoint(folder, capsys):
    import torch

    from tests.contestants.test_logits import Linear

    torch.save(Linear().state_dict(), "model.pt")
    module = "contestant.module=tests.contestants.test_logits.Linear"
    logits = ["contestant=logits", "contestant.checkpoint=model.pt"]
    result = load_result(played("model", *logits, module))
    assert result.expected_regret_nats > 0
    # Its numbers are torch's.
    assert result.environment["torch"] == torch.__version__.partition("+")[0]
    assert "name the class" in error_of(capsys, "regret", *SMALL, *logits)
    for arguments in ("contestant.arguments.num_inputs=3", "contestant.arguments={num_inputs: 3}"):
        again = load_result(played("again", *logits, module, arguments))
        assert again.expected_regret_nats == result.expected_regret_nats
    sweep = [*SMALL, *logits, module, "contestant.arguments.num_inputs=3,4"]
    capsys.readouterr()
    assert run(["regret", "--multirun", *sweep]) == 2
    assert "does not fit" in capsys.readouterr().err
    assert len(list(Path(".wbgpu/sweeps").rglob("result.json"))) == 1
    wrong = "contestant.arguments.hidden=32"
    assert "cannot make" in error_of(capsys, "regret", *SMALL, *logits, module, wrong)
    one_hot = "contestant.encoding=one_hot"
    error = error_of(capsys, "regret", *SMALL, *logits, module, one_hot)
    assert "test_logits.Linear' was given state float32 [6, 7]" in error
    missing = "missing value for contestant.checkpoint"
    assert missing in error_of(capsys, "regret", *SMALL, "contestant=logits")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["contestant=ktt"], "unknown option of 'contestant' 'ktt'; nearest: 'kt'"),
        (["world=bowl"], "unknown option of 'world' 'bowl'"),
        (["contestant.contxt=[]"], "nearest: 'contestant.context'"),
        (
            ["contestant=logits", "contestant.checkpont=x"],
            "nearest: 'contestant.checkpoint'",
        ),
        (
            ["contestant.context=[lamb]"],
            "context of 'gripper': unknown variable 'lamb'; nearest: 'block'",
        ),
        (["seeds=0"], "seeds: expected at least 1, got 0"),
        (["seeds=1000000000000"], "seeds: expected at most 10,000,000"),
        (["contestant.arguments.x=1"], "unexpected keyword argument 'arguments'"),
        (["seeds=many"], "seeds: expected a number of episodes or a list of seeds, got 'many'"),
        (["seeds=[1,1]"], "seeds: 1 stands twice"),
        (["seeds=[1,2]", "first_seed=3"], "first_seed: seeds are listed"),
        (["steps=1001"], "steps: expected 1 to 1000"),
        (["steps=1.5"], "steps: expected an integer >= 1, got 1.5"),
        (["batch_size=0"], "batch_size: expected an integer >= 1, got 0"),
        (["world.max_steps=0"], "max_steps"),
        (["contestant._target_=no.such.Thing"], "contestant: cannot build"),
        (["contestant._target_=wbgpu.contestants.AnswerKey"], "contestant: cannot build"),
        (["world=null"], "Config group override must be a string or a list"),
        (["~contestant"], "contestant: expected a contestant, such as contestant=kt"),
    ],
)
def test_wrong_settings_are_refused_by_name(arguments, message, capsys):
    assert message in error_of(capsys, "regret", "seeds=6", "steps=20", *arguments)


def test_the_gate_passes_fails_and_says_why(capsys):
    good, bad = played("good", "contestant=action_blind"), played("bad", "contestant=uniform")
    pair = ["gate", "--baseline", good, "--candidate"]
    assert run([*pair, good]) == 0
    capsys.readouterr()
    assert run([*pair, bad]) == 1
    text = capsys.readouterr().out
    assert text.startswith("FAIL\n")
    assert "Saved gate result: .wbgpu/gates/" in text
    assert run([*pair, bad, "--max-regret-increase", "9"]) == 1
    limits = ["--max-regret-increase", "9", "--max-horizon-regret-increase", "9"]
    assert run([*pair, bad, *limits]) == 0
    capsys.readouterr()
    assert run([*pair, bad, "--json", "--confidence-level", "0.9"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["status"] == "FAIL"
    assert document["expected_regret"]["interval"]["level"] == 0.9
    assert json.loads(Path(".wbgpu/gates/latest/gate.json").read_text()) == document
    assert Path(".wbgpu/gates/latest/gate.md").read_text().startswith("# Gate: FAIL")


def test_run_folders_can_be_gated_and_reported(capsys):
    run(["regret", *SMALL, "contestant=kt"])
    (run_folder,) = map(str, Path(".wbgpu/regrets").iterdir())
    assert run(["gate", "--baseline", run_folder, "--candidate", run_folder]) == 0
    assert run(["report", run_folder, "--against", run_folder, "-o", "x.md"]) == 0
    assert "## Against kt" in Path("x.md").read_text()


def test_what_cannot_be_compared_is_refused_and_is_no_fail(capsys):
    """Exit code 1 is a verdict; two worlds or two sets of seeds have none."""
    one = played("one", "contestant=uniform")
    for other, message in (
        (played("world", "world=markov_chain"), "different worlds"),
        (played("seeds", "seeds=7"), "different seeds"),
        (played("steps", "steps=21"), "different numbers of steps"),
    ):
        arguments = ["gate", "--baseline", one, "--candidate", other]
        assert message in error_of(capsys, *arguments)
        assert message in error_of(capsys, "report", one, "--against", other, "-o", "x.md")


def test_regret_and_videos_are_not_mixed(shared, capsys):
    videos = str(shared / VIDEOS / "baseline_batch_result.json")
    regret = played("kt", "contestant=kt")
    for pair in ([videos, regret], [regret, videos]):
        arguments = ["gate", "--baseline", pair[0], "--candidate", pair[1]]
        assert "is a result of videos, not of regret" in error_of(capsys, *arguments)
        with pytest.raises(IncompatibleResultsError, match="is a result of videos, not of regret"):
            write_report(pair[1], "x.md", pair[0])
        with pytest.raises(IncompatibleResultsError, match=r"kt\.json is a result of regret"):
            compare(*pair)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--max-overall-drop", "1"], "--max-overall-drop does not apply to results of regret"),
        (["--bootstrap-samples", "9"], "--bootstrap-samples does not apply"),
        (["--require-metric", "psnr"], "--require-metric does not apply"),
        (["--no-strict-config-match"], "--strict-config-match does not apply"),
        (["--max-regret-increase", "nan"], "max_regret_increase: expected a finite number"),
        (["--max-horizon-regret-increase", "-1"], "max_horizon_regret_increase: expected"),
        (["--confidence-level", "1"], "confidence_level"),
    ],
)
def test_flags_that_mean_nothing_or_are_out_of_range_are_refused(flags, message, capsys):
    file = played("kt", "contestant=kt")
    arguments = ["gate", "--baseline", file, "--candidate", file, *flags]
    assert message in error_of(capsys, *arguments)


def test_flags_of_regret_mean_nothing_for_videos(shared, capsys):
    """Ignored, a gate would pass by a limit that it never looked at."""
    videos = str(shared / VIDEOS / "baseline_batch_result.json")
    arguments = ["gate", "--baseline", videos, "--candidate", videos]
    error = error_of(capsys, *arguments, "--max-regret-increase", "0")
    assert "--max-regret-increase does not apply to results of videos" in error


def test_a_changed_file_is_refused(capsys):
    file = played("kt", "contestant=kt")
    text = Path(file).read_text()
    Path(file).write_text(text.replace('"num_infinite": 0', '"num_infinite": 1', 1))
    arguments = ["gate", "--baseline", file, "--candidate", file]
    assert "$.num_infinite" in error_of(capsys, *arguments)
    Path(file).write_text(re.sub('"cumulative_regret_nats": [^,]+', r"\g<0>0e999", text, count=1))
    assert "overflows to infinity" in error_of(capsys, *arguments)


def test_from_python(tmp_path):
    """The same verdict as from the command line."""
    good, bad = played("good", "contestant=action_blind"), played("bad", "contestant=uniform")
    result = load_result(good)
    assert isinstance(result, RegretResult)
    assert save_result(result, "again.json").read_text() == Path(good).read_text()
    verdict = gate_regret(good, bad, max_horizon_regret_increase=9)
    assert verdict.status == "FAIL"
    assert compare_regret(result, bad).expected.change == verdict.comparison.expected.change
    with pytest.raises(ConfigurationError, match="nearest: 'max_regret_increase'"):
        gate_regret(good, bad, max_regret_increse=1)
    with pytest.raises(IncompatibleResultsError, match="good is a result of regret"):
        gate(result, result)
