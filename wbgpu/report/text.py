"""Text that came from outside, as one line."""

from __future__ import annotations


def one_line(text: str) -> str:
    r"""``text`` with control characters, line breaks and invisible characters as escapes.

    A file may be called ``a\nPASS.mp4``; printed as it is, it would add a line to a report.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )
