"""Several processes on one machine, started by wbgpu. Each start takes seconds, so they are few."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.evaluation.deadly_decoder import DeadlyDecoder
from tests.evaluation.small_suites import write_small_suite
from wbgpu.errors import ConfigurationError, NothingScoredError, RankError
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


@pytest.mark.parametrize("num_processes", [2, 3])
def test_any_number_of_processes_writes_the_same_bytes(
    shared: Path, monkeypatch: pytest.MonkeyPatch, num_processes: int
) -> None:
    """Ten real episodes; a mean over ranks, or rows in order of arrival, would differ in bits."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    suite = shared / "data/bridge_suite"
    assert written(request(suite, num_processes=num_processes)) == written(request(suite))


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


def test_an_error_of_all_ranks_is_that_of_one_process(tmp_path: Path) -> None:
    """Nothing scored is no fault of a rank."""
    suite = write_small_suite(tmp_path, lengths=(5, 5))
    hopeless = dataclasses.replace(request(suite, num_processes=2), num_context=100)
    with pytest.raises(NothingScoredError, match=r"0\.mp4.*leaves no"):
        run(hopeless)


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


def test_a_script_without_a_guard_is_told_so(suite: Path, tmp_path: Path) -> None:
    """Each process imports the script again; one that started further ones would never end."""
    script = tmp_path / "unguarded.py"
    script.write_text(
        "import wbgpu\n"
        f"folders = {str(suite / 'gt')!r}, {str(suite / 'step00900')!r}\n"
        "wbgpu.evaluate(*folders, num_context=1, overrides=['trainer.devices=2'])\n"
    )
    ended = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert ended.returncode == 1
    assert 'put what the script does under if __name__ == "__main__"' in ended.stderr


def test_what_several_processes_cannot_do_is_refused_before_they_start(suite: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"profile.*trainer\.devices=1"):
        run(request(suite, num_processes=2), timeline=Timeline())
