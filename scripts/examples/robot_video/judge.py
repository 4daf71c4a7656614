#!/usr/bin/env python3
"""Judge the checkpoints that train.py has left: which are better, where, and are we sure?

Each fold's checkpoints predict the two episodes that the fold has never seen; the predictions of
all folds together are one suite of all episodes for each kind of checkpoint.

Usage: judge.py WORK OUTPUT, with the folder that train.py has filled.
"""

from __future__ import annotations

import argparse
import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from model import VideoPredictor
from train import BROKEN, EPOCHS, NUM_CONTEXT, NUM_FOLDS

import wbgpu
from wbgpu.models import CopyLast

KINDS = ("copy_last", *EPOCHS, *BROKEN)
TOLERANCES = {
    "composite": 1.0,
    "psnr": 0.5,
    "visual_similarity": 1.5,
    "skill_persistence_dynamic": 0.06,
    "temporal_fidelity": 0.6,
}
"""How far from the committed means another machine's training may end."""
TESTED = ("visual_similarity", "psnr", "skill_persistence_dynamic")
SHOWN_HORIZONS = (1, 4, 8)
QUESTIONS = (
    ("copy_last", "late"),
    *pairwise(EPOCHS),
    ("early", "late"),
    *(("late", broken) for broken in BROKEN),
)
POLICY = wbgpu.Noninferiority(
    margin=1.0, metric_margins={"psnr": 0.1, "skill_persistence_dynamic": 0.02}
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("work", "output"):
        parser.add_argument(name, type=Path)
    settings = parser.parse_args()
    torch.set_num_threads(1)  # as in training, whose numbers are compared with these
    settings.output.mkdir(parents=True, exist_ok=True)
    for kind in KINDS:
        judge(kind, settings.work, settings.output)
    write_json(settings.output / "watched.json", watch_again(settings.work))
    print(summarise(settings.output))


def summarise(output: Path) -> str:
    """Write README.md, figures.json and reports from the JSON files of a folder."""
    results = {kind: wbgpu.load_result(output / f"{kind}.json") for kind in KINDS}
    means = {kind: means_of(result) for kind, result in results.items()}
    verdicts = [judge_question(results, *question) for question in QUESTIONS]
    watched = json.loads((output / "watched.json").read_text("utf-8"))
    lines = [
        f"# Robot video: checkpoints on {len(results['late'].episodes)} episodes",
        "",
        "Made by `scripts/examples/robot_video/judge.py` from the JSON files beside this one.",
        "",
        *summary(results, means),
        *verdict_table(verdicts),
        "The callback in training against the same checkpoints evaluated afterwards: largest "
        f"difference {watched['largest_difference']:g} in {watched['num_numbers']} numbers, all "
        "metrics, episodes and checkpoints.",
        "",
    ]
    text = "\n".join(lines)
    (output / "README.md").write_text(text, encoding="utf-8")
    figures = [
        {
            "name": f"{kind} {name}",
            "value": values[name],
            "tolerance": 1e-6 if kind == "copy_last" else tolerance,
        }
        for kind, values in means.items()
        for name, tolerance in TOLERANCES.items()
    ]
    write_json(output / "figures.json", {"figures": figures, "verdicts": verdicts})
    for baseline, candidate in (("early", "late"), ("late", "shuffled_actions")):
        wbgpu.write_report(
            output / f"{candidate}.json",
            output / f"{candidate}_against_{baseline}.html",
            output / f"{baseline}.json",
            policy=POLICY,
            num_films=1,
        )
    return text


def write_json(path: Path, document: dict[str, Any]) -> None:
    path.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def judge(kind: str, work: Path, output: Path) -> None:
    """One kind of checkpoint on all episodes, each predicted by the fold that held it out."""
    predictions = work / "predictions" / kind
    for fold in range(NUM_FOLDS):
        run_checkpoint(work / f"fold_{fold}", kind, [f"save_predictions={predictions}"])
    result = wbgpu.evaluate(work / "suite" / "gt", predictions, num_context=NUM_CONTEXT, name=kind)
    wbgpu.save_result(result, output / f"{kind}.json")


def run_checkpoint(folder: Path, kind: str, overrides: list[str]) -> wbgpu.SuiteResult:
    """A fold's checkpoint predicts the fold's held-out episodes, without saved videos."""
    return wbgpu.evaluate(
        folder / "suite" / "gt",
        model=checkpoint(folder, kind),
        actions=folder / "suite" / "actions",
        num_context=NUM_CONTEXT,
        overrides=overrides,
    )


def checkpoint(folder: Path, kind: str) -> torch.nn.Module | CopyLast:
    if kind == "copy_last":
        return CopyLast()
    weights = torch.load(folder / f"{kind}.pt", weights_only=True)
    model = VideoPredictor(weights["act.weight"].shape[1])
    model.load_state_dict(weights)
    return model


def means_of(result: wbgpu.SuiteResult) -> dict[str, float]:
    """Means over the episodes: of the composite, and of metrics over all horizons and some."""
    means = {"composite": mean([episode.score for episode in result.episodes])}
    for name in result.episodes[0].metrics:
        outcomes = [episode.metrics[name] for episode in result.episodes]
        means[name] = mean([one.value for one in outcomes])
        for horizon in SHOWN_HORIZONS:
            means[f"{name} to t+{horizon}"] = mean([one.prefix_at(horizon) for one in outcomes])
    return means


def summary(results: dict[str, wbgpu.SuiteResult], means: dict[str, dict[str, float]]) -> list[str]:
    """What each kind scores, and how they rank by each metric."""
    shown = [*TOLERANCES, *(f"psnr to t+{horizon}" for horizon in SHOWN_HORIZONS)]
    rows = [[kind, *(f"{means[kind][name]:.3f}" for name in shown)] for kind in means]
    ranking = wbgpu.rank(list(results.values()), labels=list(results))
    ranks = [
        "- composite, with the ranks that are sure at 95 %: "
        + ", ".join(f"{one.label} ({one.best_rank} to {one.worst_rank})" for one in ranking.ranked)
    ]
    for name in ("psnr", "skill_persistence_dynamic"):
        order = sorted(means, key=lambda kind: -means[kind][name])
        ranks.append(f"- {name}: {', '.join(order)}")
    return [
        "Means over the episodes, each predicted by a checkpoint that was not trained on it:",
        "",
        *table(["checkpoint", *shown], rows),
        "Ranked, best first, by",
        "",
        *ranks,
        "",
    ]


def judge_question(
    results: dict[str, wbgpu.SuiteResult], baseline: str, candidate: str
) -> dict[str, Any]:
    """What both gates say of a candidate, by how much it changed, and where that is sure."""
    verdict = wbgpu.gate(results[baseline], results[candidate], policy=POLICY)
    comparison = wbgpu.compare(results[baseline], results[candidate])
    sure: dict[str, list[int]] = {}
    for test in wbgpu.horizon_tests(comparison, metrics=TESTED):
        if test.adjusted_p_value is not None and test.adjusted_p_value <= 0.05:
            better = (test.change > 0) == test.higher_is_better
            key = f"{test.metric} {'better' if better else 'worse'}"
            sure.setdefault(key, []).append(test.horizon)
    return {
        "baseline": baseline,
        "candidate": candidate,
        "worldbench": wbgpu.gate(results[baseline], results[candidate]).status,
        "noninferiority": verdict.status,
        "because_of": [reason(one) for one in (*verdict.failures, *verdict.undecided)],
        "changes": {
            one.name: {
                "change": one.estimate.mean,
                "lower": one.estimate.lower,
                "upper": one.estimate.upper,
                "says": "worse" if one.is_beyond else "no worse" if one.is_within else "undecided",
            }
            for one in verdict.evidence
        },
        "sure_at_horizons": sure,
    }


def verdict_table(verdicts: list[dict[str, Any]]) -> list[str]:
    names = ["composite", *POLICY.metric_margins]
    rows = [
        [
            f"{verdict['baseline']} to {verdict['candidate']}",
            verdict["worldbench"],
            verdict["noninferiority"],
            ", ".join(verdict["because_of"]),
            *(change_cell(verdict["changes"][name]) for name in names),
            "; ".join(
                f"{key} at {spans(horizons)}"
                for key, horizons in verdict["sure_at_horizons"].items()
            )
            or "nowhere",
        ]
        for verdict in verdicts
    ]
    margins = ", ".join(f"{name} {value:g}" for name, value in POLICY.metric_margins.items())
    header = [
        "question",
        "policy worldbench",
        "noninferiority",
        "because of",
        *names,
        "sure at horizons",
    ]
    return [
        f"Verdicts. Margins of noninferiority: composite {POLICY.margin:g}, and as much for each "
        f"of its metrics up to each horizon, {margins}. Changes are means of the paired "
        "differences with 95 % intervals; a number alone is no worse, worse or undecided beside "
        "its margin. Sure: the change up to a horizon has an adjusted p of at most 0.05, with "
        f"{', '.join(TESTED)} at all horizons as one family.",
        "",
        *table(header, rows),
    ]


def watch_again(work: Path) -> dict[str, Any]:
    """The callback's numbers during training against the checkpoints' afterwards."""
    differences = []
    for fold in range(NUM_FOLDS):
        folder = work / f"fold_{fold}"
        for kind, epochs in EPOCHS.items():
            (path,) = (folder / "watched").glob(f"epoch{epochs - 1:03}-*.json")
            then = {one.episode_id: one for one in wbgpu.load_result(path).episodes}
            for episode in run_checkpoint(folder, kind, []).episodes:
                for name, outcome in episode.metrics.items():
                    if outcome.value is not None:
                        before = then[episode.episode_id].metrics[name].value
                        differences.append(abs(before - outcome.value))
    return {"largest_difference": max(differences), "num_numbers": len(differences)}


def mean(values: list[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else math.nan


def reason(failure: Any) -> str:
    """What failed a candidate, or left it undecided."""
    evidence = failure.evidence
    name = evidence.get("name") or evidence["metric"]
    horizons = evidence.get("horizons")
    return f"{name} at {spans(horizons)}" if horizons else name


def change_cell(change: dict[str, Any]) -> str:
    span = "{change:+.3f} [{lower:+.3f}, {upper:+.3f}]".format(**change)
    return f"{change['says']}: {span}"


def spans(horizons: list[int]) -> str:
    """``t+1 to t+3, t+7``."""
    ends = [h for h in horizons if h + 1 not in horizons]
    starts = [h for h in horizons if h - 1 not in horizons]
    return ", ".join(
        f"t+{first}" if first == last else f"t+{first} to t+{last}"
        for first, last in zip(starts, ends, strict=True)
    )


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    lines = [f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *rows)]
    return [*lines, ""]


if __name__ == "__main__":
    main()
