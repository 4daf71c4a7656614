"""Whether a command printed what a page shows."""

from __future__ import annotations

import ast
import re

ELISION = "[...]"
_RUN_FOLDER = re.compile(r"\d{8}-\d{6}-\d{6}")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
_VALUE = re.compile(r"[-\d\[({'\"]|\w+\(|(?:inf|nan|True|False|None)\b")


def difference(shown: str, printed: str) -> str | None:
    """Why ``printed`` is not what a page shows, or None.

    Lines ``[...]`` stand for any number of lines; times in names of run folders differ.
    """
    expected, lines = _lines(shown), _lines(printed)
    position, anchored = 0, True
    for part in _parts(expected):
        if part is None:
            anchored = False
            continue
        last = position if anchored else len(lines) - len(part)
        for start in range(position, last + 1):
            if lines[start : start + len(part)] == part:
                position, anchored = start + len(part), True
                break
        else:
            return f"not printed:\n{_first_difference(part, lines[position:])}\nprinted:\n{printed}"
    if anchored and position != len(lines):
        return "printed, and not shown:\n" + "\n".join(lines[position:])
    return None


def label_difference(shown: str, printed: str) -> str | None:
    """As `difference` where numbers and words vary: what lines begin with, in this order."""
    labels = iter([_label(line) for line in _lines(printed)])
    for line in _lines(shown):
        if line != ELISION and _label(line) not in labels:
            return f"no line begins with {_label(line)!r}, or in another order:\n{printed}"
    return None


def value_difference(comment: str, value: object) -> str | None:
    """Why a comment behind an expression is not its value; None where it is, or is prose.

    ``...`` stands for anything; numbers may be rounded to the digits that are shown.
    """
    if not _VALUE.match(comment):
        return None
    number = _NUMBER.match(comment)
    if number and isinstance(value, (int, float)) and not isinstance(value, bool):
        digits = len(number[0].partition(".")[2])
        same = f"{float(value):.{digits}f}" == number[0]
    else:
        pattern = ".*".join(re.escape(part) for part in comment.split("..."))
        same = re.fullmatch(pattern, repr(value), re.DOTALL) is not None
    return None if same else f"the page says {comment}, and it is {value!r}"


def expressions_with_comments(code: str) -> dict[int, str]:
    """Line numbers of expression statements of one line, and the comments behind them."""
    lines = code.splitlines()
    found = {}
    for node in ast.parse(code).body:
        if isinstance(node, ast.Expr) and node.lineno == node.end_lineno:
            rest = lines[node.lineno - 1][node.end_col_offset :].strip()
            printed = isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "print"
            if rest.startswith("#") and not printed:
                found[node.lineno] = rest.lstrip("# ")
    return found


def _lines(text: str) -> list[str]:
    return [_RUN_FOLDER.sub("<time>", line.rstrip()) for line in text.strip("\n").splitlines()]


def _parts(lines: list[str]) -> list[list[str] | None]:
    parts: list[list[str] | None] = []
    for line in lines:
        if line == ELISION:
            parts.append(None)
        elif parts and parts[-1] is not None:
            parts[-1].append(line)
        else:
            parts.append([line])
    return parts


def _first_difference(part: list[str], lines: list[str]) -> str:
    return next((line for line in part if line not in lines), "\n".join(part))


def _label(line: str) -> str:
    return re.split(r":|\s{2,}", line.strip())[0]
