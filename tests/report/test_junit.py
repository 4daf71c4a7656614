from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tests.records.regret_results import regret_result
from tests.records.results import simple_suite
from tests.report.pages import HOSTILE, hostile_suite
from wbgpu.report.junit import junit_xml
from wbgpu.sdk import Noninferiority, gate, gate_regret

NOW = "2026-01-01T00:00:00+00:00"
HIGH = {f"{i}": [80.0 + i, 70.0 + i] for i in range(8)}
LOW = {f"{i}": [70.0 + i, 60.0 + i] for i in range(8)}
MIXED = {f"{i}": [80.0 + i, 60.0 + 4 * i] for i in range(8)}


def parsed(verdict):
    root = ElementTree.fromstring(junit_xml(verdict, NOW))
    (suite,) = root
    cases = suite.findall("testcase")
    # CI systems add these up; wrong counts make a red run green.
    for element in (root, suite):
        assert int(element.get("tests")) == len(cases)
        assert int(element.get("failures")) == sum(c.find("failure") is not None for c in cases)
        assert int(element.get("skipped")) == sum(c.find("skipped") is not None for c in cases)
    return suite, {case.get("name"): case for case in cases}


def test_a_pass_is_one_case_that_passed():
    suite, cases = parsed(gate(simple_suite(LOW), simple_suite(HIGH)))
    assert list(cases) == ["verdict"]
    assert list(cases["verdict"]) == []
    values = {p.get("name"): p.get("value") for p in suite.iter("property")}
    assert values["status"] == "PASS"
    assert values["max_overall_drop"] == "0.0"


def test_each_kind_of_broken_rule_is_a_failure():
    _, cases = parsed(gate(simple_suite(HIGH), simple_suite(LOW)))
    assert list(cases) == ["verdict", "overall", "metric", "horizon", "composite_improvement"]
    failure = cases["metric"].find("failure")
    assert failure.get("message").startswith("Metric visual_similarity: 73.50 -> 63.50 (-10.00)")


def test_what_is_not_decided_is_skipped_and_never_passed():
    verdict = gate(
        simple_suite(HIGH), simple_suite(MIXED), policy="noninferiority", horizon_margin=50.0
    )
    assert verdict.status == "INCONCLUSIVE"
    _, cases = parsed(verdict)
    assert list(cases) == ["verdict", "undecided"]
    assert all(case.find("skipped") is not None for case in cases.values())


@pytest.mark.parametrize("policy", [None, Noninferiority()])
def test_regret_has_the_same_form(policy):
    before, after = (regret_result(n, seeds=tuple(range(6))) for n in ("mixed", "kt"))
    _, cases = parsed(gate_regret(before, after, policy=policy))
    assert len(cases) > 1
    assert cases["verdict"].find("failure").get("message") == "FAIL"


def test_hostile_names_make_no_elements():
    verdict = gate(hostile_suite(), hostile_suite(-2.0), strict_config_match=False)
    suite, _ = parsed(verdict)
    assert {e.tag for e in suite.iter()} == {
        "testsuite",
        "properties",
        "property",
        "testcase",
        "failure",
    }
    assert HOSTILE[0] in suite.get("name")
