"""Evidence against margins, in words: for console, Markdown and pages alike."""

from __future__ import annotations

from collections.abc import Sequence

from wbgpu.records.comparison import Failure, Verdict
from wbgpu.records.evidence import MIN_TESTED_UNITS, Estimate, Evidence, HorizonTest
from wbgpu.records.metric import SCORE_UNIT
from wbgpu.records.regret_comparison import RegretVerdict
from wbgpu.report.numbers import ABSENT, quantity, setting, signed_quantity
from wbgpu.report.skill import label_spans

MARGIN_KINDS = ("beyond_margin", "undecided", "horizon_beyond_margin", "horizons_not_tested")
"""Kinds of failures that are of evidence against margins."""

EVIDENCE_HEADER: tuple[str, ...] = (
    "Evidence",
    "Change",
    "Interval",
    "Margin",
    "Says",
    "Baseline",
    "Candidate",
    "Unit",
)
"""What decides comes first: a narrow screen shows the left part of a table."""

EVIDENCE_ALIGN = "lrrrlrrl"

_MAX_SPANS = 3

_ON_THE_MARGIN = 100
"""Times as many episodes as there are: a change that needs so many lies on its margin."""


def margin_failure_line(failure: Failure) -> str:
    """Such as ``composite: -3.23 (-3.94 to -2.25) points, wholly beyond the margin of 1``."""
    evidence = failure.evidence
    if failure.kind == "horizons_not_tested":
        return f"{evidence['reason']}, and a margin of {setting(evidence['margin'])} is asked for"
    if failure.kind == "horizon_beyond_margin":
        spans = list(label_spans(sorted(evidence["horizons"])))
        where = ", ".join(spans) if len(spans) <= _MAX_SPANS else f"{spans[0]} ... {spans[-1]}"
        return (
            f"{evidence['metric']} at {where}: dropped by more than {setting(evidence['margin'])} "
            f"points ({signed_quantity(evidence['change'], SCORE_UNIT)} at "
            f"{next(iter(label_spans([evidence['horizon']])))}, adjusted p "
            f"{_p(evidence['adjusted_p_value'])})"
        )
    unit = evidence["unit"]
    change = signed_quantity(evidence["change"], unit)
    if evidence["lower"] is None:
        interval = "no interval from one episode or cluster"
    else:
        lower, upper = (signed_quantity(evidence[key], unit) for key in ("lower", "upper"))
        interval = f"{lower} to {upper}"
    margin = f"margin of {setting(evidence['margin'])} {_unit(unit)}"
    if failure.kind == "beyond_margin":
        return f"{evidence['name']}: {change} ({interval}), wholly beyond the {margin}"
    line = f"{evidence['name']}: {change} ({interval}) does not clear the {margin}"
    if evidence["lower"] is None:
        return line
    needed = evidence["episodes_to_decide"]
    if needed is None or needed >= _ON_THE_MARGIN * evidence["num_episodes"]:
        return f"{line}; it lies on the margin, where more episodes hardly help"
    return (
        f"{line}; about {needed} such episodes in all would decide it, if the change stays as it is"
    )


def evidence_rows(evidence: Sequence[Evidence]) -> list[tuple[str, ...]]:
    """A row for each number that was held against a margin."""
    rows: list[tuple[str, ...]] = []
    for item in evidence:
        estimate = item.estimate
        interval = ABSENT
        if estimate.lower is not None and estimate.upper is not None:
            lower, upper = (
                signed_quantity(bound, item.unit) for bound in (estimate.lower, estimate.upper)
            )
            interval = f"{lower} to {upper}"
        says = "undecided"
        if item.is_beyond:
            says = "worse"
        elif item.is_within:
            says = "not worse"
        rows.append(
            (
                item.name,
                signed_quantity(estimate.mean, item.unit),
                interval,
                setting(item.margin),
                says,
                quantity(item.baseline, item.unit),
                quantity(item.candidate, item.unit),
                item.unit,
            )
        )
    return rows


def power_lines(evidence: Sequence[Evidence]) -> list[str]:
    """How small a change the episodes can decide, and how many would decide an unchanged one."""
    lines = []
    for item in evidence:
        effect, estimate = item.minimum_detectable_effect, item.estimate
        if effect is None:
            what = "episode" if estimate.num_episodes == 1 else "cluster"
            lines.append(f"{item.name}: one {what} has no spread, so nothing can be decided")
            continue
        if effect == 0:
            lines.append(
                f"{item.name}: all {estimate.num_episodes} episodes changed alike, so there is no "
                "spread to be unsure about"
            )
            continue
        units = f"{estimate.num_episodes} episodes"
        if estimate.num_units != estimate.num_episodes:
            units += f" in {estimate.num_units} clusters"
        line = (
            f"{item.name}: minimum detectable effect of {units}: "
            f"{quantity(effect, item.unit)} {_unit(item.unit)} from the margin (80 % power, "
            f"{estimate.method} interval)"
        )
        if item.episodes_to_clear is not None:
            line += f"; an unchanged candidate passes with {item.episodes_to_clear} episodes in all"
        lines.append(line)
        if item.sequential is not None:
            sequential = item.sequential
            after = (
                "never"
                if sequential.decided_after is None
                else f"after {sequential.decided_after} episodes"
            )
            lines.append(
                f"{item.name}: e-value {sequential.e_worse:.3g} for worse than the margin, "
                f"{sequential.e_better:.3g} for better; {setting(sequential.threshold)} reached "
                f"{after}"
            )
    return lines


def untested_words(of: Estimate | HorizonTest) -> str:
    """Why there is no p-value: such as ``fewer than 6 clusters are not tested (4 here)``."""
    units = "episodes" if of.num_units == of.num_episodes else "clusters"
    return f"fewer than {MIN_TESTED_UNITS} {units} are not tested ({of.num_units} here)"


def method_line(verdict: Verdict | RegretVerdict) -> str:
    """How intervals were made, and what can be wrong how often."""
    methods = dict.fromkeys(item.estimate.method for item in verdict.evidence)
    level = verdict.thresholds["confidence_level"]
    rate = f"{100 * (1 - level) / 2:.3g} %"
    text = (
        f"Intervals: {setting(100 * level)} %, {', '.join(methods) or 'none'}; for symmetric "
        f"differences a number at its margin is called worse by chance in {rate} of comparisons, "
        "and not worse in as many"
    )
    if isinstance(verdict, Verdict) and verdict.horizon_tests:
        tested = sum(test.adjusted_p_value is not None for test in verdict.horizon_tests)
        total = len(verdict.horizon_tests)
        text += (
            f"; {tested} of {total} metric x horizon tests share {rate} (step-down max-T)"
            if tested
            else f"; none of {total} metric x horizon tests was made"
        )
    return text


def _unit(unit: str) -> str:
    return "points" if unit == SCORE_UNIT else unit


def _p(value: float) -> str:
    return f"{value:.2g}" if value >= 0.001 else "< 0.001"
