"""The journal itself; how runs use it is in test_resume.py."""

from __future__ import annotations

import dataclasses
import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wbgpu.errors import JournalError
from wbgpu.evaluation.journal import JOURNAL_NAME, Journal, journal_in, remove_journal
from wbgpu.records.metric import MetricOutcome
from wbgpu.records.suite import EpisodeFailure, EpisodeResult
from wbgpu.records.video import Alignment, VideoInfo

HEADER = {"protocol": {"num_context": 2, "metric_ids": {"psnr": "psnr/1"}}, "decoder": "pyav"}
VIDEO = VideoInfo(
    "a.mp4", 5, 4, 6, 4.9, "h264", "yuv420p", None, "limited", 90, False, "pyav", "cpu"
)
EPISODE = EpisodeResult(
    episode_id="a/é b.mp4",
    ground_truth_path="gt/a/é b.mp4",
    prediction_path="p/a.mp4",
    num_steps=2,
    score=100 / 3,
    prefix_scores=(1e-300, None),
    metrics={
        "psnr": MetricOutcome(
            "psnr",
            "psnr/1",
            "available",
            value=-0.0,
            prefix=(0.1, -0.0),
            prefix_reasons=(None, "why"),
            step=(5e-324, 1.7976931348623157e308),
            prefix_details={"ssim": (1, 2.0, True, None), "words": ("a", None)},
            issues=("a remark",),
        ),
        "ssim": MetricOutcome("ssim", "ssim/1", "error", reason="no", error_type="ValueError"),
    },
    alignment=Alignment("safe", 1, 2, VIDEO, VIDEO, True, False, 3, ("shorter",)),
    warnings=("shorter",),
)
DIGESTS = {"ground_truth/a/é b.mp4": "0f"}


def episode(name: str) -> EpisodeResult:
    return dataclasses.replace(EPISODE, episode_id=name)


def write(path: Path, *names: str, rank: int = 0, resume: bool = False) -> None:
    with Journal(path, HEADER, rank=rank, resume=resume) as journal:
        for name in names:
            journal.append(episode(name), lambda: DIGESTS)


def read(path: Path) -> list[str]:
    with Journal(path, HEADER, resume=True) as journal:
        return list(journal.finished)


def test_an_episode_comes_back_bit_for_bit(tmp_path: Path) -> None:
    """A resumed run would otherwise write other bytes than an uninterrupted one."""
    path = tmp_path / JOURNAL_NAME
    with Journal(path, HEADER) as journal:
        journal.append(EPISODE, lambda: DIGESTS)
    with Journal(path, HEADER, resume=True) as journal:
        (found,) = journal.finished.values()
    assert repr(found.episode) == repr(EPISODE)  # unlike ==, tells -0.0 from 0.0 and 2 from 2.0
    assert found.input_sha256 == DIGESTS


def test_a_nan_comes_back_as_a_nan(tmp_path: Path) -> None:
    """A NaN is a fault that the result's writer refuses; as null it would pass for missing."""
    bad = dataclasses.replace(EPISODE, prefix_scores=(math.nan, math.inf))
    with Journal(tmp_path / JOURNAL_NAME, HEADER) as journal:
        journal.append(bad, lambda: {})
    with Journal(tmp_path / JOURNAL_NAME, HEADER, resume=True) as journal:
        (found,) = journal.finished.values()
    assert repr(found.episode.prefix_scores) == "(nan, inf)"


def test_a_failure_is_tried_again(tmp_path: Path) -> None:
    """A network file system that was away for a minute must not fail the episode for good."""
    failed = dataclasses.replace(EPISODE, failure=EpisodeFailure("VideoError", "away"))
    with Journal(tmp_path / JOURNAL_NAME, HEADER) as journal:
        journal.append(failed, lambda: DIGESTS)
    assert read(tmp_path / JOURNAL_NAME) == []


@pytest.fixture(scope="module")
def three_lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("journal") / JOURNAL_NAME
    write(path, "a", "b", "c")
    return path


@given(data=st.data())
def test_wherever_a_machine_died_what_was_whole_counts(
    data: st.DataObject, three_lines: Path
) -> None:
    """Cut anywhere: no error, no torn episode, and what is appended later is read again."""
    whole = three_lines.read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    path = three_lines.with_name("cut.jsonl")
    path.write_bytes(whole[:cut])
    num_whole = max(0, whole[:cut].count(b"\n") - 1)
    assert read(path) == ["a", "b", "c"][:num_whole]
    write(path, "d", resume=True)
    assert read(path) == [*["a", "b", "c"][:num_whole], "d"]


@given(data=st.data())
def test_a_damaged_line_does_not_count(data: st.DataObject, three_lines: Path) -> None:
    """A changed digit is valid JSON; only the checksum tells."""
    lines = three_lines.read_bytes().splitlines(keepends=True)
    where = data.draw(st.integers(0, len(lines[2]) - 2))
    changed = bytearray(lines[2])
    changed[where] ^= data.draw(st.sampled_from([1, 2, 4, 0xFF]))
    if 10 in changed[:-1]:
        return  # a line break makes two lines of it, which is the same case
    path = three_lines.with_name("damaged.jsonl")
    path.write_bytes(lines[0] + lines[1] + bytes(changed) + lines[3])
    assert read(path) == ["a", "c"]


def test_a_run_that_does_not_resume_starts_anew(tmp_path: Path) -> None:
    path = tmp_path / JOURNAL_NAME
    write(path, "a")
    write(path, "x", rank=2)
    write(path, "b")
    assert read(path) == ["b"]
    assert sorted(file.name for file in tmp_path.iterdir()) == [JOURNAL_NAME]


def test_the_files_of_all_ranks_are_taken_over_once(tmp_path: Path) -> None:
    """Also by a run of another number of ranks, which cannot know the old ones' files."""
    path = tmp_path / JOURNAL_NAME
    write(path, "a", "b")
    write(path, "c", rank=1)
    write(path, "d", "b", rank=12)
    (tmp_path / f"{JOURNAL_NAME}.bak").write_text("the user's own")
    assert sorted(read(path)) == ["a", "b", "c", "d"]
    assert sorted(file.name for file in tmp_path.iterdir()) == [JOURNAL_NAME, f"{JOURNAL_NAME}.bak"]
    assert sorted(read(path)) == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (
            {**HEADER, "protocol": {"num_context": 3, "metric_ids": {"psnr": "psnr/1"}}},
            "protocol.num_context: 2 in the journal, 3 now",
        ),
        (
            {**HEADER, "protocol": {"num_context": 2, "metric_ids": {"mse": "mse/1"}}},
            "protocol.metric_ids.psnr: psnr/1 in the journal, absent now",
        ),
        ({**HEADER, "decoder": "decord"}, "decoder: pyav in the journal, decord now"),
    ],
)
def test_a_journal_of_another_evaluation_is_refused(
    tmp_path: Path, header: dict[str, object], message: str
) -> None:
    """Scores of two protocols in one result would compare with nothing; the message says which."""
    path = tmp_path / JOURNAL_NAME
    write(path, "a")
    before = path.read_bytes()
    with pytest.raises(JournalError) as error:
        Journal(path, header, resume=True)
    assert message in str(error.value)
    assert path.read_bytes() == before


def test_what_is_no_journal_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "batch.json"
    path.write_text('{"score": 1}\n{}\n')
    with pytest.raises(JournalError, match="no journal"):
        Journal(path, HEADER, resume=True)
    assert path.read_text() == '{"score": 1}\n{}\n'


@pytest.mark.parametrize("name", ["batch.json", "batch.json.1"])
@pytest.mark.parametrize("resume", [True, False])
def test_no_other_file_is_emptied_or_deleted(tmp_path: Path, name: str, resume: bool) -> None:
    """`journal=batch.json` for `output=`; and a file of the user's that is called like a rank's."""
    (tmp_path / name).write_text("precious")
    with pytest.raises(JournalError, match=f"{name}: .* no journal"):
        Journal(tmp_path / "batch.json", HEADER, resume=resume)
    assert (tmp_path / name).read_text() == "precious"


def test_a_run_that_finishes_no_episode_leaves_nothing(tmp_path: Path) -> None:
    """A wrong setting would otherwise leave folders, and a journal to be resumed by mistake."""
    with Journal(tmp_path / "run" / JOURNAL_NAME, HEADER):
        pass
    assert list(tmp_path.iterdir()) == []


def test_two_runs_do_not_write_one_journal(tmp_path: Path) -> None:
    """Lines of both would mix; and the second would empty the file of the first."""
    path = tmp_path / JOURNAL_NAME
    write(path, "an older run's")
    with Journal(path, HEADER) as journal:
        journal.append(EPISODE, lambda: DIGESTS)
        for resume in (True, False):
            with pytest.raises(JournalError, match="another run is writing"):
                Journal(path, HEADER, resume=resume)
    assert read(path) == [EPISODE.episode_id]


def test_a_killed_process_leaves_what_it_had_finished_and_no_lock(tmp_path: Path) -> None:
    """Durable when the line is written and not when the file is closed."""
    program = (
        "import os, signal, sys, time; sys.path.insert(0, '.')\n"
        "from pathlib import Path\n"
        "from tests.evaluation.test_journal import *\n"
        "path = Path(sys.argv[1])\n"
        "journal = Journal(path, HEADER)\n"
        "journal.append(episode('a'), lambda: DIGESTS)\n"
        "while not path.exists() or path.read_bytes().count(b'\\n') < 2: time.sleep(0.01)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    root = Path(__file__).resolve().parents[2]
    path = tmp_path / JOURNAL_NAME
    ended = subprocess.run([sys.executable, "-c", program, str(path)], cwd=root, check=False)
    assert ended.returncode == -9
    assert read(path) == ["a"]


def test_an_error_on_the_journals_thread_ends_the_run(tmp_path: Path) -> None:
    def unreadable() -> dict[str, str]:
        raise OSError("disk gone")

    with pytest.raises(OSError, match="disk gone"), Journal(tmp_path / JOURNAL_NAME, HEADER) as one:
        one.append(EPISODE, unreadable)


def test_lines_are_json_that_other_tools_read(three_lines: Path) -> None:
    header, *lines = map(json.loads, three_lines.read_text().splitlines())
    assert header["line"]["decoder"] == "pyav"
    assert [line["line"]["episode"]["episode_id"] for line in lines] == ["a", "b", "c"]


def test_to_resume_the_newest_run_that_died_is_found(tmp_path: Path) -> None:
    new = tmp_path / "20260102-000000-000000"
    assert journal_in(new, resume=True) == new / JOURNAL_NAME  # there is none
    for name in ("20260101-000000-000000", "20260101-000000-000001", "my-run", "latest"):
        (tmp_path / name).mkdir()
        write(tmp_path / name / JOURNAL_NAME, "a")
    newest = tmp_path / "20260101-000000-000001" / JOURNAL_NAME
    assert journal_in(new, resume=True) == newest
    assert journal_in(new, resume=False) == new / JOURNAL_NAME
    # A folder that the user named has its own journal or none: the others are other evaluations.
    assert journal_in(tmp_path / "other", resume=True) == tmp_path / "other" / JOURNAL_NAME
    with Journal(newest, HEADER):
        older = tmp_path / "20260101-000000-000000" / JOURNAL_NAME
        assert journal_in(new, resume=True) == older


def test_a_removed_journal_leaves_no_empty_folder_and_no_other_file(tmp_path: Path) -> None:
    write(tmp_path / "a" / JOURNAL_NAME, "a")
    write(tmp_path / "a" / JOURNAL_NAME, "b", rank=1)
    write(tmp_path / "b" / JOURNAL_NAME, "a")
    (tmp_path / "b" / "batch.json").touch()
    for name in ("a", "b", "missing"):
        remove_journal(tmp_path / name / JOURNAL_NAME)
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == [
        "b",
        "b/batch.json",
    ]
