"""A ranking of results: console text and Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from wbgpu.records.evidence import Estimate
from wbgpu.records.ranking import PairChange, Ranking
from wbgpu.report.evidence_lines import untested_words
from wbgpu.report.numbers import ABSENT, quantity, signed_quantity
from wbgpu.report.tables import aligned, escape, table
from wbgpu.report.text import one_line

RANKING_HEADER = ("Result", "Mean", "Interval", "Rank")
PAIR_HEADER = ("Pair", "Change", "Interval", "p", "Adjusted p")


def conclusion(ranking: Ranking) -> str:
    """Who is ahead, and whether that is more than chance."""
    first, second = ranking.ranked[0].label, ranking.ranked[1].label
    pair = next(p for p in ranking.pairs if {p.first, p.second} == {first, second})
    if pair.change.mean == 0:
        return f"{first} and {second} are level."
    over = f"over {ranking.num_episodes} episodes"
    if pair.adjusted_p_value is None:
        return f"{first} has the better mean {over}, but {untested_words(pair.change)}."
    p = f"adjusted p {_p(pair.adjusted_p_value)}"
    if ranking.is_contradicted(pair):
        interval = f"interval {_interval(pair.change, ranking.unit, signed=True)}"
        return (
            f"{first} has the better mean {over}, but test and interval disagree whether it is "
            f"ahead of {second} by more than chance ({p}, {interval})."
        )
    if ranking.is_significant(pair):
        return f"{first} is ahead of {second} {over}, by more than chance ({p})."
    return f"{first} has the better mean, but {over} its lead on {second} can be chance ({p})."


def ranking_summary(ranking: Ranking, conclusion: str) -> str:
    """The lines that a comparison prints."""
    lines = [conclusion, "", _title(ranking)]
    lines += aligned([RANKING_HEADER, *ranking_rows(ranking)])
    lines += ["", "All pairs, the better one first:"]
    lines += aligned([PAIR_HEADER, *pair_rows(ranking)])
    lines += [*_notes(ranking), *(f"Warning: {warning}" for warning in ranking.warnings)]
    return "\n".join(map(one_line, lines))


def ranking_report(ranking: Ranking, conclusion: str) -> str:
    """The same in Markdown."""
    lines = ["# Comparison", "", escape(conclusion), "", f"## {_title(ranking)}", ""]
    rows = [tuple(map(escape, row)) for row in ranking_rows(ranking)]
    lines += table("lrrr", RANKING_HEADER, rows)
    lines += ["## All pairs, the better one first", ""]
    lines += table("lrrrr", PAIR_HEADER, [tuple(map(escape, r)) for r in pair_rows(ranking)])
    lines += [*map(escape, _notes(ranking)), ""]
    lines += [f"- {escape(warning)}" for warning in ranking.warnings]
    return "\n".join(lines)


def ranking_rows(ranking: Ranking) -> list[tuple[str, ...]]:
    """A row for each result, best mean first."""
    return [
        (
            item.label,
            quantity(item.score.mean, ranking.unit),
            _interval(item.score, ranking.unit, signed=False),
            rank_text(item.best_rank, item.worst_rank),
        )
        for item in ranking.ranked
    ]


def rank_text(best: int, worst: int) -> str:
    """Such as ``1`` or ``1 to 3``."""
    return f"{best}" if best == worst else f"{best} to {worst}"


def pair_rows(ranking: Ranking) -> list[tuple[str, ...]]:
    """A row for each pair."""
    return [_pair_row(pair, ranking.unit) for pair in ranking.pairs]


def _pair_row(pair: PairChange, unit: str) -> tuple[str, ...]:
    return (
        f"{pair.first} -> {pair.second}",
        signed_quantity(pair.change.mean, unit),
        _interval(pair.change, unit, signed=True),
        _p(pair.p_value),
        _p(pair.adjusted_p_value),
    )


def _interval(estimate: Estimate, unit: str, *, signed: bool) -> str:
    if estimate.lower is None or estimate.upper is None:
        return ABSENT
    text = signed_quantity if signed else quantity
    return f"{text(estimate.lower, unit)} to {text(estimate.upper, unit)}"


def _p(value: float | None) -> str:
    if value is None:
        return ABSENT
    return f"{value:.2g}" if value >= 0.001 else "< 0.001"


def _title(ranking: Ranking) -> str:
    better = "higher" if ranking.higher_is_better else "lower"
    left = f", {ranking.num_left_out} left out" if ranking.num_left_out else ""
    return (
        f"Mean {ranking.measure} over {ranking.num_episodes} episodes{left} "
        f"({ranking.unit}, {better} is better)"
    )


def _notes(ranking: Ranking) -> Iterator[str]:
    yield (
        f"Intervals and ranks: {100 * ranking.level:g} %. Ranks count differences that are "
        "significant among all pairs (paired sign flips, step-down max-T)."
    )
    untested = [pair for pair in ranking.pairs if pair.adjusted_p_value is None]
    if untested:
        yield f"p is {ABSENT} and ranks stay open: {untested_words(untested[0].change)}."
    contradicted = [pair for pair in ranking.pairs if ranking.is_contradicted(pair)]
    if contradicted:
        named = ", ".join(f"{pair.first} -> {pair.second}" for pair in contradicted)
        yield (
            f"Test and interval disagree on {named}: the test assumes symmetric differences and "
            "the interval does not. Ranks count the test; take such a pair as not told apart."
        )
