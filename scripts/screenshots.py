"""Makes docs/images: the report of two real checkpoints, and the dashboard.

Usage: scripts/screenshots.py. The results are those of scripts/evaluate_bridge_suite
in artifacts/bridge_suite, with their videos. Needs Chromium. Run it in the repository's root.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from pathlib import Path

import uvicorn
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.chromium import Chromium, find_chromium
from wbgpu import sdk
from wbgpu.dashboard.app import create_app
from wbgpu.dashboard.runs import RunFolder

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "artifacts/bridge_suite"
IMAGES = ROOT / "docs/images"
PORT = 8797
_TOP = "document.getElementById('{}').getBoundingClientRect().top + scrollY"


def main() -> None:
    program = find_chromium()
    if program is None:
        sys.exit("There is no Chromium.")
    IMAGES.mkdir(parents=True, exist_ok=True)
    page = sdk.report_page(
        RESULTS / "step00900.json",
        RESULTS / "step00060.json",
        policy="noninferiority",
        video_folders=[ROOT],
    )
    with tempfile.TemporaryDirectory() as folder, Chromium(program) as browser:
        path = Path(folder) / "report.html"
        path.write_text(page, "utf-8")
        for name, width, height, dark in (
            ("report", 1280, 1500, False),
            ("report_dark", 1280, 1500, True),
            ("report_390", 390, 1500, False),
        ):
            browser.show(path.as_uri(), width=width, dark=dark)
            shoot(browser, name, width, 0, height)
            if name == "report_390":
                shoot(browser, "report_390_horizons", width, top(browser, "horizons"), height)
        browser.show(path.as_uri(), width=1280)
        shoot(browser, "report_horizons", 1280, top(browser, "horizons"), 1500)
        shoot(browser, "report_episodes", 1280, top(browser, "episodes"), 1700)
        # Frames of videos: a quarter of the bytes of a PNG.
        frames = IMAGES / "report_episodes.png"
        with Image.open(frames) as image:
            image.convert("RGB").save(frames.with_suffix(".jpg"), quality=90)
        frames.unlink()
        served(browser)


def top(browser: Chromium, anchor: str) -> float:
    return float(browser.evaluate(_TOP.format(anchor)))


def shoot(browser: Chromium, name: str, width: int, y: float, height: int) -> None:
    clip = {"x": 0, "y": y, "width": width, "height": height}
    browser.screenshot(IMAGES / f"{name}.png", clip=clip)
    print(IMAGES / f"{name}.png", *browser.problems)


def served(browser: Chromium) -> None:
    os.chdir(ROOT)
    folder = RunFolder(RESULTS.relative_to(ROOT))
    app = create_app(folder, num_films=0, hosts=("127.0.0.1",))
    server = uvicorn.Server(uvicorn.Config(app, port=PORT, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    browser.show(f"http://127.0.0.1:{PORT}/?baseline=step00060.json", width=1280)
    clip = {"x": 0, "y": 0, "width": 1280, "height": 420}
    browser.screenshot(IMAGES / "dashboard.png", clip=clip)
    server.should_exit = True
    thread.join()


if __name__ == "__main__":
    main()
