"""The pages in a real browser, with scripts and without."""

from __future__ import annotations

import shutil

import pytest

from tests.bench.browser import Page
from tests.bench.test_pages import HOSTILE, run_of
from tests.conftest import _skip

NUM_STEPS = 6
SHOWN = "[...document.querySelectorAll('#steps tbody tr')].map(r => r.checkVisibility())"
PICTURES = "[...document.images].filter(i => i.naturalWidth === 192).length"


@pytest.fixture
def browser(tmp_path):
    """Opens pages in headless Chromium; none may have written to its console in the end."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        _skip("there is no Chromium", "WBGPU_REQUIRE_CHROMIUM")
    pages = []

    def open_(url, *, scripts=True):
        page = Page(program, tmp_path / "profile", scripts=scripts)
        pages.append(page)
        page.open(url)
        return page

    yield open_
    for page in pages:
        page.close()
        assert page.console == []


@pytest.fixture
def replay(server):
    """Address of a replay of two contestants."""
    runs = [run_of(server, name, practice=True, steps=NUM_STEPS) for name in ("uniform", "kt")]
    return f"{server.url}/replay?run={runs[0]}&run={runs[1]}"


@pytest.mark.parametrize("scripts", [True, False])
def test_the_leaderboard_shows_names_and_runs_nothing(server, browser, scripts):
    run_of(server, "uniform", name=HOSTILE, steps=NUM_STEPS)
    page = browser(f"{server.url}/leaderboard", scripts=scripts)
    assert page.ask("document.querySelector('tbody a').textContent") == HOSTILE
    assert page.ask("document.scripts.length") == 0
    # Its style has been taken by the policy that keeps others' out.
    assert page.ask("getComputedStyle(document.querySelector('table')).borderCollapse") == (
        "collapse"
    )
    page.follow("tbody a")
    assert page.ask("location.pathname") == "/replay"


def test_what_is_refused_by_the_policy_is_seen_by_these_tests(server, browser):
    """The fixture's last line is worth nothing if no error ever reaches the console."""
    page = browser(f"{server.url}/leaderboard")
    page.ask("document.head.append(Object.assign(document.createElement('script'), {text: '1'}))")
    page.ask("console.log('told')")
    page.wait_for("true")
    assert any("Content Security Policy" in text for text in page.console)
    assert any("told" in text for text in page.console)
    page.console.clear()


def test_the_controls_of_a_replay_step_through_it(browser, replay):
    page = browser(replay)
    assert page.ask(SHOWN) == [True] * NUM_STEPS

    def shows(step):
        assert page.ask(SHOWN) == [number == step for number in range(NUM_STEPS)]
        assert page.ask("document.querySelector('#number').value") == f"{step} of {NUM_STEPS - 1}"
        assert page.ask("document.querySelector('#step').value") == str(step)
        page.wait_for(
            "[...document.images].filter(i => i.checkVisibility())"
            ".every(i => i.complete && i.naturalWidth === 192)"
        )

    shown = "document.querySelector('#all').checkVisibility()"
    assert page.ask(shown) is False
    page.click("#next")
    shows(0)
    assert page.ask(shown) is True
    page.click("#next")
    shows(1)
    page.click("#previous")
    page.click("#previous")
    shows(0)
    page.ask("document.querySelector('#step').focus()")
    page.press("ArrowRight")
    shows(1)
    page.press("End")
    shows(NUM_STEPS - 1)
    page.click("#next")
    shows(NUM_STEPS - 1)
    page.click("#all")
    assert page.ask(SHOWN) == [True] * NUM_STEPS
    assert page.ask(shown) is False


def test_a_replay_plays_to_its_end_and_can_be_paused(browser, replay):
    page = browser(replay)
    page.click("#play")
    assert page.ask("document.querySelector('#play').textContent") == "Pause"
    page.wait_for("document.querySelector('#step').value === '1'")
    page.click("#play")
    assert page.ask("document.querySelector('#play').textContent") == "Play"
    page.click("#play")
    page.wait_for("document.querySelector('#play').textContent === 'Play'")
    assert page.ask(SHOWN) == [False] * (NUM_STEPS - 1) + [True]


def test_a_replay_shows_all_of_it_with_scripts_off(browser, replay):
    page = browser(replay, scripts=False)
    assert page.ask(SHOWN) == [True] * NUM_STEPS
    assert page.ask("document.querySelector('#controls').checkVisibility()") is False
    assert page.ask("document.querySelectorAll('meter').length") == 2 * NUM_STEPS
    page.wait_for(f"{PICTURES} === {2 * NUM_STEPS}")
