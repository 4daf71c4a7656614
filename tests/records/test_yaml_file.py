from __future__ import annotations

import pytest

from wbgpu.errors import ConfigurationError
from wbgpu.records.yaml_file import read_yaml


def test_reads_what_people_write(tmp_path):
    """Anchors and merges are YAML's way to say a thing once."""
    path = tmp_path / "file.yaml"
    path.write_text("a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: *a\n", encoding="utf-8")
    assert read_yaml(path) == {"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 3}, "c": {"x": 1, "y": 2}}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"a: 1\na: 2\n", "the key 'a' stands twice"),
        (b"a: [1\n", "not valid YAML"),
        (b"a: \xff\n", "not valid YAML"),
        (b"a: 2026-13-99\n", "not valid YAML"),
        (b"a: !!python/object:os.system {}\n", "not valid YAML"),
        (b"[" * 5000, "nested too deeply"),
    ],
)
def test_refuses_the_rest_and_names_the_file(tmp_path, content, reason):
    """PyYAML keeps the last of two equal keys, and lets half a dozen exceptions out."""
    path = tmp_path / "file.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=reason) as raised:
        read_yaml(path)
    assert str(path) in str(raised.value)


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(ConfigurationError, match=r"none\.yaml: the file does not exist"):
        read_yaml(tmp_path / "none.yaml")


def test_refuses_a_folder(tmp_path):
    with pytest.raises(ConfigurationError, match="found another kind"):
        read_yaml(tmp_path)
