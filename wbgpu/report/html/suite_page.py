"""The page of a result of videos, with what changed against a baseline if there is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wbgpu.records.comparison import UNCHANGED_TOLERANCE, Comparison, Verdict
from wbgpu.records.curves import Curve
from wbgpu.records.evidence import HorizonTest
from wbgpu.records.film import Film
from wbgpu.records.suite import SuiteResult
from wbgpu.report.distances import distance_change_lines, distance_lines
from wbgpu.report.evidence_lines import method_line, power_lines
from wbgpu.report.failures import failure_lines
from wbgpu.report.gate_sections import limit_text
from wbgpu.report.html.evidence_table import STATUS_TITLES, evidence_table
from wbgpu.report.html.horizon_section import horizon_section
from wbgpu.report.html.page import Line, Section, lines, render, table
from wbgpu.report.html.pictures import picture_film, scale_colors
from wbgpu.report.html.regret_page import regret_curves
from wbgpu.report.html.suite_episodes import episode_section
from wbgpu.report.model_inputs import actions_note
from wbgpu.report.numbers import ABSENT, change, percent, score, setting
from wbgpu.report.origin import origin_rows
from wbgpu.report.sides import (
    differing_settings,
    effect_line,
    episodes_note,
    tolerance_text,
    ungated_line,
)
from wbgpu.report.skill import skill_sentences
from wbgpu.report.suite_rows import (
    CHANGE_ALIGN,
    CHANGE_HEADER,
    METRIC_HEADER,
    change_rows,
    metric_reasons,
    metric_rows,
)


@dataclass(frozen=True)
class SuiteReport:
    """What is known of a result.

    Attributes:
        result: the candidate.
        verdict: on it against a baseline, or ``None``.
        incomparable: why a baseline that was given is not shown; ``None`` where it is, or where
            none was given.
        curves: of all sources.
        tests: of each metric at each horizon, where there is a baseline.
        num_clusters: independent units of the tests; ``None`` where they are the episodes.
        films: of the worst and best episodes.
        configuration_file: the wbgpu.yml that supplied thresholds, if any.
    """

    result: SuiteResult
    verdict: Verdict | None = None
    incomparable: str | None = None
    curves: Sequence[Curve] = ()
    tests: Sequence[HorizonTest] = ()
    num_clusters: int | None = None
    films: Sequence[Film] = ()
    configuration_file: str | None = None

    @property
    def comparison(self) -> Comparison | None:
        """Of the baseline with the result."""
        return None if self.verdict is None else self.verdict.comparison


def suite_page(report: SuiteReport) -> str:
    """A report as one HTML file."""
    result, comparison = report.result, report.comparison
    title = f"Evaluation of {result.checkpoint_name}"
    if comparison is not None:
        title = f"{result.checkpoint_name} against {comparison.baseline.checkpoint_name}"
    sections = [
        _verdict_section(report),
        _metric_section(report),
        horizon_section(result, comparison, report.curves, report.tests, report.num_clusters),
        episode_section(result, comparison),
        _regret_section(report),
        _film_section(report),
        _limits_section(report),
        _origin_section(report),
    ]
    status = None if report.verdict is None else report.verdict.status
    subtitle = f"{len(result.episodes)} episodes; made by {result.producer} at {result.created_at}"
    return render(title, subtitle, status, [s for s in sections if s is not None])


def _verdict_section(report: SuiteReport) -> Section:
    result, verdict, comparison = report.result, report.verdict, report.comparison
    reasons: list[Line] = []
    warnings: list[Line] = []
    if report.incomparable is not None:
        reasons.append(Line(f"Not compared: {report.incomparable}", is_warning=True))
    facts = [Line(note, is_warning=True) for note in result.notes]
    if verdict is None or comparison is None:
        title = ""
        facts += _scores(result)
    else:
        title = STATUS_TITLES[verdict.status]
        reasons += lines(failure_lines([*verdict.failures, *verdict.undecided]))
        if comparison.mismatches:
            reasons += lines(differing_settings(comparison))
        facts += _changes(verdict)
        warnings = lines(verdict.all_warnings)
    content = {
        "reasons_title": title,
        "reasons": reasons,
        "facts": [*facts, *_coverage(result)],
        "evidence": None if verdict is None else evidence_table(verdict),
        "warnings": warnings,
    }
    name = "Summary" if verdict is None else f"Verdict (policy {verdict.policy})"
    return Section("verdict", name, "verdict.html", content)


def _scores(result: SuiteResult) -> list[Line]:
    spread = result.summary.overall
    text = f"Composite score: {score(result.summary.score)} of 100"
    if spread is not None and spread.count > 1:
        text += (
            f" (median {score(spread.median)}, standard deviation {score(spread.std)}, "
            f"{score(spread.min)} to {score(spread.max)})"
        )
    skills = [Line(s.text, s.is_warning) for s in skill_sentences(result)]
    return [Line(text), *_failed(result), *skills]


def _failed(result: SuiteResult) -> list[Line]:
    count = len(result.failed_episodes)
    if not count:
        return []
    text = f"{result.checkpoint_name}: {count} of {len(result.episodes)} episodes failed"
    return [Line(text, is_warning=True)]


def _changes(verdict: Verdict) -> list[Line]:
    comparison = verdict.comparison
    before, after, overall = comparison.baseline, comparison.candidate, comparison.overall
    moved = ABSENT if overall is None else change(overall.change)
    if note := episodes_note(comparison):
        moved += f", {note}"
    facts = [
        Line(
            f"Composite score: {score(before.summary.score)} to {score(after.summary.score)} "
            f"({moved})"
        ),
        Line(
            f"Episodes: {len(comparison.improved)} improved, {len(comparison.regressed)} "
            f"regressed, {comparison.num_unchanged} unchanged"
        ),
    ]
    if verdict.interval is not None:
        interval = verdict.interval
        facts.append(
            Line(
                f"{setting(100 * interval.level)} % interval of the change: "
                f"{change(interval.lower)} to {change(interval.upper)} ({interval.method}, "
                f"{interval.num_samples} samples, seed {interval.seed})"
            )
        )
    if verdict.evidence:
        facts += lines([*power_lines(verdict.evidence), method_line(verdict)])
    elif (effect := effect_line(comparison)) is not None:
        facts.append(Line(effect))
    if (given := actions_note(before, after)) is not None:
        facts.append(Line(given))
    if (ungated := ungated_line(comparison)) is not None:
        facts.append(Line(ungated, is_warning=True))
    for side, result in (("Baseline", before), ("Candidate", after)):
        facts += [
            Line(f"{side}: {s.text}", is_warning=True)
            for s in skill_sentences(result)
            if s.is_warning
        ]
        facts += _failed(result)
    return facts


def _coverage(result: SuiteResult) -> list[Line]:
    coverage = result.summary.coverage
    text = (
        f"Metric coverage: {len(coverage.available_metrics)} of "
        f"{len(coverage.configured_metrics)} configured metrics, "
        f"{percent(coverage.configured_weight_coverage)} of the configured weight"
    )
    if coverage.unsupported_metrics:
        text += f"; not in the composite: {', '.join(coverage.unsupported_metrics)}"
    return [Line(text)]


def _metric_section(report: SuiteReport) -> Section:
    result, comparison = report.result, report.comparison
    name = result.checkpoint_name
    tables = [
        table(
            f"Metrics of {name}",
            "lllrrrr",
            METRIC_HEADER,
            metric_rows(result),
            anchor="metrics-own",
            title=name,
        )
    ]
    if comparison is not None and (rows := change_rows(comparison)):
        tables.insert(
            0,
            table(
                "Changes of metrics",
                CHANGE_ALIGN,
                CHANGE_HEADER,
                rows,
                anchor="metrics-changes",
                title="Changes",
            ),
        )
    skills = [f"{name}: {sentence.text}" for sentence in skill_sentences(result)]
    verdict = report.verdict
    distances = distance_lines(result) if verdict is None else distance_change_lines(verdict)
    content = {
        "text": "Means over episodes, in each metric's unit.",
        "tables": tables,
        "remarks": lines([*metric_reasons(result), *skills, *distances]),
    }
    return Section("metrics", "Metrics and coverage", "tables.html", content)


def _regret_section(report: SuiteReport) -> Section | None:
    regret = None if report.verdict is None else report.verdict.regret
    if regret is None:
        return None
    return regret_curves(regret.candidate, regret, f"Regret in {regret.baseline.world}")


def _film_section(report: SuiteReport) -> Section | None:
    if not report.films:
        return None
    changes = (
        {c.episode_id: c.change for c in report.comparison.episodes} if report.comparison else {}
    )
    scores = {e.episode_id: e.score for e in report.result.episodes}
    films = []
    for film in report.films:
        title = f"{film.episode_id}: {score(scores.get(film.episode_id))}"
        if film.episode_id in changes:
            title += f" ({change(changes[film.episode_id])})"
        films.append(picture_film(film, title))
    text = "Lowest scores first." if report.comparison is None else "Lowest changes first."
    content = {
        "text": f"{text} Frames are of the videos that were scored.",
        "films": films,
        "has_maps": any(row.is_map for film in films for row in film.rows),
        "scale": scale_colors(),
    }
    shown = [changes[film.episode_id] for film in report.films if film.episode_id in changes]
    return Section("films", _film_title(shown), "films.html", content)


def _film_title(shown: Sequence[float]) -> str:
    """Of changes, or of scores where there are none: the worst of gains is no drop."""
    if not shown:
        return "Worst and best episodes"
    if all(value > 0 for value in shown):
        return "Smallest and largest gains"
    if all(value < 0 for value in shown):
        return "Largest and smallest drops"
    return "Lowest and highest changes"


def _limits_section(report: SuiteReport) -> Section | None:
    verdict = report.verdict
    if verdict is None:
        return None
    rows = {}
    for name, value in verdict.thresholds.items():
        rows[name] = "no limit" if value is None else limit_text(value)
    if not verdict.evidence:
        rows["Tolerance"] = tolerance_text(UNCHANGED_TOLERANCE)
    rows["Configuration file"] = report.configuration_file or "none"
    content = {"parts": [{"title": f"Policy {verdict.policy}", "rows": rows}]}
    return Section("limits", "Thresholds", "origin.html", content)


def _origin_section(report: SuiteReport) -> Section:
    comparison = report.comparison
    after = origin_rows(report.result)
    title = "Protocol and provenance"
    if comparison is None:
        parts = [{"title": report.result.checkpoint_name, "rows": after}]
        return Section("origin", title, "origin.html", {"parts": parts})
    before = origin_rows(comparison.baseline)
    shared = {key: text for key, text in before.items() if after.get(key) == text}
    parts = [{"title": "Both", "rows": shared}] if shared else []
    for side, result, rows in (
        ("Baseline", comparison.baseline, before),
        ("Candidate", comparison.candidate, after),
    ):
        own = {key: text for key, text in rows.items() if key not in shared}
        if own:
            parts.append({"title": f"{side}: {result.checkpoint_name}", "rows": own})
    return Section("origin", title, "origin.html", {"parts": parts})
