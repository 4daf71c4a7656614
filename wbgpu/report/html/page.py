"""What pages are made of, and how they become HTML.

Every text goes through :func:`~wbgpu.report.text.one_line` and is escaped; a page allows itself no
script at all, so that a name that looks like markup stays a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from wbgpu.report.text import one_line
from wbgpu.version import __version__

PAGE_ROWS = 50
"""Rows of a table that are shown at once."""


@dataclass(frozen=True)
class Line:
    """A sentence in a list."""

    text: str
    is_warning: bool = False


@dataclass(frozen=True)
class TablePage:
    """Rows that are shown at once, and what they are."""

    title: str
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Table:
    """A table, in pages when it is long.

    Attributes:
        caption: what it is, for those who cannot see where it stands.
        align: ``l`` or ``r`` for each column.
        anchor: another for each table of a page.
        title: above the table; empty for none.
    """

    caption: str
    align: str
    header: Sequence[str]
    pages: Sequence[TablePage]
    anchor: str
    title: str = ""


@dataclass(frozen=True)
class Chart:
    """A chart as markup.

    Attributes:
        size: class of the style sheet: empty, ``medium`` or ``wide``.
        keys: of its lines, what looks like what: a source and whose it is.
    """

    title: str
    markup: Markup
    caption: str = ""
    size: str = ""
    keys: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Section:
    """A part of the page: a template and what it shows, which it finds as ``section.name``."""

    anchor: str
    title: str
    template: str
    content: Mapping[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.content[name]
        except KeyError:
            raise AttributeError(name) from None


def table(
    caption: str,
    align: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    anchor: str,
    title: str = "",
) -> Table:
    """A table with a page for every :data:`PAGE_ROWS` rows."""
    starts = range(0, max(len(rows), 1), PAGE_ROWS)
    pages = [rows[start : start + PAGE_ROWS] for start in starts]
    titled = [
        TablePage(_page_title(start, part, len(rows)), part)
        for start, part in zip(starts, pages, strict=True)
    ]
    return Table(caption, align, header, titled, anchor, title)


def lines(texts: Iterable[str]) -> list[Line]:
    """Plain sentences."""
    return [Line(text) for text in texts]


def render(title: str, subtitle: str, status: str | None, sections: Sequence[Section]) -> str:
    """A whole page.

    Args:
        title: in the window's title and the heading.
        subtitle: below the heading; empty for none.
        status: of a verdict, or ``None``.
        sections: in order.
    """
    environment = Environment(
        loader=PackageLoader("wbgpu.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    environment.filters["breakable"] = _breakable
    css = files("wbgpu.report").joinpath("templates/report.css").read_text("utf-8")
    return (
        environment.get_template("page.html").render(
            title=title,
            subtitle=subtitle,
            status=status,
            sections=sections,
            css=Markup(css),
            generator=f"wbgpu {__version__}",
        )
        + "\n"
    )


def _page_title(start: int, rows: Sequence[Sequence[str]], total: int) -> str:
    last = start + len(rows)
    if not rows:
        return "none"
    return f"{start + 1} to {last} of {total}: {rows[0][0]} to {rows[-1][0]}"


def _breakable(name: str) -> Markup:
    """A name that may go on in the next line after an underscore or a slash."""
    # A plain str: Markup would escape what is put in.
    text = str(escape(one_line(name)))
    return Markup(re.sub("([_/])(?=.)", r"\1<wbr>", text))


def _finalize(value: object) -> object:
    return one_line(value) if isinstance(value, str) and not isinstance(value, Markup) else value
