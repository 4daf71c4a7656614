from __future__ import annotations

import pytest

from tests.conftest import REPOSITORY
from wbgpu.errors import ConfigurationError
from wbgpu.gating.load import load_policy
from wbgpu.gating.noninferiority import Noninferiority
from wbgpu.gating.thresholds import Thresholds

KINDS = {"worldbench": Thresholds, "noninferiority": Noninferiority}


@pytest.mark.parametrize("name", KINDS)
def test_the_files_say_what_python_would(name):
    """Two defaults that drift apart would give two verdicts."""
    assert load_policy(name) == KINDS[name]()


def test_every_file_is_known_and_names_every_setting():
    files = sorted(path.stem for path in (REPOSITORY / "configs/gate").glob("*.yaml"))
    assert files == sorted(KINDS)
    for name, kind in KINDS.items():
        text = (REPOSITORY / f"configs/gate/{name}.yaml").read_text("utf-8")
        assert all(f"\n{field}:" in text for field in kind.__dataclass_fields__)


def test_overrides_and_a_file_of_ones_own(tmp_path):
    assert load_policy("noninferiority", margin=0.25).margin == 0.25
    path = tmp_path / "strict.yaml"
    path.write_text(
        "_target_: wbgpu.gating.noninferiority.Noninferiority\nmargin: 0.5\n"
        "required_metrics: [visual_similarity]\n"
    )
    policy = load_policy(path, seed=7)
    assert policy == Noninferiority(margin=0.5, seed=7, required_metrics=("visual_similarity",))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("margin: 1\n", "_target_"),
        ("- 1\n", "_target_"),
        ("_target_: no.such.Thing\n", "cannot be found"),
        ("_target_: Noninferiority\n", "cannot be found"),
        ("_target_: pathlib.Path\n", "no kind of"),
        ("_target_: wbgpu.gating.noninferiority.Noninferiority\nmargn: 1\n", "nearest: 'margin'"),
        ("_target_: wbgpu.gating.noninferiority.Noninferiority\nmargin: .nan\n", "finite"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(tmp_path, text, words):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=words):
        load_policy(path)


def test_an_unknown_policy_names_the_nearest():
    with pytest.raises(ConfigurationError, match="nearest: 'noninferiority'"):
        load_policy("non-inferiority")
