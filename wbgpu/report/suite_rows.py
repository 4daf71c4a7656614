"""What is said of results of videos, as rows of plain cells that Markdown and HTML lay out."""

from __future__ import annotations

from collections.abc import Sequence

from wbgpu.records.comparison import Comparison
from wbgpu.records.metric import SCORE_UNIT
from wbgpu.records.profile import REASONS_WITHOUT_SIGNALS
from wbgpu.records.suite import EpisodeResult, SuiteResult
from wbgpu.records.summary import Distribution, HorizonSummary
from wbgpu.records.worldbench import horizon_label
from wbgpu.report.numbers import ABSENT, quantity, score, signed_quantity, with_bits
from wbgpu.report.sides import direction_of, episodes_note
from wbgpu.report.skill import DYNAMIC_SKILL, SKILL, is_worse

METRIC_HEADER = ("Metric", "Unit", "Better", "Mean", "Median", "Range", "Episodes")
CHANGE_HEADER = (
    "Metric",
    "Baseline",
    "Candidate",
    "Change",
    "Direction",
    "Unit",
    "Better",
    "Episodes",
)
CHANGE_ALIGN = "lrrrlllr"

_MAIN_OTHERS = ("psnr", SKILL, DYNAMIC_SKILL, "log_loss")
_MAX_HORIZON_ROWS = 64


def metric_rows(result: SuiteResult) -> list[list[str]]:
    """Every metric over the suite; see :data:`METRIC_HEADER`."""
    rows = []
    for name in result.measured_metrics:
        metric, info = result.summary.metrics[name], result.metric_infos[name]
        spread = metric.distribution
        rows.append(
            [
                name,
                info.unit,
                "higher" if info.higher_is_better else "lower",
                with_bits(None if spread is None else spread.mean, info.unit),
                quantity(None if spread is None else spread.median, info.unit),
                ABSENT if spread is None else _range(spread, info.unit),
                f"{metric.available_count}/{metric.total_count}",
            ]
        )
    return rows


def metric_reasons(result: SuiteResult) -> list[str]:
    """Why metrics are missing, a line for each that is."""
    lines = []
    for name in result.measured_metrics:
        unavailable = result.summary.metrics[name].unavailable
        if texts := dict.fromkeys(item.reason for item in unavailable if item.reason):
            lines.append(f"{name}, {ABSENT} in {len(unavailable)} episodes: {'; '.join(texts)}")
    return lines + _signals_line(result)


def _signals_line(result: SuiteResult) -> list[str]:
    """Why metrics of the composite are missing for every pair of plain videos, if they are."""
    names = [
        name
        for name, reason in REASONS_WITHOUT_SIGNALS.items()
        if name in result.summary.metrics
        and any(item.reason == reason for item in result.summary.metrics[name].unavailable)
    ]
    if not names:
        return []
    return [
        f"{', '.join(names)}: plain videos never have these. Frame datasets that say what the "
        "objects and actions are do: suite=frames"
    ]


def change_rows(comparison: Comparison) -> list[list[str]]:
    """Changes of all metrics, in their units; see :data:`CHANGE_HEADER`."""
    rows = []
    for item in (*comparison.composite_metrics, *comparison.other_metrics):
        info = comparison.candidate.metric_infos[item.metric]
        rows.append(
            [
                item.metric,
                quantity(item.baseline, info.unit),
                quantity(item.candidate, info.unit),
                signed_quantity(item.change, info.unit),
                direction_of(item.change, info.higher_is_better),
                info.unit,
                "higher" if info.higher_is_better else "lower",
                episodes_note(comparison, item.metric) or str(item.baseline_count),
            ]
        )
    return rows


def counts_copies(result: SuiteResult) -> bool:
    """Whether rows of horizons end with how many episodes are worse than a copy."""
    return any(SKILL in summary.step for summary in result.summary.horizons)


def horizon_table(result: SuiteResult) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the main metrics at every horizon; both empty without any.

    Of both views: over the steps up to the horizon, and at that step alone.
    """
    horizons = result.summary.horizons
    columns = [
        (name, view)
        for name in result.measured_metrics
        if result.metric_infos[name].unit == SCORE_UNIT or name in _MAIN_OTHERS
        for view in ("prefix", "step")
        if any(name in getattr(summary, view) for summary in horizons)
    ]
    if not columns:
        return [], []
    counted = counts_copies(result)
    header = ["Horizon", "Episodes", *(f"{name}, {view}" for name, view in columns)]
    header += ["Episodes worse than a copy"] if counted else []
    rows = [
        [
            horizon_label(summary.horizon),
            str(summary.sample_count),
            *(_cell(result, summary, name, view) for name, view in columns),
            *([_losing(result, summary.horizon)] if counted else []),
        ]
        for summary in _shown(horizons)
    ]
    return header, rows


def worst_rows(result: SuiteResult) -> list[list[str]]:
    """The lowest episodes, their scores, and what pulls them down."""
    episodes = {episode.episode_id: episode for episode in result.episodes}
    return [
        [episode_id, score(value), weakness(episodes[episode_id], result)]
        for episode_id, value in result.summary.worst_episodes
    ]


def weakness(episode: EpisodeResult, result: SuiteResult) -> str:
    """The lowest metric of the composite, and whether a copy would have been better."""
    composite = [
        outcome
        for name in result.enabled_metrics
        if (outcome := episode.metrics.get(name)) is not None and outcome.value is not None
    ]
    if not composite:
        return ABSENT
    lowest = min(composite, key=lambda outcome: outcome.value or 0.0)
    issues = " ".join(lowest.issues)
    text = f"{lowest.name} {score(lowest.value)}" + (f": {issues}" if issues else "")
    skill = episode.metrics.get(SKILL)
    if skill is not None and skill.value is not None and is_worse(skill.value):
        text += f" Worse than copying the last frame (skill {quantity(skill.value, '')})."
    return text


def _cell(result: SuiteResult, summary: HorizonSummary, name: str, view: str) -> str:
    spread = getattr(summary, view).get(name)
    if spread is None:
        return ABSENT
    value = spread.median if name in (SKILL, DYNAMIC_SKILL) else spread.mean
    return with_bits(value, result.metric_infos[name].unit)


def _losing(result: SuiteResult, horizon: int) -> str:
    """Episodes whose prediction of this step is worse than a copy, of those that have a skill."""
    skills = [
        value
        for episode in result.episodes
        if SKILL in episode.metrics
        and (value := episode.metrics[SKILL].step_at(horizon)) is not None
    ]
    return f"{sum(map(is_worse, skills))}/{len(skills)}"


def _range(spread: Distribution, unit: str) -> str:
    return f"{quantity(spread.min, unit)} to {quantity(spread.max, unit)}"


def _shown(horizons: Sequence[HorizonSummary]) -> list[HorizonSummary]:
    """All horizons, or evenly spaced ones with the first and last when there are many."""
    stride = -(-len(horizons) // _MAX_HORIZON_ROWS) or 1
    last = len(horizons)
    return [h for h in horizons if (h.horizon - 1) % stride == 0 or h.horizon == last]
