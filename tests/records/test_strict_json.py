from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wbgpu.errors import ResultFileError
from wbgpu.records.strict_json import Line, parse_json, read_json, to_text, write_json, write_text

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("text", "json_path"),
    [
        ('{"a": [1.0, {"b": NaN}]}', "$.a[1].b"),
        ('{"score": Infinity}', "$.score"),
        ('{"score": -Infinity}', "$.score"),
        ('{"score": 1e999}', "$.score"),
        ("[0.5, -1e999]", "$[1]"),
        ("NaN", "$"),
    ],
)
def test_a_number_that_is_not_finite_is_refused_with_its_place(text: str, json_path: str) -> None:
    """A comparison with NaN is false, so a gate on it passes everything."""
    with pytest.raises(ResultFileError) as caught:
        parse_json(text, "result.json")
    assert caught.value.json_path == json_path
    assert "result.json" in str(caught.value)


def test_the_word_nan_inside_a_string_is_not_a_number() -> None:
    """A search in the text would refuse a checkpoint of that name."""
    assert parse_json('{"name": "NaN Infinity"}', "x") == {"name": "NaN Infinity"}


def test_a_key_that_stands_twice_is_refused() -> None:
    """Python keeps the last one, so a file could show one score and be read as another."""
    with pytest.raises(ResultFileError, match="'score' stands twice"):
        parse_json('{"score": 1.0, "score": 2.0}', "x")


@pytest.mark.parametrize("text", ["", "{", '{"a": 1,}', "[1] 2", "'a'", "[" * 100_000, "9" * 5000])
def test_what_is_not_json_is_an_error_of_the_file(text: str) -> None:
    """Another exception would leave the command with 1, the code of FAIL."""
    with pytest.raises(ResultFileError):
        parse_json(text, "x")


def test_read_names_what_is_wrong_with_the_file(tmp_path: Path) -> None:
    """Each of the three would otherwise be a traceback of Python."""
    with pytest.raises(ResultFileError, match="does not exist"):
        read_json(tmp_path / "absent.json")
    with pytest.raises(ResultFileError, match="found a folder"):
        read_json(tmp_path)
    (tmp_path / "latin.json").write_bytes(b'{"name": "\xe9"}')
    with pytest.raises(ResultFileError, match="not UTF-8"):
        read_json(tmp_path / "latin.json")


def test_a_message_about_the_whole_file_has_no_json_path(tmp_path: Path) -> None:
    """'a.json: $: the file does not exist' reads like damage."""
    file = tmp_path / "absent.json"
    with pytest.raises(ResultFileError) as caught:
        read_json(file)
    assert str(caught.value) == f"{file}: the file does not exist"
    assert caught.value.json_path == "$"
    with pytest.raises(ResultFileError, match=r"x: \$\.a: NaN"):
        parse_json('{"a": NaN}', "x")


def test_pipes_and_devices_are_not_read(tmp_path: Path) -> None:
    """A pipe without a writer is waited for, and /dev/zero read, without end."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for file in (pipe, Path("/dev/zero")):
        with pytest.raises(ResultFileError, match="expected a regular file"):
            read_json(file)


def test_a_device_is_written_through_and_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """As root, replacing /dev/null destroys it for the whole machine."""

    def forbidden(*_: object) -> None:
        raise AssertionError("replaced")

    monkeypatch.setattr(os, "replace", forbidden)
    before = Path("/dev/null").stat().st_rdev
    write_text("/dev/null", "text")
    assert Path("/dev/null").stat().st_rdev == before


def test_a_pipe_gets_the_text(tmp_path: Path) -> None:
    """A pipe that became a file would leave its reader waiting."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_text(pipe, "text")
        assert os.read(reader, 100) == b"text"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_is_followed(tmp_path: Path, exists: bool) -> None:
    """Teams link 'latest.json' into shared folders; a replaced link leaves the target stale."""
    target = tmp_path / "shared" / "result.json"
    target.parent.mkdir()
    if exists:
        target.write_text("old")
    link = tmp_path / "latest.json"
    link.symlink_to(target)
    assert write_text(link, "new") == link
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert [path.name for path in target.parent.iterdir()] == ["result.json"]


@given(JSON_VALUES)
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    """A reader that is stricter than the writer could not open our own files."""
    file = tmp_path_factory.mktemp("json") / "deep" / "value.json"
    assert read_json(write_json(file, value)) == json.loads(json.dumps(value))


def test_a_payload_that_is_not_finite_leaves_the_old_file(tmp_path: Path) -> None:
    """A run that breaks must not take the last good result with it."""
    file = write_json(tmp_path / "a.json", {"score": 1.0})
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(file, {"score": float("nan")})
    assert read_json(file) == {"score": 1.0}
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_write_that_fails_leaves_no_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folders of results are globbed; half a file in one would be read as a result."""
    file = write_text(tmp_path / "a.txt", "old")

    def no_replace(source: str, target: str) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", no_replace)
    with pytest.raises(OSError, match="disk full"):
        write_text(file, "new")
    assert file.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_the_file_is_as_readable_as_any_other(tmp_path: Path, umask: int) -> None:
    """Temporary files are private by habit, and a result is for whom the umask says."""
    before = os.umask(umask)
    try:
        written = write_text(tmp_path / "written", "x")
    finally:
        os.umask(before)
    assert written.stat().st_mode & 0o777 == 0o666 & ~umask


def test_writing_leaves_the_umask_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It belongs to the process: another thread's file could become writable for all."""

    def forbidden(mask: int) -> int:
        raise AssertionError(f"umask({mask:o})")

    monkeypatch.setattr(os, "umask", forbidden)
    write_text(tmp_path / "written", "x")


def test_two_writers_of_one_file_do_not_meet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one temporary name for both, the second would replace half of the first's text."""
    file, replace, names = tmp_path / "a.txt", os.replace, []

    def in_between(source: Path, target: Path) -> None:
        names.append(source)
        if len(names) == 1:
            write_text(file, "second")
        replace(source, target)

    monkeypatch.setattr(os, "replace", in_between)
    write_text(file, "first")
    assert len(set(names)) == 2
    assert file.read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_name_as_long_as_the_file_system_allows_can_be_written(tmp_path: Path) -> None:
    """A temporary name made from it would be too long."""
    assert write_text(tmp_path / ("x" * 255), "text").read_text() == "text"


def test_text_is_what_a_file_holds(tmp_path: Path) -> None:
    """What a command prints and what it saves must not differ."""
    payload = {"score": 1.5, "name": "a"}
    assert to_text(payload) == '{"score":1.5,"name":"a"}\n'
    nested = {"rows": [payload, payload], "empty": {}, "none": []}
    assert to_text(nested) == (
        '{\n  "rows": [\n    {"score":1.5,"name":"a"},\n    {"score":1.5,"name":"a"}\n  ],\n'
        '  "empty": {},\n  "none": []\n}\n'
    )
    with pytest.raises(TypeError, match="must be text, got 1"):
        to_text({1: [[]]})
    assert write_json(tmp_path / "a.json", payload).read_text() == to_text(payload)
    with pytest.raises(ValueError, match="JSON compliant"):
        to_text({"score": float("inf")})


@given(JSON_VALUES)
def test_what_is_written_is_what_the_json_module_would_write(document: object) -> None:
    """The layout is ours; the content must be that of a plain json.dumps."""
    assert json.loads(to_text(document)) == json.loads(json.dumps(document))


@given(JSON_VALUES, st.integers(0, 3))
def test_a_line_is_one_line_wherever_it_stands(value: Any, depth: int) -> None:
    """And the same object twice is the same text twice, though it is encoded once."""
    line = Line(first=value, second=[{"deep": [[value]]}])
    payload: Any = [line, {"again": line}, [[1]]]
    for _ in range(depth):
        payload = {"x": payload}
    text = to_text(payload)
    assert json.loads(text) == payload
    assert text.count(to_text(line).rstrip("\n")) == 2


@pytest.mark.parametrize("value", [float("nan"), float("-inf")])
def test_a_number_that_is_not_finite_among_nulls(value: float) -> None:
    """The fast encoder writes it as a null, which would read as a value that is not there."""
    for payload in (
        [None, value],
        {"null": None, "a": value},
        Line(a=[None, {"b": (value, None)}]),
    ):
        with pytest.raises(ValueError, match="JSON compliant"):
            to_text(payload)
    assert to_text(["null", None]) == '["null",null]\n'


def test_text_that_is_not_unicode() -> None:
    """A file name of other bytes than UTF-8, as Python gives it."""
    name = b"caf\xe9.mp4".decode("utf-8", "surrogateescape")
    assert json.loads(to_text({"path": name, "n": 1 << 70})) == {"path": name, "n": 1 << 70}
