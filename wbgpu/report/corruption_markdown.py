"""The report of a corruption study: which metric sees which fault, and what none of them sees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wbgpu.records.corruption import IN_ORDER, CorruptionStudy, Response
from wbgpu.records.metric import MetricInfo
from wbgpu.report.numbers import ABSENT, change, quantity, setting
from wbgpu.report.tables import aligned, escape, table
from wbgpu.report.text import one_line

_OF_GROUND_TRUTH = """\
The ground truth itself stands for the prediction: at severity 0 it is perfect. Each fault is put
into it before it is scored, without encoding it again. A metric that sees a fault gets worse with
its severity. A real model's errors hide small faults: corrupt its predictions as well
(suite.predictions=...)."""

_OF_PREDICTIONS = """\
Each fault is put into the predictions before they are scored, without encoding them again. A metric
that sees a fault gets worse with its severity; one that rewards it takes the fault for an
improvement."""

_WORDS = """\
- **ordered**: worse at each severity than at the one before; **level**: never better, but the same
  somewhere.
- **misordered**: worse than without the fault, but better somewhere than at a lower severity.
- **rewarded**: somewhere better than without the fault; **blind**: always the same.
- *Kendall tau*: order of severities and values, mean over episodes; 1 is perfect order.
- *seen from*: the lowest severity at which the mean over episodes is worse than without the fault
  by more than chance (95 % interval of the paired change). A metric *sees* a fault that it orders
  and that it sees from some severity on; it *rewards* one where it is better by more than chance.
- *sensitivity*: mean change over its standard deviation between episodes, mean over severities, at
  most 99. Below 1, episodes differ more than the fault changes them."""


def corruption_report(study: CorruptionStudy, pictures: Sequence[tuple[str, str]]) -> str:
    """Markdown.

    Args:
        study: what was measured.
        pictures: title and file name of each, beside the report.
    """
    lines = ["# Corruption study", "", *map(escape, _origin(study)), "", *_findings(study), ""]
    method = _OF_GROUND_TRUTH if study.predictions_root is None else _OF_PREDICTIONS
    lines += [method, "", _WORDS, "", "## Which metric sees which fault", ""]
    lines += table(
        "l" * (1 + len(study.corruptions)),
        ["Metric", *map(escape, study.corruptions)],
        [
            [escape(metric), *(_cell(study.responses[name][metric]) for name in study.corruptions)]
            for metric in study.available_metrics
        ],
    )
    lines += ["In brackets: Kendall tau.", ""]
    for title, file in pictures:
        lines += [f"![{escape(title)}]({file})", ""]
    for name, fault in study.corruptions.items():
        lines += [f"## {escape(name)}", "", f"The prediction {escape(fault)}.", ""]
        lines += table(*_corruption_table(study, name))
        lines += [*_failures(study, name)]
    lines += _left_out(study)
    return "\n".join(lines).rstrip() + "\n"


def corruption_summary(study: CorruptionStudy) -> str:
    """On the console: which metric sees which fault."""
    rows = [["Fault", "Seen by", "Best seen by", "Rewarded by"]]
    for name in study.corruptions:
        responses, seen = study.responses[name], study.seen_by(name)
        available = [r for r in responses.values() if r.verdict != "unavailable"]
        rewarding = [metric for metric, r in responses.items() if r.first_rewarded is not None]
        rows.append(
            [
                one_line(name),
                f"{len(seen)} of {len(available)} metrics",
                ", ".join(seen[:2]) or "no metric",
                ", ".join(rewarding[:3]) + (", ..." if len(rewarding) > 3 else ""),
            ]
        )
    lines = [*map(one_line, _origin(study)), "", *aligned(rows, "llll"), ""]
    lines += [f"Seen by no metric: {', '.join(study.unseen) or 'none'}."]
    return "\n".join(lines)


def _origin(study: CorruptionStudy) -> Iterator[str]:
    severities = ", ".join(map(setting, study.severities[1:]))
    predictions, num_episodes = study.predictions_root, len(study.episode_ids)
    yield (
        f"{num_episodes} episode{'s' * (num_episodes != 1)} of {study.ground_truth_root}, "
        f"{'the ground truth itself' if predictions is None else predictions} corrupted, "
        f"{study.num_context} context frames; severities {severities}; seed {study.seed}; "
        f"statistics by {study.statistics_path} on {study.device}, decoder {study.decoder}; "
        f"{study.producer}."
    )


def _findings(study: CorruptionStudy) -> Iterator[str]:
    for name in study.corruptions:
        seen = study.seen_by(name)
        best = ", ".join(map(escape, seen[:3]))
        more = f" and {len(seen) - 3} more" if len(seen) > 3 else ""
        yield f"- {escape(name)}: " + (
            f"seen best by {best}{more}" if seen else "**no metric sees it**"
        )
    for metric in study.metric_infos:
        found = {name: study.responses[name][metric] for name in study.corruptions}
        rewarded = [escape(name) for name, r in found.items() if r.first_rewarded is not None]
        blind = [escape(name) for name, r in found.items() if r.verdict == "blind"]
        if rewarded or blind:
            parts = [f"rewards {', '.join(rewarded)}"] if rewarded else []
            parts += [f"is blind to {', '.join(blind)}"] if blind else []
            yield f"- {escape(metric)} {' and '.join(parts)}"


def _cell(response: Response) -> str:
    tau = "" if response.kendall_tau is None else f" ({change(response.kendall_tau)})"
    verdict = f"**{response.verdict}**" if response.verdict not in IN_ORDER else response.verdict
    return verdict + tau


def _corruption_table(study: CorruptionStudy, name: str) -> tuple[str, list[str], list[list[str]]]:
    header = ["Metric", "Unit", *(f"at {setting(s)}" for s in study.severities)]
    header += ["Order", "Kendall tau", "Seen from", "Sensitivity"]
    rows = []
    for metric in study.ranking(name):
        response, info = study.responses[name][metric], study.metric_infos[metric]
        means = [quantity(mean, info.unit) for mean in response.means]
        rows.append(
            [
                escape(metric),
                _unit(info),
                *(means or [ABSENT] * len(study.severities)),
                response.verdict,
                ABSENT if response.kendall_tau is None else change(response.kendall_tau),
                "never" if response.first_seen is None else setting(response.first_seen),
                ABSENT if response.sensitivity is None else change(response.sensitivity),
            ]
        )
    return "ll" + "r" * len(study.severities) + "lrrr", header, rows


def _unit(info: MetricInfo) -> str:
    return f"{escape(info.unit)}, {'higher' if info.higher_is_better else 'lower'} is better"


def _failures(study: CorruptionStudy, name: str) -> list[str]:
    """Where the order fails: between which severities, and in how many episodes."""
    lines = []
    for metric in study.metric_infos:
        response, info = study.responses[name][metric], study.metric_infos[metric]
        values = study.measured[name][metric].values
        for index in response.failures:
            rows = [row for row in values if None not in row]
            sign = 1.0 if info.higher_is_better else -1.0
            num_better = sum(sign * (row[index] - row[index - 1]) > 0 for row in rows)  # type: ignore[operator]
            before, after = (setting(study.severities[i]) for i in (index - 1, index))
            lines.append(
                f"- {escape(metric)} improves from severity {before} to {after}: "
                f"{quantity(response.means[index - 1], info.unit)} to "
                f"{quantity(response.means[index], info.unit)}, in {num_better} of {len(rows)} "
                "episodes"
            )
    return [*lines, ""] if lines else []


def _left_out(study: CorruptionStudy) -> list[str]:
    reasons: dict[str, str] = {}
    for by_metric in study.measured.values():
        for metric, measured in by_metric.items():
            if measured.reason is not None:
                reasons.setdefault(metric, measured.reason)
    lines = [f"- {escape(metric)}: {escape(reason)}" for metric, reason in reasons.items()]
    if lines:
        lines = ["## Metrics without a value", "", "In some episodes or all:", "", *lines, ""]
    if study.failures:
        lines += ["## Episodes that could not be read", ""]
        lines += [f"- {escape(k)}: {escape(v.message)}" for k, v in study.failures.items()]
    return lines
