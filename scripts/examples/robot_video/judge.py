#!/usr/bin/env python3
"""Judge the checkpoints that train.py has left: which are better, where, and are we sure?

Each fold's checkpoints predict the two episodes that the fold has never seen; the predictions of
all folds together are one suite of all episodes for each kind of checkpoint.

Usage: judge.py EPISODES WORK OUTPUT, with the folders that train.py was given.
"""

from __future__ import annotations

import argparse
import json
import math
from itertools import pairwise
from pathlib import Path

import torch
from model import VideoPredictor
from train import BROKEN, EPOCHS, NUM_CONTEXT, NUM_FOLDS

import wbgpu
from wbgpu.models import CopyLast
from wbgpu.records.evidence import HorizonTest

KINDS = ("copy_last", *EPOCHS, *BROKEN)
SHOWN = ("visual_similarity", "psnr", "skill_persistence_dynamic", "temporal_fidelity")
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
    for name in ("episodes", "work", "output"):
        parser.add_argument(name, type=Path)
    settings = parser.parse_args()
    settings.output.mkdir(parents=True, exist_ok=True)
    results = {kind: judge(kind, settings) for kind in KINDS}
    lines = [
        "# Checkpoints of the robot video example",
        "",
        "Made by `scripts/examples/robot_video/judge.py` from the JSON files beside this one.",
        "",
        *summary(results),
        *verdicts(results, settings.output),
        *watched(settings),
    ]
    (settings.output / "README.md").write_text("\n".join(lines), encoding="utf-8")
    for baseline, candidate in (("early", "late"), ("late", "shuffled_actions")):
        wbgpu.write_report(
            settings.output / f"{candidate}.json",
            settings.output / f"{candidate}_against_{baseline}.html",
            settings.output / f"{baseline}.json",
            policy=POLICY,
            num_films=1,
        )
    print("\n".join(lines))


def judge(kind: str, settings: argparse.Namespace) -> wbgpu.SuiteResult:
    """One kind of checkpoint on all episodes, each predicted by the fold that held it out."""
    predictions = settings.work / "predictions" / kind
    for fold in range(NUM_FOLDS):
        folder = settings.work / f"fold_{fold}"
        wbgpu.evaluate(
            folder / "suite" / "gt",
            model=checkpoint(folder, kind),
            actions=folder / "suite" / "actions",
            num_context=NUM_CONTEXT,
            overrides=[f"save_predictions={predictions}"],
        )
    result = wbgpu.evaluate(settings.episodes, predictions, num_context=NUM_CONTEXT, name=kind)
    wbgpu.save_result(result, settings.output / f"{kind}.json")
    return result


def checkpoint(folder: Path, kind: str) -> torch.nn.Module | CopyLast:
    if kind == "copy_last":
        return CopyLast()
    weights = torch.load(folder / f"{kind}.pt", weights_only=True)
    model = VideoPredictor(weights["act.weight"].shape[1])
    model.load_state_dict(weights)
    return model


def summary(results: dict[str, wbgpu.SuiteResult]) -> list[str]:
    """Means over the episodes of the composite, and of metrics over all horizons and some."""
    rows = [
        [
            kind,
            f"{mean([episode.score for episode in result.episodes]):.2f}",
            *(f"{metric_mean(result, name):.3f}" for name in SHOWN),
            *(f"{metric_mean(result, 'psnr', h):.2f}" for h in (1, 4, 16)),
        ]
        for kind, result in results.items()
    ]
    header = ["checkpoint", "composite", *SHOWN, "psnr t+1", "psnr t+1..4", "psnr t+1..16"]
    ranking = wbgpu.rank(list(results.values()), labels=list(results))
    ranks = ", ".join(
        f"{one.label} {one.score.mean:.2f} (rank {one.best_rank} to {one.worst_rank})"
        for one in ranking.ranked
    )
    by_skill = sorted(
        results, key=lambda kind: -metric_mean(results[kind], "skill_persistence_dynamic")
    )
    return [
        *table(header, rows),
        f"Ranked by the composite, with what is sure at 95 %: {ranks}.",
        "",
        f"Ranked by skill in the moving region: {', '.join(by_skill)}.",
        "",
    ]


def verdicts(results: dict[str, wbgpu.SuiteResult], output: Path) -> list[str]:
    """What both gates say, and where each is sure."""
    rows, document = [], []
    for baseline, candidate in QUESTIONS:
        worldbench = wbgpu.gate(results[baseline], results[candidate])
        verdict = wbgpu.gate(results[baseline], results[candidate], policy=POLICY)
        changes = {
            one.name: [one.estimate.mean, one.estimate.lower, one.estimate.upper]
            for one in verdict.evidence
        }
        sure = sorted(
            {
                f"{test.metric} {change_word(test)}"
                for test in verdict.horizon_tests
                if test.adjusted_p_value is not None and test.adjusted_p_value <= 0.05
            }
        )
        document.append(
            {
                "baseline": baseline,
                "candidate": candidate,
                "worldbench": worldbench.status,
                "noninferiority": verdict.status,
                "changes": changes,
                "reasons": [failure.kind for failure in (*verdict.failures, *verdict.undecided)],
            }
        )
        rows.append(
            [
                f"{baseline} to {candidate}",
                worldbench.status,
                verdict.status,
                *(interval(changes.get(name)) for name in ("composite", *POLICY.metric_margins)),
                "; ".join(sure) or "none",
            ]
        )
    text = json.dumps(document, indent=1, allow_nan=False)
    (output / "verdicts.json").write_text(text + "\n", encoding="utf-8")
    header = ["question", "worldbench policy", "noninferiority", "composite"]
    margins = ", ".join(f"{name} {value:g}" for name, value in POLICY.metric_margins.items())
    return [
        f"Verdicts; margins of noninferiority: composite {POLICY.margin:g}, {margins}.",
        "",
        *table([*header, *POLICY.metric_margins, "sure at some horizon"], rows),
    ]


def watched(settings: argparse.Namespace) -> list[str]:
    """The callback's numbers during training against the checkpoints' afterwards."""
    largest = 0.0
    for fold in range(NUM_FOLDS):
        folder = settings.work / f"fold_{fold}"
        for kind, epochs in EPOCHS.items():
            (path,) = (folder / "watched").glob(f"epoch{epochs - 1:03}-*.json")
            then = {e.episode_id: e for e in wbgpu.load_result(path).episodes}
            now = wbgpu.evaluate(
                folder / "suite" / "gt",
                model=checkpoint(folder, kind),
                actions=folder / "suite" / "actions",
                num_context=NUM_CONTEXT,
            )
            for episode in now.episodes:
                for name, outcome in episode.metrics.items():
                    if outcome.value is not None:
                        before = then[episode.episode_id].metrics[name].value
                        largest = max(largest, abs(before - outcome.value))
    return [
        "Largest difference between a number that the callback logged in training and the same of "
        f"the checkpoint afterwards, all metrics and episodes: {largest:g}.",
        "",
    ]


def metric_mean(result: wbgpu.SuiteResult, name: str, horizon: int | None = None) -> float:
    """Mean over the episodes that have a value."""
    outcomes = [episode.metrics[name] for episode in result.episodes]
    return mean([one.value if horizon is None else one.prefix_at(horizon) for one in outcomes])


def mean(values: list[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else math.nan


def interval(change: list[float | None] | None) -> str:
    if change is None or change[1] is None:
        return "-"
    return f"{change[0]:+.3f} [{change[1]:+.3f}, {change[2]:+.3f}]"


def change_word(test: HorizonTest) -> str:
    return "better" if (test.change > 0) == test.higher_is_better else "worse"


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    lines = [f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *rows)]
    return [*lines, ""]


if __name__ == "__main__":
    main()
