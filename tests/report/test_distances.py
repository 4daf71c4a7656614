"""Distances of distributions in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.records.results import simple_suite
from wbgpu.records.distribution_distance import DistributionDistance
from wbgpu.report.console import result_summary, verdict_summary
from wbgpu.report.distances import distance_change_lines, distance_lines, distance_ranking_lines
from wbgpu.report.failures import failure_lines
from wbgpu.report.html.suite_page import SuiteReport, suite_page
from wbgpu.report.junit import junit_xml
from wbgpu.report.markdown import gate_report, result_report
from wbgpu.report.noninferiority import evidence_report, evidence_summary
from wbgpu.sdk import gate

FVD = DistributionDistance("fvd", "fvd/1", 120.0, None, 300, 300, 400, "abcdef" * 10 + "abcd")
WORSE = replace(FVD, value=140.5)
NONE = replace(FVD, value=None, reason="No feature extractor is given.", extractor_sha256=None)
LINE = (
    "fvd: 120, lower is better; 300 episodes, 400 features, of which the covariances lack 101: "
    "biased upwards, extractor abcdefabcdef"
)


def suite(*distances):
    return simple_suite({"a|b": [50.0]}, distribution_distances=distances)


def verdict(before, after, **settings):
    return gate(suite(*before), suite(*after), **settings)


def test_a_result_says_value_number_and_deficiency():
    """A number without N and rank cannot be judged."""
    assert distance_lines(suite(FVD)) == [LINE]
    frames = replace(FVD, name="fid", num_observations=4800)
    assert (
        "300 episodes with 4800 frames, 400 features, extractor" in distance_lines(suite(frames))[0]
    )
    assert distance_lines(suite(NONE)) == [
        "fvd: N/A, No feature extractor is given; 300 episodes, 400 features"
    ]


def test_every_report_of_a_result_has_it_and_none_without():
    """A page that leaves it out is taken for one that has none."""
    texts = (result_summary, result_report, lambda result: suite_page(SuiteReport(result)))
    for text in texts:
        assert LINE in text(suite(FVD))
        assert "istances of distributions" not in text(suite())


def test_every_report_of_a_verdict_has_the_change():
    """And says whether it was gated."""
    change = "fvd: 120 -> 140.5 (+20.5, lower is better)"
    own = verdict([FVD], [WORSE], distance_margins={"fvd": 9})
    weighed = verdict([FVD], [WORSE], policy="noninferiority")
    assert change in verdict_summary(own)
    assert change in gate_report(own).replace("\\", "")
    assert change in evidence_summary(weighed)
    assert change in evidence_report(weighed).replace("\\", "")
    assert distance_change_lines(own)[0].endswith("; margin 9")
    assert distance_change_lines(weighed)[0].endswith("; not gated")
    page = suite_page(SuiteReport(suite(WORSE), verdict=own))
    assert "140.5 (+20.5, lower is better)" in page
    assert "fvd 9" in page
    assert "fvd: 120 -&gt; 140.5 (+20.5); margin 9" in junit_xml(own, "2026-01-01")


def test_what_cannot_be_compared_is_said():
    """A change between two numbers of other episodes is none."""
    few = replace(FVD, num_episodes=10, num_observations=10)
    (line,) = distance_change_lines(verdict([few], [few]))
    assert line.endswith("not gated, as fewer than 256 episodes say little")
    (line,) = distance_change_lines(verdict([FVD], [few]))
    assert "of 300 and 10 observations and so not comparable" in line
    (line,) = distance_change_lines(verdict([FVD], [NONE]))
    assert line.startswith("fvd: 120 -> N/A: No feature extractor is given.")
    (line,) = distance_change_lines(verdict([], [FVD]))
    assert line.startswith("fvd: N/A -> 120, in the candidate only")


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        ([FVD], [WORSE], "fvd: 120 -> 140.5 (+20.5); margin 9"),
        ([FVD], [], "fvd: cannot be judged: it was not measured in the candidate"),
        (
            [replace(FVD, num_episodes=9)],
            [FVD],
            "fvd: not judged by 9 episodes; at least 256 required",
        ),
    ],
)
def test_failures_in_words(before, after, wanted):
    """The reason is what a person acts on."""
    failures = verdict(before, after, distance_margins={"fvd": 9}).failures
    assert failure_lines(failures) == [wanted]


def test_a_comparison_lists_the_best_first():
    """Missing is not the best."""
    lines = distance_ranking_lines(["a", "b", "c"], [suite(WORSE), suite(NONE), suite(FVD)])
    assert [line.partition(":")[0] for line in lines] == ["fvd of c", "fvd of a", "fvd of b"]
