"""Code blocks of a Markdown page, and what the comments in front of them say."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

REASONS = {
    "installs packages",
    "needs GPUs",
    "needs SLURM",
    "needs the network",
    "trains for minutes",
}
"""Why a block may be marked ``<!-- not run: REASON -->``. Keep it short."""

_COMMENT = re.compile(r"<!--\s*(.*?)\s*-->", re.DOTALL)
_TITLE = re.compile(r'\btitle="([^"]*)"')


@dataclass(frozen=True)
class Block:
    """A fenced code block.

    Attributes:
        place: file and line, for messages.
        language: first word behind the fence.
        title: of ``title="..."``, or None.
        text: what is in it.
        comments: texts of the HTML comments directly in front of it.
    """

    place: str
    language: str
    title: str | None
    text: str
    comments: tuple[str, ...] = ()

    def reason(self) -> str | None:
        """Why it is not run, or None."""
        prefix = "not run:"
        reasons = [
            comment.removeprefix(prefix).strip()
            for comment in self.comments
            if comment.startswith(prefix)
        ]
        assert set(reasons) <= REASONS, f"{self.place}: {reasons}; a reason is one of {REASONS}"
        return reasons[0] if reasons else None


@dataclass(frozen=True)
class Page:
    """A page's blocks, in order, and what it says is ``given``: names of files and folders."""

    blocks: tuple[Block, ...]
    given: tuple[str, ...]


def read_page(path: Path, name: str) -> Page:
    """Find the blocks as a Markdown parser does, also those within lists."""
    return parse_page(path.read_text("utf-8"), name)


def parse_page(text: str, name: str) -> Page:
    """As `read_page`, from a page's text."""
    tokens = MarkdownIt().parse(text)
    blocks: list[Block] = []
    given: list[str] = []
    comments: list[str] = []
    for token in tokens:
        if token.type == "html_block":
            found = _COMMENT.findall(token.content)
            comments += found
            for comment in found:
                if comment.startswith("given:"):
                    given += comment.removeprefix("given:").split()
        elif token.type in ("fence", "code_block"):
            assert token.map is not None
            place = f"{name}:{token.map[0] + 1}"
            assert token.type == "fence", f"{place}: a block by indentation has no language"
            words = token.info.split()
            title = _TITLE.search(token.info)
            language = words[0] if words else ""
            blocks.append(
                Block(place, language, title and title[1], token.content, tuple(comments))
            )
            comments = []
        elif token.type == "inline":
            comments = []
    return Page(tuple(blocks), tuple(given))


def later_text(page: Page, block: Block) -> str:
    """All blocks behind this one."""
    return "\n".join(later.text for later in page.blocks[page.blocks.index(block) + 1 :])
