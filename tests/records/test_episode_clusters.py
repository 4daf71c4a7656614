from __future__ import annotations

import pytest

from wbgpu.errors import ConfigurationError, InputError
from wbgpu.records.episode_clusters import clusters_by_pattern, read_clusters


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_csv_with_one_other_column(write):
    path = write("c.csv", '\ufeffscene,episode_id\nkitchen,a.mp4\n"lab, left",b.mp4\n')
    assert read_clusters(path) == {"a.mp4": "kitchen", "b.mp4": "lab, left"}


def test_csv_with_a_named_column(write):
    path = write("c.csv", "episode_id,scene,task\na,k,open\nb,k,close\n")
    assert read_clusters(path, "task") == {"a": "open", "b": "close"}


def test_json_in_both_shapes(write):
    assert read_clusters(write("a.json", '{"a": "k", "b": 3}')) == {"a": "k", "b": "3"}
    rows = '[{"episode_id": "a", "task": 1}, {"episode_id": "b", "task": 2}]'
    assert read_clusters(write("b.json", rows)) == {"a": "1", "b": "2"}
    rows = '[{"episode_id": "a", "score": 0.5, "done": null, "task": "open"}]'
    assert read_clusters(write("c.json", rows)) == {"a": "open"}


def test_the_first_group_of_a_pattern_or_the_whole_match():
    ids = ["kitchen/1.mp4", "lab/2.mp4"]
    assert clusters_by_pattern("^([^/]+)/", ids) == {ids[0]: "kitchen", ids[1]: "lab"}
    assert clusters_by_pattern(r"\d", ids) == {ids[0]: "1", ids[1]: "2"}


@pytest.mark.parametrize(
    ("name", "text", "column", "error", "words"),
    [
        ("c.csv", "episode_id,scene\na,k\na,k\n", None, InputError, "'a' stands twice"),
        ("c.csv", "episode_id,scene\na,\n", None, InputError, "row 1 has no scene"),
        ("c.csv", "episode_id,scene\n,k\n", None, InputError, "row 1 has no episode_id"),
        ("c.csv", "episode,scene\na,k\n", None, InputError, "'episode_id'"),
        ("c.csv", "", None, InputError, "'episode_id'"),
        ("c.csv", "episode_id;scene\na;k\n", None, InputError, "found 'episode_id;scene'"),
        ("c.json", '[{"episode_id": "a", "task": 0.5}]', "task", ConfigurationError, "no column"),
        ("c.csv", "episode_id,s,t\na,k,l\n", None, ConfigurationError, "name one"),
        ("c.csv", "episode_id,scene\na,k\n", "scen", ConfigurationError, "nearest: 'scene'"),
        ("c.json", '{"a": "k"}', "task", ConfigurationError, "no columns"),
        ("c.json", '{"a": true}', None, InputError, r"\$\.a"),
        ("c.json", '{"a": "k", "a": "l"}', None, InputError, "stands twice"),
    ],
)
def test_what_is_wrong_is_named(write, name, text, column, error, words):
    with pytest.raises(error, match=words):
        read_clusters(write(name, text), column)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.csv"):
        read_clusters(tmp_path / "none.csv")


@pytest.mark.parametrize(("pattern", "words"), [("(", "regular expression"), ("^x", "'a.mp4'")])
def test_a_pattern_that_does_not_fit_is_refused(pattern, words):
    with pytest.raises(ConfigurationError, match=words):
        clusters_by_pattern(pattern, ["a.mp4"])
