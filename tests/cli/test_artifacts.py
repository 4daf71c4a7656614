from __future__ import annotations

import json
from pathlib import Path

import pytest

from wbgpu.cli.artifacts import (
    artifact_names,
    check_file,
    check_folder,
    default_output,
    new_run_folder,
    save,
)
from wbgpu.errors import ConfigurationError


def test_names_are_worldbenchs_where_they_are_unique(shared: Path) -> None:
    vectors = json.loads((shared / "golden/expected/unit_vectors.json").read_text("utf-8"))
    for episode_id, expected in vectors["safe_artifact_name"]:
        assert artifact_names([episode_id]) == {episode_id: expected}


def test_ids_that_look_alike_do_not_overwrite_each_other() -> None:
    """O24: worldbench keeps only the last of these three files."""
    ids = ["a b.mp4", "a/b.mp4", "a_b.mp4", "A_B.mp4", "c.mp4"]
    names = artifact_names(ids)
    assert names["c.mp4"] == "c.mp4"
    assert len({name.casefold() for name in names.values()}) == len(ids)
    assert artifact_names(reversed(ids)) == names


@pytest.mark.parametrize("name", ["../x", "a/b", "/abs", "..", ".", ""])
def test_a_checkpoint_name_cannot_leave_the_current_folder(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """worldbench writes ``--name ../x`` outside."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match="--output"):
        default_output(name)


def test_only_a_result_is_overwritten(tmp_path: Path) -> None:
    """O22: a checkpoint named `package` must not destroy package.json, nor --output a video."""
    path = tmp_path / "step.json"
    check_file(path, "--output")
    for text in ('{"result_type": "batch_evaluation"}', ""):
        path.write_text(text)
        check_file(path, "--output")
    for text in ('{"name": "a package"}', "[]", "not json"):
        path.write_text(text)
        with pytest.raises(ConfigurationError, match="not overwritten"):
            check_file(path, "--output")


def test_output_places_are_checked_before_the_work(tmp_path: Path) -> None:
    """worldbench crashes on ``--output .`` after everything is computed."""
    with pytest.raises(ConfigurationError, match="is a directory"):
        check_file(tmp_path, "--output")
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(ConfigurationError, match=f"--output-root: {file} exists and is not"):
        check_folder(file / "below", "--output-root")
    check_folder(tmp_path / "new" / "deep", "--output-root")
    check_file(tmp_path / "new" / "x.json", "--output")
    assert not (tmp_path / "new").exists()


def test_two_runs_have_two_folders_and_files_are_whole(tmp_path: Path) -> None:
    first, second = new_run_folder(tmp_path), new_run_folder(tmp_path)
    assert first != second
    paths = save(first, {"a.json": "{}\n", "b.md": "text\n"})
    assert paths["a.json"].read_text() == "{}\n"
    assert sorted(p.name for p in first.iterdir()) == ["a.json", "b.md"]
