"""The documentation site: whole, without a warning, and at home on a disk without a network."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import wbgpu
from scripts.check_links import problems
from tests.conftest import REPOSITORY
from wbgpu.bench.limits import Limits
from wbgpu.bench.openapi import openapi_document
from wbgpu.worlds import world_names

pytest.importorskip("mkdocs", reason="the extra docs is not installed")
DOCS = REPOSITORY / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built as scripts/docs does; its warnings are errors."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "-d", str(folder)]
    ended = subprocess.run(
        command,
        cwd=REPOSITORY,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert not ended.stdout + ended.stderr
    return folder


@pytest.fixture(scope="module")
def pages():
    """Pages in the navigation."""

    class Loader(yaml.SafeLoader):
        pass

    # Objects of mkdocs' own, such as the one that makes anchors.
    Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: suffix)
    settings = yaml.load((REPOSITORY / "mkdocs.yml").read_text("utf-8"), Loader)

    def leaves(entry):
        if isinstance(entry, str):
            return [entry]
        inner = entry.values() if isinstance(entry, dict) else entry
        return [leaf for part in inner for leaf in leaves(part)]

    return leaves(settings["nav"])


def text_of(page: Path) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", page.read_text("utf-8")))


def test_every_link_and_anchor_leads_somewhere(site):
    """README's too, which is a page of the site; and nothing is loaded from a network."""
    assert problems(site) == []
    readme = (site / "repository/index.html").read_text("utf-8")
    assert 'href="../how-to/gate.html"' in readme, "links of a copy lead back into docs/"
    trackers = (site / "trackers.html").read_text("utf-8")
    assert 'href="repository/artifacts/tracking/bridge.html"' in trackers


def test_a_wrong_link_is_found(tmp_path):
    """A check that finds nothing proves nothing."""
    (tmp_path / "index.html").write_text(
        '<h1 id="top"></h1><a href="#top"></a><a href="other.html#x"></a><a href="gone.html"></a>'
        '<a href="/index.html"></a><a href="https://example.org"></a><a href="#gone"></a>'
        '<script src="https://example.org/a.js"></script><link rel="stylesheet" href="//e.org/a">'
    )
    (tmp_path / "other.html").write_text("<p name='x'></p>")
    assert problems(tmp_path) == [
        "index.html: gone.html: no such file",
        "index.html: /index.html: not relative: no file has it",
        "index.html: #gone: no such anchor",
        "index.html: https://example.org/a.js: loaded from a network",
        "index.html: //e.org/a: loaded from a network",
    ]


def test_what_pages_load_in_scripts_and_styles_is_in_the_site(site):
    """An address in a style sheet or in the page's settings is loaded as well."""
    for path in [*site.glob("stylesheets/*.css"), *site.glob("assets/stylesheets/*.css")]:
        found = re.findall(r"url\((?!['\"]?data:)([^)]*)\)", path.read_text("utf-8"))
        assert not found, path
    assert "fonts.g" not in (site / "index.html").read_text("utf-8")
    assert (site / "search/search_index.js").is_file()


def test_every_page_is_in_the_navigation_once(pages):
    files = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
    assert sorted(pages) == files


def test_every_metric_has_a_card_in_the_navigation(pages):
    cards = {page: (DOCS / page).read_text("utf-8") for page in pages if page[:8] == "metrics/"}
    overview = cards.pop("metrics/index.md")
    configs = [*REPOSITORY.glob("configs/metrics/*.yaml")]
    configs += REPOSITORY.glob("configs/distribution_metrics/*.yaml")
    assert configs
    for config in configs:
        name = config.stem
        assert re.search(rf"\b{name}\b", overview), f"the overview does not say {name}"
        assert any(re.search(rf"\b{name}\b", card) for card in cards.values()), name
        if config.parent.name == "metrics" and name != "visual_similarity_luma":
            assert f"metrics/{name}.md" in cards


def test_the_python_reference_has_every_public_name(site):
    page = site / "python-api.html"
    anchors = set(re.findall(r'id="([\w.]+)"', page.read_text("utf-8")))
    missing = {f"wbgpu.{name}" for name in wbgpu.__all__} - anchors
    assert missing == {"wbgpu.__version__"}
    assert "wbgpu.__version__" in text_of(page)
    from wbgpu import metrics

    for name in metrics.__all__:
        known = (f"wbgpu.metrics.{name}", f"wbgpu.metrics.{name}.{name}")
        assert anchors & set(known), name


def test_docstrings_are_shown_as_text(site):
    """Roles of reStructuredText are none in Markdown."""
    assert not re.search(r":(class|func|mod|meth|attr|data):", text_of(site / "python-api.html"))


def test_lists_are_lists(site):
    """Python-Markdown wants an empty line before a list, where GitHub does not."""
    for path in site.rglob("*.html"):
        if "repository" not in path.parts:
            found = re.search(r"<p>[^<]*\n(- |\d+\. )[^<]*", path.read_text("utf-8"))
            assert found is None, f"{path.relative_to(site)}: {found and found[0]}"


def test_the_openapi_document_is_that_of_the_server():
    """A copy, for readers without a server."""
    document = json.loads((DOCS / "openapi.json").read_text("utf-8"))
    assert document == json.loads(json.dumps(openapi_document(Limits(), world_names())))


def test_search_works_on_a_page_that_is_opened_as_a_file(site):
    """Browsers start no workers there; a script of ours takes their place."""
    from scripts.chromium import Chromium, find_chromium

    program = find_chromium()
    if program is None:
        if os.environ.get("WBGPU_REQUIRE_CHROMIUM") == "1":
            pytest.fail("WBGPU_REQUIRE_CHROMIUM=1, but there is no Chromium", pytrace=False)
        pytest.skip("there is no Chromium")
    search = """new Promise(resolve => {
        document.querySelector('label[for=__search], [data-md-toggle=search]').click();
        const query = document.querySelector('[data-md-component=search-query]');
        const ask = () => {
            query.value = 'noninferiority';
            query.dispatchEvent(new KeyboardEvent('keyup', {bubbles: true}));
            const found = document.querySelector('.md-search-result__link');
            if (found) resolve(found.href); else setTimeout(ask, 100);
        };
        query.focus();
        ask();
    })"""
    with Chromium(program) as browser:
        for width, dark in ((1280, False), (390, True)):
            browser.show((site / "how-to/gate.html").as_uri(), width=width, dark=dark)
            assert browser.evaluate("document.documentElement.scrollWidth") == width
            scheme = browser.evaluate("document.body.getAttribute('data-md-color-scheme')")
            assert scheme == ("slate" if dark else "default")
            assert browser.evaluate(search).startswith(site.as_uri())
            assert browser.problems == []
