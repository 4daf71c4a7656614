"""The pages in a real browser, with scripts and without."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from PIL import Image

from tests.bench.test_pages import HOSTILE, run_of
from tests.conftest import _skip

NUM_STEPS = 6
ROBOT = (231, 76, 60)
"""Colour of block_to_bowl's gripper."""

CONSOLE = re.compile(r"CONSOLE[:(].*")


@pytest.fixture
def browse(tmp_path):
    """Opens an address in headless Chromium; returns the page as it became, and its console."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        _skip("there is no Chromium", "WBGPU_REQUIRE_CHROMIUM")

    def open_(url, *arguments, scripts=True):
        settings = {
            "profile": {"default_content_setting_values": {"javascript": 1 if scripts else 2}}
        }
        preferences = tmp_path / f"profile-{scripts}/Default/Preferences"
        preferences.parent.mkdir(parents=True)
        preferences.write_text(json.dumps(settings))
        done = subprocess.run(
            [
                program,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                f"--user-data-dir={tmp_path}/profile-{scripts}",
                "--enable-logging=stderr",
                "--timeout=20000",
                "--window-size=1200,1600",
                *arguments,
                url,
            ],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        return done.stdout, CONSOLE.findall(done.stderr)

    return open_


def test_the_leaderboard_shows_names_and_runs_nothing(server, browse):
    run_of(server, "uniform", name=HOSTILE, steps=NUM_STEPS)
    dom, console = browse(f"{server.url}/leaderboard", "--dump-dom")
    assert console == []
    assert "&lt;script&gt;alert(1)&lt;/script&gt;</a>" in dom
    assert "<script" not in dom


def replay_url(server):
    runs = [run_of(server, name, practice=True, steps=NUM_STEPS) for name in ("uniform", "kt")]
    return f"{server.url}/replay?run={runs[0]}&run={runs[1]}"


def test_a_replay_has_its_controls(server, browse):
    dom, console = browse(replay_url(server), "--dump-dom")
    assert console == []
    (controls,) = re.findall(r'<div id="controls"[^>]*>', dom)
    assert "hidden" not in controls
    assert dom.count("<img ") == dom.count("<meter ") == 2 * NUM_STEPS


def test_a_replay_shows_its_frames_with_scripts_off(server, browse, tmp_path):
    """A browser without scripts cannot be asked for its DOM, but for what it shows."""
    picture = tmp_path / "page.png"
    _, console = browse(replay_url(server), f"--screenshot={picture}", scripts=False)
    assert console == []
    pixels = np.array(Image.open(picture).convert("RGB")).reshape(-1, 3)
    is_robot = (pixels == ROBOT).all(axis=1)
    # The robot's part in the picture of one frame is some 200 pixels.
    assert is_robot.sum() > 200 * NUM_STEPS
