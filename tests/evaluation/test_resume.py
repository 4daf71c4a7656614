"""Runs that died and go on from their journal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.evaluation.small_suites import write_small_suite
from wbgpu.cli import main
from wbgpu.errors import ConfigurationError, JournalError
from wbgpu.evaluation.configuration import compose, request_from
from wbgpu.evaluation.run import run
from wbgpu.records.strict_json import to_text
from wbgpu.records.worldbench import batch_payload
from wbgpu.video.pyav import PyavDecoder

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return write_small_suite(tmp_path / "suite")


def evaluate(suite: Path, *overrides: str, **values: object) -> str:
    paths = {
        "suite.ground_truth": str(suite / "gt"),
        "suite.predictions": str(suite / "step00900"),
    }
    request = request_from(compose(["suite.num_context=1", *overrides], {**paths, **values}))
    return to_text(batch_payload(run(request)))


def interrupted(suite: Path, journal: Path, num_finished: int) -> str:
    """Leave the journal that a run leaves which dies after some episodes; returns its result."""
    whole = evaluate(suite, journal=str(journal))
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[: 1 + num_finished]) + lines[-1][:-9])
    return whole


def test_killed_at_20_random_points_and_resumed_it_writes_the_same_bytes(tmp_path: Path) -> None:
    """Nothing is lost, evaluated twice or in another order, whenever the machine dies."""
    suite = write_small_suite(tmp_path / "suite", lengths=(5, 9) * 12)
    journal, result = tmp_path / "journal.jsonl", tmp_path / "result.json"
    program = [sys.executable, str(ROOT / "tests/evaluation/killed_runs.py")]
    ended = subprocess.run(
        [*program, str(suite), str(journal), str(result), "20", "6"],
        check=True,
        capture_output=True,
        text=True,
    )
    finished = list(map(int, ended.stdout.split()))
    assert len(finished) == 20
    assert len(set(finished)) > 4  # it really was killed at many points
    overrides = ["loader.num_workers=1", "loader.window_frames=4"]
    assert result.read_text() == evaluate(suite, *overrides, "suite.num_context=0")


@pytest.mark.parametrize("num_finished", [0, 3, 5])
def test_what_is_finished_is_not_decoded_again(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, num_finished: int
) -> None:
    journal = tmp_path / "journal.jsonl"
    whole = interrupted(suite, journal, num_finished)
    opened = []
    really_open = PyavDecoder.open

    def counting_open(self: PyavDecoder, path: str | Path) -> object:
        opened.append(Path(path).name)
        return really_open(self, path)

    monkeypatch.setattr(PyavDecoder, "open", counting_open)
    assert evaluate(suite, "resume=true", journal=str(journal)) == whole
    assert len(opened) == 2 * (5 - num_finished)
    # And the journal is that of a whole run now.
    assert evaluate(suite, "resume=true", journal=str(journal)) == whole
    assert len(opened) == 2 * (5 - num_finished)


def test_another_number_of_processes_takes_it_over(suite: Path, tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    whole = interrupted(suite, journal, 2)
    assert evaluate(suite, "resume=true", "trainer.devices=2", journal=str(journal)) == whole
    # What rank 1 has finished is in its own file, and one process finds it there.
    assert (tmp_path / "journal.jsonl.1").exists()
    assert evaluate(suite, "resume=true", journal=str(journal)) == whole


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("metrics=[psnr]", "protocol.metric_ids.visual_similarity: .* now"),
        ("suite.num_context=2", "num_context: 1 in the journal, 2 now"),
        ("composite.temporal_stability.weight=1", "weights.temporal_stability: 0.2 in the journal"),
        ("statistics=reference", "statistics_path: cpu in the journal, reference now"),
    ],
)
def test_a_journal_of_another_protocol_is_refused(
    suite: Path, tmp_path: Path, override: str, message: str
) -> None:
    """Its rows and the new ones would not belong together."""
    interrupted(suite, journal := tmp_path / "journal.jsonl", 3)
    with pytest.raises(JournalError, match=message):
        evaluate_with(suite, override, journal)


def evaluate_with(suite: Path, override: str, journal: Path) -> str:
    paths = {
        "suite.ground_truth": str(suite / "gt"),
        "suite.predictions": str(suite / "step00900"),
        "journal": str(journal),
    }
    context = [] if "num_context" in override else ["suite.num_context=1"]
    request = request_from(compose([*context, override, "resume=true"], paths))
    return to_text(batch_payload(run(request)))


def test_what_changes_no_score_may_change(suite: Path, tmp_path: Path) -> None:
    """A run that died for want of memory goes on with smaller windows."""
    interrupted(suite, journal := tmp_path / "journal.jsonl", 3)
    evaluate_with(suite, "loader.window_frames=2", journal)


def test_changed_inputs_are_refused(suite: Path, tmp_path: Path) -> None:
    """Of a finished episode any byte, and of every episode the size, and whether it is there."""
    interrupted(suite, journal := tmp_path / "journal.jsonl", 3)
    finished, waiting = suite / "step00900/0.mp4", suite / "step00900/4.mp4"
    whole = finished.read_bytes()
    finished.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(JournalError, match=r"prediction/0\.mp4 has changed since"):
        evaluate_with(suite, "resume=true", journal)
    finished.write_bytes(whole)
    whole = waiting.read_bytes()
    waiting.write_bytes(whole + b" ")
    size = len(whole)
    with pytest.raises(JournalError, match=rf"prediction/4\.mp4: {size} in .*, {size + 1} now"):
        evaluate_with(suite, "resume=true", journal)
    waiting.unlink()
    (suite / "gt/4.mp4").unlink()
    with pytest.raises(JournalError, match=r"ground_truth/4\.mp4: \d+ in the journal, absent now"):
        evaluate_with(suite, "resume=true", journal)


def test_without_a_journal_there_is_nothing_to_resume() -> None:
    with pytest.raises(ConfigurationError, match="journal=FILE"):
        request_from(compose(["suite.ground_truth=a", "suite.predictions=b", "resume=true"]))


def test_the_command_goes_on_from_the_newest_run_that_died(
    suite: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The same command with ``resume=true`` is all that a person has to type."""
    monkeypatch.chdir(tmp_path)
    command = ["eval", "suite.ground_truth=suite/gt", "suite.predictions=suite/step00900"]

    def dies(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("wbgpu.cli.eval.batch_payload", dies)
        assert main.run(command) == 130
    (journal,) = tmp_path.glob(".wbgpu/evals/*/journal.jsonl")
    assert main.run([*command, "resume=true"]) == 0
    assert f"Resuming from {journal}" in capsys.readouterr().err
    # The result is there, so the journal is not, nor the dead run's folder.
    assert [path.name for path in tmp_path.glob(".wbgpu/evals/*/*.json*")] == ["batch.json"]
    assert not journal.parent.exists()
    assert main.run([*command, "resume=true"]) == 0
    assert "Starting anew; there is no" in capsys.readouterr().err


def test_eval_batch_keeps_a_journal_too(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["eval-batch", "--ground-truth=suite/gt", "--predictions=suite/step00900"]

    def dies(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("wbgpu.cli.eval_batch.save_batch", dies)
        assert main.run(command) == 130
    assert len(list(tmp_path.glob(".wbgpu/batches/*/journal.jsonl"))) == 1
    assert main.run([*command, "resume=true"]) == 0
    assert not list(tmp_path.glob(".wbgpu/batches/*/journal.jsonl"))
