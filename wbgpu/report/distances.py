"""Distances of distributions in words: value, how many they are of, and what that is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wbgpu.records.comparison import Failure, Verdict
from wbgpu.records.distribution_distance import MIN_EPISODES, DistributionDistance
from wbgpu.records.suite import SuiteResult
from wbgpu.report.numbers import ABSENT, quantity, setting, signed_quantity
from wbgpu.report.tables import escape

TITLE = "Distances of distributions"
DISTANCE_KINDS = ("distance_episodes", "distance_unavailable", "distance_increase")
_UNIT = "distance"


def distance_lines(result: SuiteResult) -> list[str]:
    """A line for each distance of a result."""
    return [
        f"{distance.name}: {_value(distance)}; {_basis(distance)}"
        for distance in result.distribution_distances
    ]


def distance_section(result: SuiteResult) -> list[str]:
    """The same as a section in Markdown; empty where there are none."""
    return _section(distance_lines(result))


def distance_change_lines(verdict: Verdict) -> list[str]:
    """A line for each distance of either side, with its change, and whether it was gated."""
    sides = [
        {distance.name: distance for distance in result.distribution_distances}
        for result in (verdict.comparison.baseline, verdict.comparison.candidate)
    ]
    gated = verdict.thresholds.get("distance_margins", {})
    names = dict.fromkeys([*sides[0], *sides[1]])
    return [_change_line(name, sides[0].get(name), sides[1].get(name), gated) for name in names]


def distance_change_section(verdict: Verdict) -> list[str]:
    """The same as a section in Markdown; empty where there are none."""
    return _section(distance_change_lines(verdict))


def distance_ranking_lines(labels: Sequence[str], results: Sequence[SuiteResult]) -> list[str]:
    """A line for each distance of each of several results, the best first."""
    found = [
        (distance, label)
        for label, result in zip(labels, results, strict=True)
        for distance in result.distribution_distances
    ]
    names = dict.fromkeys(distance.name for distance, _ in found)
    lines = []
    for name in names:
        own = [pair for pair in found if pair[0].name == name]
        own.sort(key=lambda pair: (pair[0].value is None, pair[0].value or 0.0))
        lines += [f"{name} of {label}: {_value(one)}; {_basis(one)}" for one, label in own]
    return lines


def distance_failure_line(failure: Failure) -> str:
    """Such as ``fvd: 120 -> 140 (+20); margin 10``."""
    evidence = failure.evidence
    name = evidence["metric"]
    if failure.kind == "distance_episodes":
        return (
            f"{name}: not judged by {evidence['num_episodes']} episodes; at least "
            f"{evidence['minimum']} required"
        )
    if failure.kind == "distance_unavailable":
        return f"{name}: cannot be judged: {evidence['reason']}"
    return (
        f"{name}: {quantity(evidence['baseline'], _UNIT)} -> "
        f"{quantity(evidence['candidate'], _UNIT)} "
        f"({signed_quantity(evidence['change'], _UNIT)}); margin {setting(evidence['allowed'])}"
    )


def _section(lines: Sequence[str]) -> list[str]:
    return [f"## {TITLE}", "", *(f"- {escape(line)}" for line in lines), ""] if lines else []


def _change_line(
    name: str,
    before: DistributionDistance | None,
    after: DistributionDistance | None,
    gated: Mapping[str, float],
) -> str:
    sides = " -> ".join(ABSENT if d is None else quantity(d.value, _UNIT) for d in (before, after))
    tail = f"margin {setting(gated[name])}" if name in gated else "not gated"
    fewest = min(d.num_episodes for d in (before, after) if d is not None)
    if name not in gated and fewest < MIN_EPISODES:
        tail += f", as fewer than {MIN_EPISODES} episodes say little"
    if before is None or after is None:
        side, one = ("candidate", after) if before is None else ("baseline", before)
        assert one is not None
        return f"{name}: {sides}, in the {side} only; {_basis(one)}; {tail}"
    if before.value is None or after.value is None:
        reason = after.reason or before.reason
        return f"{name}: {sides}: {reason} {_basis(after)}; {tail}"
    if not after.is_of_as_many_as(before):
        return (
            f"{name}: {sides}, of {before.num_observations} and {after.num_observations} "
            f"observations and so not comparable; {tail}"
        )
    change = signed_quantity(after.value - before.value, _UNIT)
    return f"{name}: {sides} ({change}, lower is better); {_basis(after)}; {tail}"


def _value(distance: DistributionDistance) -> str:
    if distance.value is None:
        return f"{ABSENT}, {(distance.reason or '').rstrip('.')}"
    return f"{quantity(distance.value, _UNIT)}, lower is better"


def _basis(distance: DistributionDistance) -> str:
    observations = ""
    if distance.num_observations != distance.num_episodes:
        observations = f" with {distance.num_observations} frames"
    text = f"{distance.num_episodes} episodes{observations}, {distance.num_features} features"
    if distance.value is not None and distance.rank_deficiency:
        text += f", of which the covariances lack {distance.rank_deficiency}: biased upwards"
    if distance.extractor_sha256 is not None:
        text += f", extractor {distance.extractor_sha256[:12]}"
    return text
