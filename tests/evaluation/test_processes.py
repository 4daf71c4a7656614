"""Several processes on one machine, started by wbgpu. Each start takes seconds, so they are few."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import pickle
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.evaluation.deadly_decoder import DeadlyDecoder
from tests.evaluation.small_suites import write_small_suite
from wbgpu.errors import ConfigurationError, InputError, NothingScoredError, RankError
from wbgpu.evaluation import processes
from wbgpu.evaluation.configuration import compose, request_from
from wbgpu.evaluation.request import EvaluationRequest
from wbgpu.evaluation.run import run
from wbgpu.records.strict_json import to_text
from wbgpu.records.timeline import Timeline
from wbgpu.records.worldbench import batch_payload

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_suite(tmp_path_factory.mktemp("suite"))


def request(suite: Path, *overrides: str, num_processes: int = 1) -> EvaluationRequest:
    paths = {
        "suite.ground_truth": str(suite / "gt"),
        "suite.predictions": str(suite / "step00900"),
        "trainer.devices": num_processes,
    }
    return request_from(compose(["suite.num_context=1", *overrides], paths))


def written(request: EvaluationRequest) -> str:
    return to_text(batch_payload(run(request)))


def test_any_number_of_processes_writes_the_same_bytes(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten real episodes; a mean over ranks, or rows in order of arrival, would differ in bits."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    suite = shared / "data/bridge_suite"
    alone = written(request(suite))
    for num_processes in (2, 3):
        assert written(request(suite, num_processes=num_processes)) == alone


def test_very_uneven_episodes_finish_and_a_failing_one_keeps_its_place(tmp_path: Path) -> None:
    """One episode of 160 frames, three short ones and one that is no video."""
    suite = write_small_suite(tmp_path, lengths=(5, 160, 5, 5, 5))
    (suite / "step00900/3.mp4").write_bytes(b"no video")
    result = run(request(suite, num_processes=2))
    assert [episode.num_steps for episode in result.episodes] == [4, 159, 4, 0, 4]
    assert [episode.episode_id for episode in result.failed_episodes] == ["3.mp4"]


@pytest.mark.parametrize(
    ("end", "message"),
    [
        ("kill", r"rank 1 of 2 was killed by SIGKILL .* while it evaluated '1.mp4'"),
        ("raise", r"(?s)rank 1 of 2 failed while it evaluated '1.mp4'.*ZeroDivisionError: as no"),
    ],
)
def test_a_rank_that_dies_ends_the_run_with_its_name(
    tmp_path: Path, end: str, message: str
) -> None:
    """Rank 0 hangs in its own episode, so that only the parent can notice and end it."""
    suite = write_small_suite(tmp_path, lengths=(12, 8))
    # Longest first: the one to rank 0, the other to rank 1.
    hanging = _Both(DeadlyDecoder("0.mp4", "hang"), DeadlyDecoder("1.mp4", end))
    doomed = dataclasses.replace(request(suite, num_processes=2), decoder=hanging)
    began = time.monotonic()
    with pytest.raises(RankError, match=message):
        run(doomed)
    assert time.monotonic() - began < 60


@dataclasses.dataclass(frozen=True)
class _Both:
    first: DeadlyDecoder
    second: DeadlyDecoder
    name: str = "pyav"

    def open(self, path: str | Path) -> object:
        is_first = Path(path).name == self.first.video
        return (self.first if is_first else self.second).open(path)


OF_ALL = NothingScoredError("no episode")
OF_ONE = InputError("no folder")
OF_ANOTHER = RankError("rank 1 of 2 failed with InputError: no folder")


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        # Nothing scored is no fault of a rank.
        ((OF_ALL, OF_ALL), OF_ALL),
        # Rank 0 has failed as one process alone would have, and the other has heard of it.
        ((OF_ONE, OF_ANOTHER), OF_ONE),
        ((OF_ANOTHER, OF_ONE), RankError("rank 1 of 2 failed before its first episode: no folder")),
        ((OF_ANOTHER, None), RankError("rank 1 of 2 ended with exit code 3 before its first")),
    ],
)
def test_of_several_errors_the_cause_is_told(errors: object, expected: Exception) -> None:
    """Which rank speaks first is chance."""

    class Ended:
        exitcode = 3

        def join(self) -> None: ...

    ranks = [
        processes._Rank(rank, Ended(), None, error=pickle.loads(pickle.dumps(error)), is_open=False)
        for rank, error in enumerate(errors)
    ]
    told = processes._failure(ranks)
    assert type(told) is type(expected)
    assert str(told).startswith(str(expected))


def test_where_the_whole_run_is_killed_its_processes_end_too(suite: Path) -> None:
    """Orphans would hold the GPU's memory, and the journal that the next run wants."""
    program = (
        "import dataclasses, sys; sys.path.insert(0, '.')\n"
        "from tests.evaluation.test_processes import *\n"
        "if __name__ == '__main__':\n"
        "    hanging = DeadlyDecoder('0.mp4', 'hang')\n"
        "    two = request(Path(sys.argv[1]), num_processes=2)\n"
        "    run(dataclasses.replace(two, decoder=hanging))\n"
    )
    script = suite / "run.py"
    script.write_text(program)
    parent = subprocess.Popen(
        [sys.executable, str(script), str(suite)], cwd=ROOT, env={**os.environ, "PYTHONPATH": "."}
    )
    children: list[int] = []
    while len(children) < 2:
        assert parent.poll() is None
        time.sleep(0.1)
        children = _ranks_of(parent.pid)
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _ranks_of(parent: int) -> list[int]:
    task = Path(f"/proc/{parent}/task")
    if not task.exists():
        pytest.skip("needs /proc")
    listed = [path.read_text().split() for path in task.glob("*/children")]
    pids = [int(pid) for part in listed for pid in part]
    return [p for p in pids if b"spawn_main" in Path(f"/proc/{p}/cmdline").read_bytes()]


def test_a_script_without_a_guard_is_told_so(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each process imports the script again; one that started further ones would never end."""
    current = multiprocessing.process.current_process()
    monkeypatch.setattr(current, "_inheriting", True, raising=False)
    with pytest.raises(ConfigurationError, match=r'put .* under if __name__ == "__main__"'):
        run(request(suite, num_processes=2))


def test_python_tells_processes_that_import_a_script_again(tmp_path: Path) -> None:
    """By an attribute that it does not document."""
    script = tmp_path / "unguarded.py"
    script.write_text(
        "import multiprocessing\n"
        "current = multiprocessing.process.current_process()\n"
        "is_child = getattr(current, '_inheriting', False)\n"
        "print(is_child, flush=True)\n"
        "if not is_child:\n"
        "    child = multiprocessing.get_context('spawn').Process(target=print, args=('ran',))\n"
        "    child.start()\n"
        "    child.join()\n"
    )
    ended = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=True
    )
    assert ended.stdout.split() == ["False", "True", "ran"]


def test_what_several_processes_cannot_do_is_refused_before_they_start(suite: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"profile.*trainer\.devices=1"):
        run(request(suite, num_processes=2), timeline=Timeline())
    with pytest.raises(ConfigurationError, match=r"trainer\.devices: 1000000 processes are more"):
        run(request(suite, num_processes=1_000_000))
    unpicklable = dataclasses.replace(request(suite, num_processes=2), decoder=lambda: None)
    with pytest.raises(ConfigurationError, match=r"trainer\.devices: .* cannot be sent to other"):
        run(unpicklable)
