"""Sections of a result's report."""

from __future__ import annotations

from wbgpu.records.metric import SCORE_UNIT
from wbgpu.records.suite import EpisodeResult, SuiteResult
from wbgpu.records.summary import Distribution, HorizonSummary
from wbgpu.records.worldbench import horizon_label
from wbgpu.report.numbers import (
    ABSENT,
    change,
    percent,
    quantity,
    score,
    signed_quantity,
    with_bits,
)
from wbgpu.report.sides import direction_of
from wbgpu.report.skill import DYNAMIC_SKILL, RULE, SKILL, is_worse, skill_sentences
from wbgpu.report.tables import escape, table

_MAIN_OTHERS = ("psnr", SKILL, DYNAMIC_SKILL, "log_loss")
_MAX_HORIZON_ROWS = 64


def headline(result: SuiteResult) -> list[str]:
    """Composite, coverage and skill."""
    summary = result.summary
    num_failed = len(result.failed_episodes)
    spread = summary.overall
    lines = [f"- **Composite score: {score(summary.score)}** of 100"]
    if spread is not None and spread.count > 1:
        lines[0] += (
            f" (median {score(spread.median)}, standard deviation {score(spread.std)}, "
            f"{score(spread.min)} to {score(spread.max)})"
        )
    lines += skill_lines(result)
    lines.append(
        f"- Episodes: {len(result.episodes) - num_failed} scored"
        + (f", **{num_failed} failed**" if num_failed else "")
    )
    return [*lines, *coverage_lines(result), ""]


def skill_lines(result: SuiteResult, who: str = "") -> list[str]:
    """How it compares with copying the last frame; bold where copying is better."""
    return [
        f"- **{who}{escape(sentence.text)}**"
        if sentence.is_warning
        else f"- {who}{escape(sentence.text)}"
        for sentence in skill_sentences(result)
    ]


def coverage_lines(result: SuiteResult) -> list[str]:
    """How much of the composite was measured."""
    coverage = result.summary.coverage
    lines = [
        f"- Metric coverage: {len(coverage.available_metrics)} of "
        f"{len(coverage.configured_metrics)} configured metrics",
        f"- Configured weight coverage: {percent(coverage.configured_weight_coverage)}",
    ]
    if coverage.unsupported_metrics:
        lines.append(f"- Not in the composite: {escape(', '.join(coverage.unsupported_metrics))}")
    return lines


def failed_section(result: SuiteResult) -> list[str]:
    """Episodes without scores."""
    rows = [
        [escape(e.episode_id), escape(f"{e.failure.error_type}: {e.failure.message}")]
        for e in result.failed_episodes
        if e.failure is not None
    ]
    if not rows:
        return []
    return ["## Failed episodes", "", *table("ll", ["Episode", "Cause"], rows)]


def metric_section(result: SuiteResult) -> list[str]:
    """Every metric over the suite."""
    rows, reasons = [], []
    for name in result.measured_metrics:
        metric, info = result.summary.metrics[name], result.metric_infos[name]
        spread = metric.distribution
        rows.append(
            [
                escape(name),
                escape(info.unit),
                "higher" if info.higher_is_better else "lower",
                with_bits(None if spread is None else spread.mean, info.unit),
                quantity(None if spread is None else spread.median, info.unit),
                ABSENT if spread is None else _range(spread, info.unit),
                f"{metric.available_count}/{metric.total_count}",
            ]
        )
        texts = dict.fromkeys(item.reason for item in metric.unavailable if item.reason)
        if texts:
            reasons.append(
                f"- {escape(name)}, {ABSENT} in {len(metric.unavailable)} episodes: "
                f"{escape('; '.join(texts))}"
            )
    header = ["Metric", "Unit", "Better", "Mean", "Median", "Range", "Episodes"]
    lines = ["## Metrics", "", *table("lllrrrr", header, rows)]
    return lines + ([*reasons, ""] if reasons else [])


def horizon_section(result: SuiteResult) -> list[str]:
    """The main metrics at every horizon: over the steps up to it, and at that step alone."""
    horizons = result.summary.horizons
    columns = [
        (name, view)
        for name in result.measured_metrics
        if result.metric_infos[name].unit == SCORE_UNIT or name in _MAIN_OTHERS
        for view in ("prefix", "step")
        if any(name in getattr(summary, view) for summary in horizons)
    ]
    if not columns:
        return []
    header = ["Horizon", "Episodes", *(f"{escape(name)}, {view}" for name, view in columns)]
    counted = any(SKILL in summary.step for summary in horizons)
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
    return [
        "## Horizons",
        "",
        "Mean over episodes, of a skill the median; *prefix*: over all steps up to the horizon, "
        "*step*: at that step alone.",
        "",
        *table("l" + "r" * (len(header) - 1), header, rows),
        *([RULE, ""] if counted else []),
    ]


def worst_section(result: SuiteResult) -> list[str]:
    """The lowest episodes, and what pulls them down."""
    if len(result.episodes) < 2:
        return []
    episodes = {episode.episode_id: episode for episode in result.episodes}
    rows = [
        [escape(episode_id), score(value), escape(_weakness(episodes[episode_id], result))]
        for episode_id, value in result.summary.worst_episodes
    ]
    return ["## Worst episodes", "", *table("lrl", ["Episode", "Score", "Weakest metric"], rows)]


def baseline_section(result: SuiteResult, baseline: SuiteResult) -> list[str]:
    """Changes against another result."""
    title = f"## Change against {escape(baseline.checkpoint_name)}"
    if {e.episode_id for e in result.episodes} != {e.episode_id for e in baseline.episodes}:
        return [title, "", "The two results are of different episodes, so no change is shown.", ""]
    contexts = baseline.num_context, result.num_context
    if contexts[0] != contexts[1]:
        reason = f"after {contexts[0]} and after {contexts[1]} context frames"
        return [title, "", f"The two were scored {reason}, so no change is shown.", ""]
    datasets = baseline.dataset_identifier, result.dataset_identifier
    if all(datasets) and datasets[0] != datasets[1]:
        return [title, "", "The two have other ground truth, so no change is shown.", ""]
    rows = []
    before, after = baseline.summary.score, result.summary.score
    redefined = _redefined(result, baseline)
    composite = not set(redefined) & set(result.enabled_metrics)
    if composite and before is not None and after is not None:
        moved = after - before
        direction = direction_of(moved, higher_is_better=True)
        rows.append(["composite", score(before), score(after), change(moved), direction])
    for name in result.measured_metrics:
        theirs = baseline.summary.metrics.get(name)
        rows += [] if theirs is None else _metric_change(result, baseline, name)
    notes = []
    if redefined:
        names = escape(", ".join(redefined)) + ("" if composite else ", and so the composite")
        notes = [f"**Defined otherwise in the two, so no change is shown: {names}.**", ""]
    header = ["Metric", "Baseline", "This", "Change", "Direction"]
    return [title, "", *notes, *table("lrrrl", header, rows)]


def _redefined(result: SuiteResult, baseline: SuiteResult) -> list[str]:
    """Metrics of one name and two definitions."""
    ours, theirs = result.metric_infos, baseline.metric_infos
    return [n for n in ours if n in theirs and ours[n].metric_id != theirs[n].metric_id]


def _metric_change(result: SuiteResult, baseline: SuiteResult, name: str) -> list[list[str]]:
    ours = result.summary.metrics[name].distribution
    theirs = baseline.summary.metrics[name].distribution
    info, other = result.metric_infos[name], baseline.metric_infos[name]
    if ours is None or theirs is None:
        return []
    if info.metric_id != other.metric_id:
        return [[escape(name), ABSENT, ABSENT, ABSENT, f"defined otherwise: {other.metric_id}"]]
    difference = ours.mean - theirs.mean
    return [
        [
            escape(name),
            quantity(theirs.mean, info.unit),
            quantity(ours.mean, info.unit),
            signed_quantity(difference, info.unit),
            direction_of(difference, info.higher_is_better),
        ]
    ]


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


def _shown(horizons: tuple[HorizonSummary, ...]) -> list[HorizonSummary]:
    """All horizons, or evenly spaced ones with the first and last when there are many."""
    stride = -(-len(horizons) // _MAX_HORIZON_ROWS) or 1
    last = len(horizons)
    return [h for h in horizons if (h.horizon - 1) % stride == 0 or h.horizon == last]


def _weakness(episode: EpisodeResult, result: SuiteResult) -> str:
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
