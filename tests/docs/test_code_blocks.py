"""Every code block of README.md and docs is run, page by page; README says how.

A page's blocks run in their order in one folder, which has the small suite of `given` and what
the page's comment ``given`` names.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.docs import given
from tests.docs.after import CHECKS
from tests.docs.blocks import read_page
from tests.docs.running import PageRun

BRIDGE = REPOSITORY.parent / "shared/data/bridge_suite"
PAGES = [REPOSITORY / "README.md", *sorted(REPOSITORY.glob("docs/**/*.md"))]
NAMES = [path.relative_to(REPOSITORY).as_posix() for path in PAGES]


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small suite and its results, made once."""
    folder = tmp_path_factory.mktemp("docs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        given.write_suite(folder)
        given.write_results(folder)
    return folder


@pytest.mark.parametrize("name", [n for n in NAMES if read_page(REPOSITORY / n, n).blocks])
def test_page(
    name: str,
    kept: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """What a reader copies runs, and prints what the page shows."""
    page = read_page(REPOSITORY / name, name)
    for folder in (*given.CHECKPOINTS, "gt", "actions"):
        shutil.copytree(kept / folder, tmp_path / folder)
    monkeypatch.chdir(tmp_path)
    for thing in page.given:
        given.give(thing, tmp_path, kept)
    # One folder stands for the Hub.
    monkeypatch.setattr(
        "huggingface_hub.snapshot_download", lambda *_, **__: str(tmp_path / "datasets/pusht")
    )
    page_run = PageRun(page, lambda: tuple(capfd.readouterr()), BRIDGE if BRIDGE.is_dir() else None)
    page_run.run()
    CHECKS.get(name, lambda: None)()
    if page_run.not_compared:
        pytest.skip(f"run, but without the BridgeData suite not compared: {page_run.not_compared}")
