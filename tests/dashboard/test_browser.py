"""The dashboard's script in a real browser."""

from __future__ import annotations

import threading
import time

import uvicorn

from scripts.chromium import Chromium, find_chromium
from tests.conftest import _skip
from tests.records.results import simple_suite
from wbgpu import sdk
from wbgpu.dashboard.app import create_app
from wbgpu.dashboard.runs import RunFolder

_UNTIL_LISTED = """new Promise((done) => {
  const look = () => document.body.textContent.includes('newest') ? done(true)
    : setTimeout(look, 100);
  look();
})"""


def test_a_new_run_appears_by_itself(tmp_path):
    program = find_chromium()
    if program is None:
        _skip("there is no Chromium", "WBGPU_REQUIRE_CHROMIUM")
    sdk.save_result(simple_suite({"a": [70.0]}), tmp_path / "first.json")
    app = create_app(RunFolder(tmp_path), num_films=0, hosts=("127.0.0.1",))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        with Chromium(program) as browser:
            browser.show(f"http://127.0.0.1:{port}/", width=390)
            assert browser.evaluate("document.documentElement.scrollWidth") <= 390
            # The script must know the old list before there is a new one.
            browser.evaluate("fetch('/runs').then((answer) => answer.text())")
            time.sleep(0.5)
            made = simple_suite({"a": [70.0]}, checkpoint_name="newest")
            sdk.save_result(made, tmp_path / "second.json")
            assert browser.evaluate(_UNTIL_LISTED)
            requests = f"request of http://127.0.0.1:{port}/"
            assert [text for text in browser.problems if not text.startswith(requests)] == []
    finally:
        server.should_exit = True
        thread.join()
