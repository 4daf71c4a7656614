"""Lightning's loggers, from the command line: what they write is read back as a user reads it."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest

import wbgpu
from wbgpu.aggregate.logged_values import logged_values
from wbgpu.cli.demo_suite import draw_episode
from wbgpu.cli.main import run
from wbgpu.video.encode import write_video


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("suite")
    generator = np.random.default_rng(5)
    for index in range(2):
        truth = draw_episode(generator, 9)
        write_video(folder / f"gt/{index}.mp4", truth, fps=5)
        write_video(folder / f"step900/{index}.mp4", np.roll(truth, 1, axis=0), fps=5)
    return folder


def evaluate(suite: Path, *overrides: str) -> int:
    paths = (f"suite.ground_truth={suite}/gt", f"suite.predictions={suite}/step900")
    return run(["eval", *paths, "suite.num_context=2", *overrides])


@pytest.fixture
def expected(suite: Path) -> dict[str, float]:
    result = wbgpu.evaluate(suite / "gt", suite / "step900", num_context=2)
    return {f"wbgpu/{name}": value for name, value in logged_values(result).items()}


def test_a_csv_file_has_every_number_at_the_step(
    suite: Path, expected: dict[str, float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A number at another step stands beside the wrong checkpoint in the team's plots."""
    monkeypatch.chdir(tmp_path)
    assert evaluate(suite, "logger=csv", "logger_step=900") == 0
    (file,) = Path(".wbgpu/logs/step900").glob("*/metrics.csv")
    with file.open(newline="") as stream:
        (row,) = csv.DictReader(stream)
    assert int(row.pop("step")) == 900
    assert {name: float(text) for name, text in row.items() if text} == pytest.approx(expected)


def test_tensorboard_shows_two_checkpoints_of_one_name_as_one_curve(
    suite: Path, expected: dict[str, float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two curves of one point each answer nothing."""
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    monkeypatch.chdir(tmp_path)
    for step in (450, 900):
        assert evaluate(suite, "logger=tensorboard", f"logger_step={step}", "name=mine") == 0
    events = accumulator.EventAccumulator(str(Path(".wbgpu/logs/mine")))
    events.Reload()
    assert set(expected) <= set(events.Tags()["scalars"])
    scores = events.Scalars("wbgpu/score")
    assert [point.step for point in scores] == [450, 900]
    assert [point.value for point in scores] == pytest.approx([expected["wbgpu/score"]] * 2)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["logger=csv", "logger_step=-1"], "logger_step: expected a step, 0 or above, got -1"),
        (["+logger.level=3"], "logger: expected csv, tensorboard, or a _target_"),
        (["+logger._target_=builtins.dict"], "makes a dict, no logger of Lightning's"),
        (["+logger._target_=nowhere.Logger"], "logger: cannot make it: .*nowhere"),
    ],
)
def test_a_wrong_logger_is_refused_before_an_hour_of_decoding(
    suite: Path,
    overrides: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert evaluate(suite, *overrides) == 2
    assert re.search(message, capsys.readouterr().err)
    assert not Path(".wbgpu/logs").exists()


def test_the_result_does_not_depend_on_the_logger(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """verify-run compares configurations."""
    monkeypatch.chdir(tmp_path)
    results = []
    for overrides in ([], ["logger=csv", "logger_step=900"]):
        assert evaluate(suite, "output=result.json", *overrides) == 0
        results.append(wbgpu.load_result("result.json"))
    plain, logged = results
    assert plain.provenance is not None
    assert logged.provenance is not None
    assert plain.episodes == logged.episodes
    assert plain.provenance.configuration == logged.provenance.configuration
