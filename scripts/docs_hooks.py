"""Links of the documentation that leave docs/ lead to copies in the site, below repository/.

mkdocs calls the functions. A page links to what stands beside docs/ as it does in the repository,
such as ``../artifacts/x/report.html``. What is linked comes into the site: Markdown as a page with
its own links, pictures, JSON and HTML as they are, a folder as a list of its files, and other text
as a page that shows it. Links to what does not exist are left as they are, for mkdocs to refuse.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

PREFIX = "repository"
AS_THEY_ARE = {".html", ".jpg", ".json", ".mp4", ".png", ".svg", ".txt", ".xml"}
LANGUAGES = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml", "": "bash"}

_FENCE = re.compile(r"^ {0,3}(```|~~~)")
_LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Bring what is linked into the site."""
    root = _root(config)
    docs = Path(config.docs_dir).relative_to(root).as_posix()
    waiting = [f"{docs}/{file.src_uri}" for file in files.documentation_pages()]
    seen = set(waiting)
    while waiting:
        path = waiting.pop()
        for target in _links(_text(root / path), path):
            if target in seen or _is_in(target, docs) or not (root / target).exists():
                continue
            seen.add(target)
            files.append(_file(config, root / target, target))
            if target.endswith(".md") or (root / target).is_dir():
                waiting.append(target)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links that leave docs/ to the copies, and those of copies back."""
    del files
    root = _root(config)
    docs = Path(config.docs_dir).relative_to(root).as_posix()
    uri = page.file.src_uri
    if uri.startswith(f"{PREFIX}/"):
        # Wide tables are what most of these pages hold.
        page.meta.setdefault("hide", ["toc"])
    path = _path_in_repository(uri, docs)
    here = posixpath.dirname(uri) or "."

    def replace(match: re.Match[str]) -> str:
        target = _target(match[2], path)
        if target is None or not (root / target).exists():
            return match[0]
        if _is_in(target, docs):
            goal = posixpath.relpath(target, docs)
            if (root / target).is_dir():
                goal = posixpath.join(goal, "index.md")
        else:
            goal = _uri(root / target, target)
        return f"{match[1]}{posixpath.relpath(goal, here)}{match[3]}"

    return "".join(
        line if is_code else _LINK.sub(replace, line) for line, is_code in _lines(markdown)
    )


def on_post_template(output_content: str, *, template_name: str, config: MkDocsConfig) -> str:
    """Leave out what is of use to servers only, and links from the root of a host."""
    del config
    return "" if template_name in ("404.html", "sitemap.xml") else output_content


def _root(config: MkDocsConfig) -> Path:
    return Path(config.config_file_path).resolve().parent


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _path_in_repository(uri: str, docs: str) -> str:
    """Where the source of a page of the site stands."""
    if not uri.startswith(f"{PREFIX}/"):
        return f"{docs}/{uri}"
    path = uri.removeprefix(f"{PREFIX}/")
    return path.removesuffix("/files.md") if path.endswith("/files.md") else path


def _uri(file: Path, path: str) -> str:
    """Where a file or folder of the repository stands in the site, as a source of mkdocs."""
    if file.is_dir():
        return f"{PREFIX}/{path}/files.md"
    if file.suffix == ".md" or file.suffix in AS_THEY_ARE:
        return f"{PREFIX}/{path}"
    return f"{PREFIX}/{path}.md"


def _file(config: MkDocsConfig, file: Path, path: str) -> File:
    uri = _uri(file, path)
    level = InclusionLevel.NOT_IN_NAV
    if file.is_file() and uri == f"{PREFIX}/{path}":
        return File.generated(config, uri, abs_src_path=str(file), inclusion=level)
    if file.is_dir():
        return File.generated(config, uri, content=_text(file), inclusion=level)
    language = LANGUAGES.get(file.suffix, "text")
    content = f"# {path}\n\n````{language}\n{file.read_text('utf-8')}\n````\n"
    return File.generated(config, uri, content=content, inclusion=level)


def _text(file: Path) -> str:
    """The Markdown of a file, or of the list of a folder, whose links are relative to itself."""
    if not file.is_dir():
        return file.read_text("utf-8") if file.suffix == ".md" else ""
    names = sorted(
        entry.name
        for entry in file.iterdir()
        if not entry.name.startswith(".") and entry.name != "__pycache__"
    )
    # A folder's page stands in the folder, and so do its links.
    return f"# {file.name}/\n\n" + "".join(f"- [{n}]({file.name}/{n})\n" for n in names)


def _lines(markdown: str) -> list[tuple[str, bool]]:
    """Each line, and whether it is in a block of code."""
    lines, fence = [], None
    for line in markdown.splitlines(keepends=True):
        found = _FENCE.match(line)
        is_code = fence is not None or found is not None
        if found and fence is None:
            fence = found[1]
        elif found and found[1] == fence:
            fence = None
        lines.append((line, is_code))
    return lines


def _target(link: str, path: str) -> str | None:
    """The repository's path that a link of the file ``path`` leads to; None for other links."""
    if ":" in link or link.startswith("/"):
        return None
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), link))
    return None if target.startswith("..") else target


def _links(markdown: str, path: str) -> list[str]:
    found = [
        _target(match[2], path)
        for line, is_code in _lines(markdown)
        if not is_code
        for match in _LINK.finditer(line)
    ]
    return [target for target in found if target is not None]
