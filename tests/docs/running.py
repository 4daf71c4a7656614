"""Runs the blocks of a page in one folder."""

from __future__ import annotations

import ast
import contextlib
import json
import linecache
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import yaml

from tests.conftest import REPOSITORY
from tests.docs import outputs
from tests.docs.blocks import Block, Page, later_text
from tests.docs.shell import Statement, commands_within, is_complete, statements
from wbgpu.cli.main import group, run

OUTPUTS = {"text", "json"}
"""What a block without a title is compared with: the output of the block before."""

STAND_INS = {"scripts/demo": ["demo", "wbgpu-demo"]}
"""What a script does after it has installed the package."""

_HYDRA = {"eval", "regret", "corrupt"}
_CONTINUED = " (continued)"


class PageRun:
    """One page: its folder is the current one, blocks are run in their order.

    Args:
        page: its blocks.
        take_printed: what was printed since its last call, on standard output and error.
        bridge: the BridgeData suite, on which some outputs are shown; None where it is not there.
    """

    def __init__(
        self, page: Page, take_printed: Callable[[], tuple[str, str]], bridge: Path | None
    ):
        self.page = page
        self.take_printed = take_printed
        self.bridge = bridge
        self.output: str | None = None
        self.last: Block | None = None
        self.not_compared: list[str] = []
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._servers: list[tuple[Statement, subprocess.Popen[bytes]]] = []

    def run(self) -> None:
        """Everything, and end the servers."""
        path = list(sys.path)
        sys.path.append(str(Path.cwd()))
        try:
            for block in self.page.blocks:
                self._run(block)
            for statement, server in self._servers:
                server.send_signal(signal.SIGINT)
                assert server.wait(20) in (0, 130), statement.text
        finally:
            sys.path[:] = path
            for _, server in self._servers:
                server.kill()
                server.wait()
            _forget_modules(Path.cwd())

    def _run(self, block: Block) -> None:
        if block.reason() is not None:
            self._check(block)
        elif block.title is not None:
            self._write(block)
        elif block.language == "bash":
            self.output, self.last = self._bash(block), block
        elif block.language == "python":
            self._python(block)
        elif block.language == "yaml":
            self._workflow(block)
        elif block.language == "tree":
            paths = [line.split()[0] for line in block.text.splitlines() if line.strip()]
            missing = [path for path in paths if not Path(path).exists()]
            assert not missing, f"{block.place}: not there: {missing}"
        elif block.language in OUTPUTS:
            self._compare(block)
        else:
            raise AssertionError(f"{block.place}: blocks of {block.language!r} are not tested")

    def _write(self, block: Block) -> None:
        """A file; some later block must use it, or nothing would show that it works."""
        assert block.title is not None
        name = block.title.removesuffix(_CONTINUED)
        path = Path(name)
        assert path.resolve().is_relative_to(Path.cwd().resolve()), f"{block.place}: {name}"
        used = re.search(rf"\b{re.escape(path.stem)}\b", later_text(self.page, block))
        assert used or name in ("wbgpu.yml", "worldbench.yml"), f"{block.place}: no use of {name}"
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text("utf-8") if block.title.endswith(_CONTINUED) else ""
        path.write_text(before + block.text, encoding="utf-8")
        _forget_modules(Path.cwd())

    def _python(self, block: Block) -> None:
        values = outputs.expressions_with_comments(block.text)
        self.take_printed()
        name = f"<{block.place}>"
        linecache.cache[name] = (len(block.text), None, block.text.splitlines(True), name)
        for node in ast.parse(block.text).body:
            if not isinstance(node, ast.Expr) or node.lineno not in values:
                exec(compile(ast.Module([node], []), name, "exec"), self._names)
                continue
            value = eval(compile(ast.Expression(node.value), name, "eval"), self._names)
            wrong = outputs.value_difference(values[node.lineno], value)
            assert wrong is None, f"{block.place}: {wrong}"
        self.output = self.take_printed()[0]

    def _workflow(self, block: Block) -> None:
        """Steps of a GitHub workflow: what they run."""
        steps = yaml.safe_load(block.text)
        assert isinstance(steps, list), f"{block.place}: give it a title, the file's name"
        for step in steps:
            assert step.keys() & {"run", "uses"}, f"{block.place}: {step}"
            for statement in statements(step.get("run", "")):
                self._execute(statement, block)

    def _compare(self, block: Block) -> None:
        assert self.output is not None, f"{block.place}: the output of what?"
        if "output on BridgeData" in block.comments:
            if self.bridge is None:
                self.not_compared.append(block.place)
                return
            self._again_on(self.bridge)
        if block.language == "json":
            wrong = None
            if json.loads(block.text) != json.loads(self.output):
                wrong = f"printed: {self.output}"
        elif "varies" in block.comments:
            wrong = outputs.label_difference(block.text, self.output)
        else:
            wrong = outputs.difference(block.text, self.output)
        assert wrong is None, f"{block.place}: {wrong}"

    def _again_on(self, suite: Path) -> None:
        """Runs the last shell block where the folders of the small suite are those of another."""
        assert self.last is not None
        here, there = Path.cwd(), Path.cwd() / "on_another_suite"
        shutil.copytree(suite, there)
        os.chdir(there)
        try:
            self.output = self._bash(self.last)
        finally:
            os.chdir(here)

    def _bash(self, block: Block) -> str:
        return "".join(self._execute(s, block) for s in statements(block.text))

    def _execute(self, statement: Statement, block: Block) -> str:
        self.take_printed()
        if statement.port is not None:
            self._servers.append((statement, _serve(statement.words, statement.port)))
            return ""
        if statement.is_plain_wbgpu:
            code = run(statement.words[1:])
            out, err = self.take_printed()
        else:
            command = ["bash", "-e", "-o", "pipefail", "-c", statement.text]
            ended = subprocess.run(
                command, env=_environment(), capture_output=True, text=True, check=False
            )
            code, out, err = ended.returncode, ended.stdout, ended.stderr
        allowed = statement.exit_codes
        assert code in allowed, (
            f"{block.place}: {statement.text}\nexit code {code}, expected {allowed}\n{out}\n{err}"
        )
        return out

    def _check(self, block: Block) -> None:
        """What can be known of commands that are not run."""
        assert block.language == "bash", f"{block.place}: only shell blocks may be left out"
        assert is_complete(block.text), f"{block.place}: no shell can read it"
        self.take_printed()
        for line in block.text.splitlines():
            words = shlex.split(line, comments=True)
            if words[:2] == ["pip", "install"]:
                _check_extras(words[2:], block.place)
            elif words and words[0].startswith("scripts/"):
                assert os.access(REPOSITORY / words[0], os.X_OK), f"{block.place}: {words[0]}"
                if words[0] in STAND_INS:
                    assert run(STAND_INS[words[0]]) == 0
        self.output = self.take_printed()[0]
        for call in commands_within(block.text):
            check_arguments(call, f"{block.place}: {shlex.join(call)}")
            self.take_printed()


def check_arguments(call: list[str], message: str) -> None:
    """That a command takes these, without running it."""
    if call[0] in _HYDRA:
        # Of a sweep the first job; Hydra shows one configuration.
        words = [_first_choice(word) for word in call if word not in ("--multirun", "-m")]
        assert run([*words, "--cfg", "job"]) == 0, message
        return
    command = group.get_command(click.Context(group), call[0])
    assert command is not None, message
    try:
        command.make_context(call[0], call[1:])
    except click.ClickException as error:
        raise AssertionError(f"{message}: {error.format_message()}") from error


def _first_choice(word: str) -> str:
    key, equals, value = word.partition("=")
    return word if value.startswith(("[", "{", "'", '"')) else f"{key}{equals}{value.split(',')[0]}"


def _check_extras(words: list[str], place: str) -> None:
    text = (REPOSITORY / "pyproject.toml").read_text("utf-8")
    for word in words:
        requirement = re.fullmatch(r"\.(?:\[([\w,]+)\])?", word)
        assert requirement, f"{place}: {word}"
        for extra in (requirement[1] or "").split(","):
            assert not extra or re.search(rf"^{extra} = \[", text, re.MULTILINE), (
                f"{place}: {extra}"
            )


def _serve(words: list[str], port: int) -> subprocess.Popen[bytes]:
    # The page says the port; another run of the tests may have it for a while.
    deadline = time.monotonic() + 120
    while _listens(port):
        assert time.monotonic() < deadline, f"something else listens at port {port}"
        time.sleep(1)
    server = subprocess.Popen(words, env=_environment())
    for _ in range(300):
        assert server.poll() is None, shlex.join(words)
        if _listens(port):
            return server
        time.sleep(0.1)
    server.kill()
    raise AssertionError(f"{shlex.join(words)}: nothing listens at port {port}")


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def _environment() -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "BROWSER": "true"}


def _forget_modules(folder: Path) -> None:
    """Modules of this folder, which another page may call the same."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        places = [file] if file else [str(p) for p in getattr(module, "__path__", [])]
        if any(Path(place).is_relative_to(folder) for place in places):
            del sys.modules[name]
    sys.path_importer_cache.clear()
