from __future__ import annotations

import json
from pathlib import Path

import pytest
from worldbench.config import GateConfig, load_config

from wbgpu.errors import ConfigurationError
from wbgpu.records.comparison import GATE_DEFAULTS
from wbgpu.records.profile import Profile
from wbgpu.records.project_file import load_project_file

GOOD = """
metrics:
  temporal_stability: {enabled: true, required: true, weight: 0.5}
  contact_realism: {enabled: false}
  visual_similarity: {weight: 2}
gate:
  max_metric_drop: 1.5
  strict_config_match: false
output:
  markdown: false
"""


def test_without_a_file_the_defaults_are_worldbenchs(tmp_path: Path) -> None:
    """Otherwise the same folder would be scored with other weights by the two tools."""
    project = load_project_file(folder=tmp_path)
    assert project.path is None
    assert project.profile == Profile()
    assert project.gate == {}


def test_settings_and_hash_equal_worldbenchs_reading_of_the_same_file(tmp_path: Path) -> None:
    """P64, P65: otherwise the same project file would give hashes that a gate refuses."""
    path = tmp_path / "worldbench.yml"
    path.write_text(GOOD)
    theirs, _ = load_config(path)
    ours = load_project_file(path)
    assert ours.profile.configuration_hash == theirs.configuration_hash
    assert list(ours.profile.enabled_metrics) == theirs.enabled_metrics
    assert list(ours.profile.required_metrics) == theirs.required_metrics
    assert ours.profile.configured_weights == theirs.configured_weights
    assert ours.gate == {"max_metric_drop": 1.5, "strict_config_match": False}


def test_released_fixture_files_load(shared: Path) -> None:
    """A project that changes tools keeps its file."""
    folder = shared / "data/worldbench_artifacts/fixtures_v0_4_1"
    for name in ("worldbench.yml", "gate_config.yml"):
        project = load_project_file(folder / name)
        assert project.profile.configuration_hash == Profile().configuration_hash
        assert project.gate["max_episode_regressions"] == 0


def test_found_in_the_folder_and_named(tmp_path: Path) -> None:
    """A file that nobody mentioned must not flip a verdict silently, so its path is kept."""
    (tmp_path / "worldbench.yml").write_text(GOOD)
    assert load_project_file(folder=tmp_path).path == tmp_path / "worldbench.yml"
    (tmp_path / "wbgpu.yml").write_text("{}")
    assert load_project_file(folder=tmp_path).path == tmp_path / "wbgpu.yml"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "metrics: {visual: {enabled: true}}",
            "metrics: unknown key 'visual'; nearest: 'visual_similarity'",
        ),
        (
            "metrics: {visual_similarity: {wieght: 1}}",
            "metrics.visual_similarity: unknown key 'wieght'; nearest: 'weight'",
        ),
        ("gates: {}", "the file: unknown key 'gates'; nearest: 'gate'"),
        ("gate: {max_drop: 1}", "gate: unknown key 'max_drop'; nearest: 'max_"),
        (
            "metrics: {visual_similarity: {weight: -1}}",
            "metrics.visual_similarity.weight: expected a finite number >= 0, got -1",
        ),
        (
            "metrics: {visual_similarity: {weight: .inf}}",
            "metrics.visual_similarity.weight: expected a finite number >= 0, got inf",
        ),
        (
            "metrics: {visual_similarity: {weight: true}}",
            "metrics.visual_similarity.weight: expected a number, got True",
        ),
        (
            "metrics: {visual_similarity: {enabled: 1}}",
            "metrics.visual_similarity.enabled: expected true or false, got 1",
        ),
        (
            "metrics: {visual_similarity: {enabled: false, required: true, weight: 1}}",
            "required metrics must be enabled: visual_similarity",
        ),
        ("metrics: [visual_similarity]", "expected key: value pairs, got list"),
        ("just text", "expected key: value pairs, got str"),
        ("metrics: {a: [", "not valid YAML"),
        (
            "gate: {max_metric_drop: 0, max_metric_drop: 100}",
            "the key 'max_metric_drop' stands twice",
        ),
        ("gate: {}\nmetrics: {}\n'gate': {}", "the key 'gate' stands twice"),
        ("[" * 5000, "nested too deeply"),
        ("gate: 2026-99-99", "not valid YAML"),
        ("? [gate]\n: 1", "not valid YAML"),
        (
            json.dumps({"metrics": {name: {"enabled": False} for name in Profile().metrics}}),
            "at least one composite metric must be enabled",
        ),
        (
            json.dumps({"metrics": {name: {"weight": 0} for name in Profile().metrics}}),
            "weights sum to zero",
        ),
    ],
)
def test_a_wrong_file_is_refused_with_its_name_and_key(
    tmp_path: Path, text: str, message: str
) -> None:
    """P66: with neither, a typing error is looked for in the wrong file."""
    path = tmp_path / "wbgpu.yml"
    path.write_text(text)
    with pytest.raises(ConfigurationError) as error:
        load_project_file(path)
    assert str(error.value).startswith(f"{path}: ")
    assert str(error.value).count(str(path)) == 1
    assert message in str(error.value)


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    """Falling back to the defaults would drop the project's limits silently."""
    with pytest.raises(ConfigurationError, match="does not exist"):
        load_project_file(tmp_path / "none.yml")


def test_a_file_that_cannot_be_read_is_an_error_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A traceback ends a gate with 1, the code of FAIL."""
    with pytest.raises(ConfigurationError, match=f"{tmp_path}: expected a configuration file"):
        load_project_file(tmp_path)
    path = tmp_path / "wbgpu.yml"
    path.write_text(GOOD)

    def forbidden(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", forbidden)
    with pytest.raises(ConfigurationError, match=r"wbgpu.yml: cannot be read \(Permission denied"):
        load_project_file(path)


def test_merged_keys_may_be_overridden(tmp_path: Path) -> None:
    """That is what YAML's merge is for, and no key stands twice."""
    path = tmp_path / "wbgpu.yml"
    path.write_text("gate: {<<: {max_metric_drop: 1, max_horizon_drop: 2}, max_metric_drop: 3}")
    assert load_project_file(path).gate == {"max_metric_drop": 3, "max_horizon_drop": 2}


def test_keys_and_defaults_of_the_gate_are_worldbenchs() -> None:
    """A key that is missing here would be refused although worldbench knows it."""
    assert GateConfig().model_dump() == dict(GATE_DEFAULTS)
