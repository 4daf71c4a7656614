"""Tables: in Markdown with cells that cannot break them, and as plain text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from wbgpu.report.text import one_line


def escape(text: str) -> str:
    """Text that stands in one Markdown table cell or line as it is."""
    text = one_line(text)
    for plain in ("\\", "|", "`", "*", "~"):
        text = text.replace(plain, f"\\{plain}")
    text = re.sub("<(?=[A-Za-z/!?])", "&lt;", text)
    # Links, and underscores but those inside words, so that names of settings stay readable.
    text = re.sub(r"\](?=[(\[])|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", text)
    return " ".join(text.split())


def escaped(rows: Iterable[Iterable[str]]) -> list[list[str]]:
    """Rows whose cells came from outside."""
    return [[escape(cell) for cell in row] for row in rows]


def table(align: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table, with an empty one at the end.

    Args:
        align: ``l`` or ``r`` for each column.
        header: names of the columns.
        rows: cells as they are: escape what comes from outside.
    """
    rule = ["---" if side == "l" else "---:" for side in align]
    return [_row(header), _row(rule), *(_row(row) for row in rows), ""]


def aligned(rows: Sequence[Sequence[str]], align: str | None = None) -> list[str]:
    """Lines of plain text.

    Args:
        rows: cells, in equal numbers.
        align: ``l`` or ``r`` for each column; ``None`` for the first to the left, others right.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = "l" + "r" * len(widths) if align is None else align
    return [
        "  ".join(
            cell.ljust(width) if side == "l" else cell.rjust(width)
            for cell, width, side in zip(row, widths, sides, strict=False)
        ).rstrip()
        for row in rows
    ]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
