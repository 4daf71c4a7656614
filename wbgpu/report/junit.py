"""A verdict as JUnit XML, which CI systems show: one test case for each kind of rule.

Broken rules are failures. What is not decided is a skipped test, unless the policy makes it a
failure; a machine that reads the file must not take INCONCLUSIVE for a pass, so the case named
``verdict`` fails exactly on FAIL and is skipped on INCONCLUSIVE.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from wbgpu.records.comparison import Failure, Verdict
from wbgpu.records.regret_comparison import RegretVerdict
from wbgpu.report.failures import failure_lines, regret_failure_lines
from wbgpu.report.text import one_line

_SUITE = "wbgpu gate"


def junit_xml(verdict: Verdict | RegretVerdict, created_at: str) -> str:
    """The file's text.

    Args:
        verdict: what a gate said.
        created_at: ISO 8601, for the suite's time stamp.
    """
    name = f"{_SUITE}: {' -> '.join(_sides(verdict))}"
    kinds = dict.fromkeys(f.kind for f in (*verdict.failures, *verdict.undecided))
    num_skipped = sum(_is_open(verdict, kind) for kind in kinds) + (
        verdict.status == "INCONCLUSIVE"
    )
    num_failed = len(kinds) + 1 - num_skipped if verdict.status != "PASS" else 0
    counts = {
        "tests": str(len(kinds) + 1),
        "failures": str(num_failed),
        "errors": "0",
        "skipped": str(num_skipped),
    }
    suites = ElementTree.Element("testsuites", {"name": _SUITE, **counts})
    attributes = {"name": one_line(name), "timestamp": created_at, "time": "0", **counts}
    suite = ElementTree.SubElement(suites, "testsuite", attributes)
    _properties(suite, verdict)
    case = _case(suite, "verdict", verdict)
    if verdict.status == "FAIL":
        _say(case, "failure", verdict.status, _lines(verdict, verdict.failures))
    elif verdict.status == "INCONCLUSIVE":
        _say(case, "skipped", verdict.status, _lines(verdict, verdict.undecided))
    for kind in kinds:
        case = _case(suite, kind, verdict)
        broken = [f for f in (*verdict.failures, *verdict.undecided) if f.kind == kind]
        lines = _lines(verdict, broken)
        _say(case, "skipped" if _is_open(verdict, kind) else "failure", lines[0], lines)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _is_open(verdict: Verdict | RegretVerdict, kind: str) -> bool:
    return any(failure.kind == kind for failure in verdict.undecided)


def _case(
    suite: ElementTree.Element, name: str, verdict: Verdict | RegretVerdict
) -> ElementTree.Element:
    attributes = {"classname": f"wbgpu.gate.{verdict.policy}", "name": one_line(name), "time": "0"}
    return ElementTree.SubElement(suite, "testcase", attributes)


def _say(case: ElementTree.Element, tag: str, message: str, lines: Sequence[str]) -> None:
    element = ElementTree.SubElement(case, tag, {"message": one_line(message)})
    element.text = "\n".join(map(one_line, lines))


def _properties(suite: ElementTree.Element, verdict: Verdict | RegretVerdict) -> None:
    properties = ElementTree.SubElement(suite, "properties")
    baseline, candidate = _sides(verdict)
    for name, value in {
        "status": verdict.status,
        "policy": verdict.policy,
        "baseline": baseline,
        "candidate": candidate,
        **{key: str(value) for key, value in verdict.thresholds.items()},
    }.items():
        ElementTree.SubElement(properties, "property", {"name": name, "value": one_line(value)})


def _sides(verdict: Verdict | RegretVerdict) -> tuple[str, str]:
    if isinstance(verdict, Verdict):
        comparison = verdict.comparison
        return comparison.baseline.checkpoint_name, comparison.candidate.checkpoint_name
    return verdict.comparison.baseline.contestant, verdict.comparison.candidate.contestant


def _lines(verdict: Verdict | RegretVerdict, failures: Sequence[Failure]) -> list[str]:
    is_regret = isinstance(verdict, RegretVerdict)
    return regret_failure_lines(failures) if is_regret else failure_lines(failures)
