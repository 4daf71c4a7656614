"""A page in a headless Chromium that is spoken to over pipes, in the DevTools protocol."""

from __future__ import annotations

import fcntl
import json
import os
import select
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

SECONDS = 60
"""How long a page may take on a busy machine."""


class Page:
    """A page that people could see: it is asked in JavaScript, and clicked on with a mouse.

    What it writes to its console, errors and refused files included, is in ``console``.
    """

    def __init__(self, program: str, profile: Path, *, scripts: bool = True) -> None:
        # From 10 on, so that neither is one of the two that Chromium reads and writes.
        ours_read, its_write = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in os.pipe())
        its_read, ours_write = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in os.pipe())

        def connect() -> None:
            os.dup2(its_read, 3)
            os.dup2(its_write, 4)

        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        arguments += ["--no-first-run", "--remote-debugging-pipe", "--window-size=1200,1600"]
        self._log = (profile.parent / "chromium.log").open("wb")
        self._process = subprocess.Popen(
            [program, *arguments, f"--user-data-dir={profile}", "about:blank"],
            stdout=self._log,
            stderr=self._log,
            close_fds=False,
            preexec_fn=connect,
        )
        os.close(its_read)
        os.close(its_write)
        self._from, self._read = ours_read, bytearray()
        self._to = os.fdopen(ours_write, "wb")
        self._number = 0
        self._session: str | None = None
        self._is_loaded = False
        self.console: list[str] = []
        target = self._do("Target.createTarget", url="about:blank")["targetId"]
        attached = self._do("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._do(f"{domain}.enable")
        self._do("Emulation.setScriptExecutionDisabled", value=not scripts)

    def close(self) -> None:
        self._session = None
        try:
            self._do("Browser.close")
            self._process.wait(SECONDS)
        finally:
            self._process.kill()
            self._process.wait()
            os.close(self._from)
            self._to.close()
            self._log.close()

    def open(self, url: str) -> None:
        """Returns when the page and its files have been loaded."""
        self._loaded(lambda: self._do("Page.navigate", url=url))

    def follow(self, selector: str) -> None:
        """Click on a link; returns when its page has been loaded."""
        self._loaded(lambda: self.click(selector))

    def ask(self, expression: str):
        """The value of a JavaScript expression; works with the page's scripts off as well."""
        answer = self._do("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait_for(self, expression: str) -> None:
        end = time.monotonic() + SECONDS
        while not self.ask(expression):
            assert time.monotonic() < end, expression
            time.sleep(0.02)

    def click(self, selector: str) -> None:
        """With the mouse, in the middle of the first line: what is hidden cannot be hit."""
        box = f"document.querySelector({json.dumps(selector)}).getClientRects()[0]"
        place = self.ask(f"(b => ({{x: b.x + b.width / 2, y: b.y + b.height / 2}}))({box})")
        for kind in ("mousePressed", "mouseReleased"):
            self._do("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **place)

    def press(self, key: str) -> None:
        codes = {"ArrowLeft": 37, "ArrowRight": 39, "End": 35}
        for kind in ("rawKeyDown", "keyUp"):
            self._do("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=codes[key])

    def _loaded(self, cause: Callable[[], object]) -> None:
        self._is_loaded = False
        cause()
        while not self._is_loaded:
            self._event(self._message())

    def _do(self, method: str, **parameters):
        self._number += 1
        command = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            command["sessionId"] = self._session
        self._to.write(json.dumps(command).encode() + b"\0")
        self._to.flush()
        while (message := self._message()).get("id") != self._number:
            self._event(message)
        assert "error" not in message, message
        return message["result"]

    def _message(self) -> dict:
        while b"\0" not in self._read:
            assert select.select([self._from], [], [], SECONDS)[0], "Chromium does not answer"
            some = os.read(self._from, 2**16)
            assert some, "Chromium has ended"
            self._read += some
        text, _, self._read = self._read.partition(b"\0")
        return json.loads(text)

    def _event(self, message: dict) -> None:
        if message["method"] == "Page.loadEventFired":
            self._is_loaded = True
        if message["method"] in (
            "Runtime.consoleAPICalled",
            "Runtime.exceptionThrown",
            "Log.entryAdded",
        ):
            self.console.append(json.dumps(message["params"]))
