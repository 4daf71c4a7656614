"""Checks a site of files: links, anchors, and that nothing is loaded from a network.

Usage: scripts/check_links.py FOLDER. Exits with 1 if something is wrong. Links to other hosts are
not followed. (LinkChecker finds the same, and takes five minutes: it reads a page again for each
anchor.)
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"img": "src", "script": "src", "iframe": "src", "source": "src", "video": "src"}
STYLES = {"stylesheet", "icon", "preload", "preconnect", "dns-prefetch"}


class Document(HTMLParser):
    """What a page links to and loads, and the anchors that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value is not None}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "link" and STYLES & set(values.get("rel", "").split()):
            self.loaded.append(values["href"])
        if tag in LOADED and LOADED[tag] in values:
            self.loaded.append(values[LOADED[tag]])


def problems(site: Path) -> list[str]:
    """What is wrong with a site, a line each."""
    site = site.resolve()
    pages = {
        path: Document(path.read_text("utf-8"))
        for path in sorted(site.rglob("*.html"))
        if "assets" not in path.relative_to(site).parts
    }
    found = [] if pages else [f"{site}: no pages"]
    for path, page in pages.items():
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https", "mailto") or parts.netloc:
                wrong = "loaded from a network" if link in page.loaded else None
            elif parts.scheme:
                wrong = None if parts.scheme == "data" else f"scheme {parts.scheme}"
            else:
                wrong = _wrong_target(path, unquote(parts.path), unquote(parts.fragment), pages)
            if wrong is not None:
                found.append(f"{path.relative_to(site)}: {link}: {wrong}")
    return found


def _wrong_target(
    path: Path, target: str, fragment: str, pages: dict[Path, Document]
) -> str | None:
    if target.startswith("/"):
        return "not relative: no file has it"
    file = (path.parent / target).resolve() if target else path
    if not file.is_file():
        return "no such file"
    if not fragment or file not in pages or fragment in pages[file].anchors:
        return None
    return "no such anchor"


if __name__ == "__main__":
    lines = problems(Path(sys.argv[1]))
    print("\n".join(lines) or "Links are right.")
    sys.exit(bool(lines))
