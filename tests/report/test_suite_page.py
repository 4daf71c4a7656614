"""The page of a result, as text; tests/report/test_browser.py opens it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from tests.records.regret_results import regret_result
from tests.records.results import available, episode, simple_suite, suite
from tests.report.pages import HOSTILE, hostile_page, large_page
from tests.report.skills import with_skill
from wbgpu.records.film import Film
from wbgpu.report.html.suite_page import SuiteReport, suite_page
from wbgpu.reporting.html import suite_html
from wbgpu.sdk import gate

TEXT_ELEMENTS = {"title", "h1", "h2", "h3", "th", "td", "li", "dd", "summary", "p", "text"}


class Elements(HTMLParser):
    """Elements and their attributes in order, and all text."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.words = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)

    @property
    def tags(self):
        return {tag for tag, _ in self.found}

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def pages():
    return hostile_page()


def test_hostile_names_stay_names(pages):
    """An episode's file name must not become markup, style, a template or a line of its own."""
    for page in pages:
        elements = Elements(page)
        assert not elements.tags & {"script", "iframe", "object", "embed", "form", "b"}
        assert sum(tag == "style" for tag, _ in elements.found) == 1
        for tag, attributes in elements.found:
            assert not [name for name in attributes if name.startswith("on")]
            for name in ("href", "src", "{http://www.w3.org/1999/xlink}href", "xlink:href"):
                value = attributes.get(name) or "#"
                assert value.startswith(("#", "data:")), (tag, value)
        assert "49" not in re.findall(r"\d+(?= *\{%)", elements.text)
        assert "\u202e" not in page
        assert "{{ 7 * 7 }}{% raw %}.mp4" in elements.text


def test_it_loads_nothing(pages):
    """A report is sent to people; opening it must not tell anybody."""
    for page in pages:
        for tag, attributes in Elements(page).found:
            for name, value in attributes.items():
                if name not in ("alt", "aria-label", "content"):
                    assert not re.search(r"url\((?!#)|@import", value or ""), (tag, value)
        style = page[page.index("<style>") : page.index("</style>")]
        assert not re.search(r"url\(|@import", style)
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
        assert policy is not None
        assert policy[1].startswith("default-src 'none'")
        assert "script-src" not in policy[1]


def test_ids_are_unique(pages):
    """Charts are put into one page; equal ids would draw one with the other's clip path."""
    for page in pages:
        ids = [a["id"] for _, a in Elements(page).found if "id" in a]
        assert len(ids) == len(set(ids)) > 100 or page is pages[1]
        references = set(re.findall(r"url\(#([^)]*)\)", page))
        assert references <= set(ids)


def test_the_verdict_and_its_reasons_come_first():
    before, after = simple_suite({"a": [80.0, 70.0]}), simple_suite({"a": [70.0, 60.0]})
    text = Elements(suite_html(after, gate(before, after)).partition("<main>")[2]).text
    order = [
        text.index(part)
        for part in (
            "Regression detected:",
            "Metric visual_similarity: 70.00 -> 60.00 (-10.00); threshold 0",
            "Metrics and coverage",
        )
    ]
    assert order == sorted(order)
    assert '<span class="badge FAIL">FAIL</span>step00900 against' in suite_html(
        after, gate(before, after)
    )


def test_what_is_not_decided_says_what_would_decide():
    before = simple_suite({f"{i}": [70.0 + i, 70.0] for i in range(6)})
    after = simple_suite({f"{i}": [70.0 + i, 67.0 + i] for i in range(6)})
    verdict = gate(before, after, policy="noninferiority", horizon_margin=50.0)
    assert verdict.status == "INCONCLUSIVE"
    text = Elements(suite_html(after, verdict)).text
    assert "INCONCLUSIVE" in text
    assert "These episodes do not decide:" in text
    assert "such episodes in all would decide it" in text
    assert "80 % power" in text


def test_regret_that_entered_the_verdict_has_its_curves():
    """One verdict on pixels and regret is explained by both."""
    before = simple_suite({f"{i}": [70.0 + i, 70.0] for i in range(6)})
    regret = [regret_result(name, seeds=tuple(range(6))) for name in ("mixed", "kt")]
    verdict = gate(
        before,
        before,
        policy="noninferiority",
        baseline_regret=regret[0],
        candidate_regret=regret[1],
    )
    page = suite_html(before, verdict)
    assert verdict.status == "FAIL"
    assert "Regret in spectator" in page
    assert 'aria-label="Expected regret of each step. mixed: ' in page


def test_a_baseline_that_cannot_be_compared_is_said():
    text = Elements(suite_html(simple_suite({"a": [80.0]}), incomparable="other episodes")).text
    assert "Not compared: other episodes" in text


def test_a_single_result_shows_the_copys_line_and_its_scores():
    page = suite_html(with_skill([[-0.1, -0.2, 0.3]] * 3))
    elements = Elements(page)
    assert "Composite score: 71.00 of 100" in elements.text
    assert "persistence: 0.000 at t+1, 0.000 at t+3" in page
    assert "All 3 episodes, lowest score first" in elements.text


def test_a_thousand_episodes_are_paged_and_charts_stay_small():
    page = large_page()
    elements = Elements(page)
    names = re.findall("episode_[0-9]{5}.mp4(?=</th>)", page.replace("<wbr>", ""))
    assert len(names) == len(set(names)) == 1000
    pages = [a for tag, a in elements.found if tag == "details" and a.get("name")]
    assert len(pages) == 20
    assert sum("open" in attributes for attributes in pages) == 1
    assert len(page) < 1_000_000


def test_the_same_results_make_the_same_page():
    """Ids of clip paths are random unless they are told not to be."""
    result = simple_suite({"a": [80.0, 70.0], "b": [75.0, 70.0]})
    assert suite_html(result) == suite_html(result)


def test_films_say_why_there_are_none(pages):
    elements = Elements(pages[1])
    assert f"No pictures: {HOSTILE[0]}" in elements.text
    pictures = [a for tag, a in elements.found if tag == "img"]
    assert [a["alt"] for a in pictures] == [
        "ground truth, t+1",
        "ground truth, t+3",
        "candidate SSIM, t+1",
        "candidate SSIM, t+3",
    ]


def test_a_result_without_any_metric_has_a_page():
    """Nothing was measured, which is what there is to report."""
    empty = suite([])
    text = Elements(suite_page(SuiteReport(empty))).text
    assert "Composite score: N/A of 100" in text


def _pair(*shifts):
    """A result and one whose episodes changed by ``shifts``."""
    sides = ([70.0 + i, 70.0] for i in range(len(shifts)))
    before = {f"{i}": side for i, side in enumerate(sides)}
    after = {f"{i}": [a + shifts[int(i)] for a in side] for i, side in before.items()}
    return simple_suite(before), simple_suite(after)


@pytest.mark.parametrize(
    ("shifts", "title"),
    [
        ((1.0, 2.0), "Smallest and largest gains"),
        ((-1.0, -2.0), "Largest and smallest drops"),
        ((-1.0, 2.0), "Lowest and highest changes"),
    ],
)
def test_films_are_headed_by_what_changed(shifts, title):
    """The worst episode of a candidate that gained everywhere is no bad one."""
    before, after = _pair(*shifts)
    films = [Film(name, missing="gone") for name in "01"]
    page = suite_page(SuiteReport(after, gate(before, after), films=films))
    assert f'<h2 id="films-title">{title}</h2>' in page


def test_maps_have_a_title_and_explain_what_is_empty():
    """temporal_stability has no value at t+1, and a hole in a map looks like a fault."""

    def made(shift):
        outcomes = [
            available("visual_similarity", [70.0 + shift, 71.0]),
            available("temporal_stability", [None, 90.0 + shift]),
        ]
        return suite([episode(f"{i}", outcomes) for i in range(6)])

    page = suite_html(made(1.0), gate(made(0.0), made(1.0)))
    assert ">Change by metric and horizon, over all steps up to the horizon</p>" in page
    assert "An empty place: the metric has no value there" in page
    assert "largest 1.00 score at t+1" in page
    before, after = _pair(*[1.0] * 6)
    assert "An empty place" not in suite_html(after, gate(before, after))


def test_a_drop_of_the_composite_is_one_reason():
    """The rule of the least improvement repeats the drop, number for number."""
    before, after = _pair(-5.0, -5.0)
    verdict = gate(before, after)
    assert {"overall", "composite_improvement"} <= {f.kind for f in verdict.failures}
    assert "Composite Score improvement" not in suite_html(after, verdict)
    asked = gate(before, after, min_composite_improvement=1.0)
    assert "Composite Score improvement" in suite_html(after, asked)
