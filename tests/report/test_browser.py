"""Pages in a real browser: wide and narrow, light and dark, and checked by axe-core."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile

import pytest

from scripts.chromium import Chromium, find_chromium
from tests.conftest import REPOSITORY, _skip
from tests.records.regret_results import regret_result
from tests.report.pages import hostile_page, large_page
from wbgpu import sdk

AXE_VERSION = "4.11.0"
RESULTS = REPOSITORY / "artifacts/bridge_suite"
STYLES = [(1280, False), (1280, True), (390, False), (390, True)]

_OVERFLOWING = """[...document.querySelectorAll('main *')].filter((e) => {
  if (e.closest('.scroll, .figure, svg, details:not([open])')) return false;
  return e.getBoundingClientRect().right > document.documentElement.clientWidth + 1;
}).map((e) => e.outerHTML.slice(0, 100))"""
_SMALLEST_TEXT = """Math.min(...[...document.querySelectorAll('svg text')].map((e) =>
  Math.hypot(e.getScreenCTM().a, e.getScreenCTM().b) * parseFloat(getComputedStyle(e).fontSize)))"""


@pytest.fixture(scope="module")
def browser():
    program = find_chromium()
    if program is None:
        _skip("there is no Chromium", "WBGPU_REQUIRE_CHROMIUM")
    with Chromium(program) as browser:
        yield browser


@pytest.fixture(scope="session")
def axe(tmp_path_factory):
    """The source of axe-core, from npm."""
    npm = shutil.which("npm")
    if npm is None:
        _skip("there is no npm to fetch axe-core with", "WBGPU_REQUIRE_AXE")
    folder = tmp_path_factory.mktemp("axe")
    command = [npm, "pack", "--silent", f"axe-core@{AXE_VERSION}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        _skip("npm could not fetch axe-core", "WBGPU_REQUIRE_AXE")
    with tarfile.open(next(folder.glob("*.tgz"))) as archive:
        member = archive.extractfile("package/axe.min.js")
        assert member is not None
        return member.read().decode()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Paths by name: two real checkpoints, hostile names, many episodes, regret."""
    folder = tmp_path_factory.mktemp("pages")
    seeds = tuple(range(6))
    regret = [regret_result(name, seeds=seeds, num_steps=20) for name in ("kt", "mixed")]
    texts = {
        "real": sdk.report_page(
            RESULTS / "step00900.json",
            RESULTS / "step00060.json",
            policy="noninferiority",
            video_folders=[REPOSITORY],
        ),
        "hostile": hostile_page()[1],
        "large": large_page(),
        "regret": sdk.report_page(regret[1], regret[0], policy="noninferiority"),
    }
    paths = {name: folder / f"{name}.html" for name in texts}
    for name, text in texts.items():
        paths[name].write_text(text, "utf-8")
    return paths


@pytest.mark.parametrize("name", ["real", "hostile", "large", "regret"])
@pytest.mark.parametrize(("width", "dark"), STYLES)
def test_pages_open_without_errors_and_fit(browser, pages, name, width, dark):
    """What is wider than the window hides; a console error is something that did not work."""
    browser.show(pages[name].as_uri(), width=width, dark=dark)
    assert browser.problems == []
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.evaluate(_OVERFLOWING) == []
    assert browser.evaluate(_SMALLEST_TEXT) >= 9
    background = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, background[4:-1].split(","))) < 150) == dark


@pytest.mark.parametrize("name", ["real", "hostile", "large", "regret"])
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing(browser, pages, axe, name, dark):
    """Contrast, names of regions and pictures, order of headings, keyboard access."""
    browser.show(pages[name].as_uri(), width=1280, dark=dark)
    browser.evaluate(axe + "; null")
    found = browser.evaluate("axe.run().then((r) => JSON.stringify(r.violations))")
    violations = [
        (v["id"], v["nodes"][0]["html"][:200], v["nodes"][0].get("failureSummary", "")[:300])
        for v in json.loads(found)
    ]
    assert violations == []


def test_the_page_of_ten_real_episodes_is_small_and_its_videos_play(browser, pages, shared):
    """A video that Chromium cannot decode is a black box."""
    assert 500_000 < pages["real"].stat().st_size < 8_000_000
    browser.show(pages["real"].as_uri(), width=1280)
    sizes = browser.evaluate(
        """Promise.all([...document.querySelectorAll('video')].map((v) => new Promise((done) => {
          const tell = () => done([v.videoWidth, v.videoHeight, v.duration, v.error]);
          if (v.readyState >= 2) tell(); else { v.onloadeddata = tell; v.onerror = tell; v.load(); }
        })))"""
    )
    assert len(sizes) == 6
    for width, height, duration, error in sizes:
        # Three panels of 256 pixels and two gaps; 16 scored steps of 5 frames a second.
        assert (width, height, error) == (3 * 256 + 8, 256, None)
        assert duration == pytest.approx(3.2, abs=0.3)
    loaded = browser.evaluate(
        "[...document.images].every((image) => image.complete && image.naturalWidth > 0)"
    )
    assert loaded


def test_pages_of_a_table_open_without_scripts(browser, pages):
    """The page has none; opening one page of the table closes the one before."""
    browser.show(pages["large"].as_uri(), width=1280)
    assert browser.evaluate("document.scripts.length") == 0
    browser.evaluate("document.querySelector('#episodes details').open = true")
    browser.evaluate("[...document.querySelectorAll('details.page')].at(-1).open = true")
    opened = browser.evaluate(
        "[...document.querySelectorAll('details.page[open] summary')].map((s) => s.textContent)"
    )
    (title,) = opened
    assert title.startswith("951 to 1000 of 1000")
