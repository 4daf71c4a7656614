"""Shell blocks, statement by statement."""

from __future__ import annotations

import re
import shlex
import subprocess
from dataclasses import dataclass

_QUOTED = re.compile(r"'[^']*'|\"[^\"$`\\]*\"")
_COMMENT = re.compile(r"(?:^|\s)#(.*)$", re.MULTILINE)
_SHELL_ONLY = re.compile(r"[|&;<>$`*?~(){}\"']")
_KEEPS_STATE = re.compile(
    r"^\s*(?:\w+=|(?:export|cd|source|set|if|for|while|case)\b)", re.MULTILINE
)
_EXIT = re.compile(r"\bexit (\d+)(?:[^;]*?\bor (\d+))?")
_ADDRESS = re.compile(r"https?://[\w.]+:(\d+)")


@dataclass(frozen=True)
class Statement:
    """A command, or a whole block that only a shell can run.

    Attributes:
        text: as it stands.
        comment: what stands behind ``#``.
    """

    text: str
    comment: str

    @property
    def words(self) -> list[str]:
        """As a shell splits them."""
        return shlex.split(self.text.replace("\\\n", " "), comments=True)

    @property
    def is_plain_wbgpu(self) -> bool:
        """Whether it is one call of ``wbgpu`` which needs nothing of a shell."""
        bare = _COMMENT.sub("", _QUOTED.sub("Q", self.text.replace("\\\n", " "))).strip()
        return bare.startswith("wbgpu ") and "\n" not in bare and not _SHELL_ONLY.search(bare)

    @property
    def exit_codes(self) -> set[int]:
        """What the comment's ``exit N``, or ``exit N ... or M``, allows; else 0."""
        found = _EXIT.search(self.comment)
        return {int(code) for code in found.groups() if code} if found else {0}

    @property
    def port(self) -> int | None:
        """Of a server which ``runs until Ctrl-C``, whose address the comment says."""
        if "until Ctrl-C" not in self.comment:
            return None
        address = _ADDRESS.search(self.comment)
        assert address, f"say the address: {self.text}"
        return int(address[1])


def statements(block: str) -> list[Statement]:
    """Of a block; one where lines depend on each other by more than files."""
    found, pending = [], ""
    for line in block.splitlines():
        pending += line + "\n"
        if not pending.strip():
            pending = ""
        elif not line.endswith("\\") and is_complete(pending):
            found.append(_statement(pending))
            pending = ""
    assert not pending, f"no end of: {pending}"
    found = [s for s in found if s.text]
    lasting = any(_KEEPS_STATE.search(s.text) and "<<" not in s.text for s in found)
    return [_statement(block)] if lasting else found


def is_complete(text: str) -> bool:
    """Whether a shell would not wait for more lines."""
    checked = subprocess.run(
        ["bash", "-n", "-c", text], capture_output=True, text=True, check=False
    )
    return checked.returncode == 0 and not checked.stderr


def commands_within(text: str) -> list[list[str]]:
    """Calls of ``wbgpu`` in a script, also those in a quoted one."""
    calls = []
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        for word in words:
            if "wbgpu " in word:
                calls += commands_within(word)
        starts = [i for i, word in enumerate(words) if word == "wbgpu"]
        for start in starts:
            ends = [i for i in range(start, len(words)) if words[i] in ("|", "||", "&&", ";", "&")]
            calls.append(words[start + 1 : ends[0] if ends else None])
    return calls


def _statement(text: str) -> Statement:
    bare = _QUOTED.sub("Q", text.strip())
    comments = _COMMENT.findall(bare) if "<<" not in bare else _COMMENT.findall(bare.split("\n")[0])
    only_comment = all(line.lstrip().startswith("#") for line in text.strip().splitlines())
    return Statement("" if only_comment else text.strip(), comments[-1].strip() if comments else "")
