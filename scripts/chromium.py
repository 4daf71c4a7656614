"""A headless Chromium that is spoken to over a pipe, for tests of pages and for screenshots.

The DevTools protocol as JSON messages that end with a zero byte; no driver is needed. One page at
a time, and every console message, exception and failed request is kept in ``problems``.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

SECONDS = 120


def find_chromium() -> str | None:
    """The browser's program, or None."""
    return shutil.which("chromium") or shutil.which("google-chrome")


class Chromium:
    """Use as a context manager."""

    def __init__(self, program: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="wbgpu-chromium-")
        to_browser, self._writer = os.pipe()
        self._reader, from_browser = os.pipe()

        def give_pipes() -> None:
            # Chromium wants them as descriptors 3 and 4, which the pipes themselves may have.
            pipes = [fcntl.fcntl(pipe, fcntl.F_DUPFD, 10) for pipe in (to_browser, from_browser)]
            os.dup2(pipes[0], 3)
            os.dup2(pipes[1], 4)

        self._process = subprocess.Popen(
            [
                program,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--hide-scrollbars",
                f"--user-data-dir={self._folder.name}",
                "--remote-debugging-pipe",
                "about:blank",
            ],
            close_fds=False,
            preexec_fn=give_pipes,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self._events: list[dict[str, Any]] = []
        self.problems: list[str] = []
        targets = self._send("Target.getTargets")["targetInfos"]
        (target,) = [t["targetId"] for t in targets if t["type"] == "page"]
        attached = self._send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._send(f"{domain}.enable")

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self._session = None
            self._send("Browser.close")
        except (OSError, EOFError):
            self._process.kill()
        self._process.wait(SECONDS)
        os.close(self._writer)
        os.close(self._reader)
        self._folder.cleanup()

    def show(self, url: str, *, width: int, height: int = 900, dark: bool = False) -> None:
        """Open a page and wait until it has loaded."""
        self.problems.clear()
        self._events.clear()
        self._send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._send("Emulation.setEmulatedMedia", features=[scheme])
        self._send("Page.navigate", url=url)
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            self._events.append(self._receive())

    def evaluate(self, expression: str) -> Any:
        """The value of JavaScript, of a promise when it is fulfilled."""
        answer = self._send(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:2000])
        return answer["result"].get("value")

    def screenshot(self, path: Path, *, clip: dict[str, float] | None = None) -> None:
        """The window, or a part of the page, as a PNG."""
        arguments: dict[str, Any] = {"format": "png"}
        if clip is not None:
            arguments |= {"clip": {**clip, "scale": 1}, "captureBeyondViewport": True}
        path.write_bytes(
            base64.b64decode(self._send("Page.captureScreenshot", **arguments)["data"])
        )

    def _send(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        number = self._number
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._writer, data) :]
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._events.append(answer)

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            part = os.read(self._reader, 1 << 20)
            if not part:
                raise EOFError("Chromium has ended")
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        self._note(message)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.problems.append(json.dumps(parameters["args"]))
        elif method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(parameters["exceptionDetails"]))
        elif method == "Log.entryAdded":
            self.problems.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            url = parameters["request"]["url"]
            if not url.startswith(("file:", "data:", "about:", "blob:")):
                self.problems.append(f"request of {url}")
