from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

PYPROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from an sdist built from the repository."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, REPOSITORY],
        check=True,
        capture_output=True,
    )
    return folder


def test_every_package_is_listed() -> None:
    """A package that is missing from the explicit list vanishes silently from the wheel."""
    found = {
        ".".join(path.parent.relative_to(REPOSITORY).parts)
        for path in (REPOSITORY / "wbgpu").rglob("__init__.py")
    }
    listed = set(PYPROJECT["tool"]["setuptools"]["packages"])
    assert listed == found | {"wbgpu.configs"}


def test_the_version_is_said_once() -> None:
    text = (REPOSITORY / "wbgpu/version.py").read_text("utf-8")
    match = re.search(r'__version__ = "(.+)"', text)
    assert match is not None
    assert match[1] == PYPROJECT["project"]["version"]


def test_wheel_and_sdist_hold_code_configs_and_licence(distributions: Path) -> None:
    (wheel,) = distributions.glob("*.whl")
    (sdist,) = distributions.glob("*.tar.gz")
    configs = {
        path.relative_to(REPOSITORY / "configs").as_posix()
        for path in (REPOSITORY / "configs").rglob("*.yaml")
    }
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {f"wbgpu/configs/{name}" for name in configs} <= names
    assert "wbgpu/py.typed" in names
    assert "wbgpu/bench/templates/replay.js" in names
    assert "wbgpu/report/templates/report.css" in names
    assert "wbgpu/dashboard/templates/dashboard.js" in names
    assert not [name for name in names if name.startswith(("tests/", "configs/"))]
    with tarfile.open(sdist) as archive:
        archived = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"configs/{name}" for name in configs} | {"LICENSE", "README.md"} <= archived


def test_an_installed_wheel_composes_its_configuration_outside_the_repository(
    distributions: Path, tmp_path: Path
) -> None:
    (wheel,) = distributions.glob("*.whl")
    target = tmp_path / "installed"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", target, wheel],
        check=True,
        capture_output=True,
    )
    program = (
        "import wbgpu, sys; print(wbgpu.__file__); from wbgpu.cli.main import run; "
        "sys.exit(run(['eval', '--cfg', 'job', 'suite.num_context=3']))"
    )
    outcome = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(target)},
    )
    assert outcome.stdout.startswith(str(target))
    assert "num_context: 3" in outcome.stdout
