#!/usr/bin/env python3
"""Judge the checkpoints that train.py has left by regret against the exact answer key.

States: each checkpoint plays the world as a contestant. Frames: each checkpoint's logits of the
tokens of drawn episodes are saved beside the frames that it holds most likely, so that one result
has both pixel metrics and regret.

Usage: judge.py WORK OUTPUT, with the folder that train.py has filled.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import torch
from model import FrameTransformer
from safetensors.torch import save_file
from tokens import SIZE, Tokenizer
from train import STEPS, WORLD

import wbgpu
from wbgpu.video.encode import write_video
from wbgpu.worlds import Rollout, load_world, roll_out

SEEDS, NUM_STEPS = range(64), 200
EPISODES, HORIZON = range(16), 8
KINDS = (*STEPS, "action_blind")
TOLERANCES = {
    "regret_nats_per_step": 0.3,
    "regret_nats_per_token": 0.5,
    "psnr": 0.15,
    "visual_similarity": 0.05,
    "skill_persistence_dynamic": 0.1,
}
"""Relative: how far from the committed figures another machine's training may end."""
EXACT = 1e-9
"""Likewise, where nothing was trained."""
PIXEL_METRICS = ("psnr", "visual_similarity", "skill_persistence_dynamic")
QUESTIONS = (("early", "middle"), ("middle", "late"), ("late", "action_blind"))
FRAME_QUESTIONS = (*QUESTIONS, ("middle", "action_blind"))
POLICY = wbgpu.Noninferiority(margin=0.5, metric_margins={"log_loss": 0.0})
HERE = Path(__file__).parent
Rows = dict[str, dict[str, float]]
Verdict = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("work", "output"):
        parser.add_argument(name, type=Path)
    settings = parser.parse_args()
    torch.set_num_threads(1)  # as in training
    settings.output.mkdir(parents=True, exist_ok=True)
    play(settings.work, settings.output)
    predict_frames(settings.work, settings.output)
    print(summarise(settings.output))


def summarise(output: Path) -> str:
    """Write README.md, figures.json and reports from the JSON files of a folder."""
    regrets, state_verdicts = judge_states(output)
    means, frame_verdicts = judge_frames(output)
    lines = [
        "# Token world models: checkpoints against the exact answer",
        "",
        "Made by `scripts/examples/world_tokens/judge.py` from the JSON files beside this one.",
        "",
        *state_tables(regrets, state_verdicts),
        *frame_tables(means, frame_verdicts),
    ]
    text = "\n".join(lines)
    (output / "README.md").write_text(text, encoding="utf-8")
    figures = [
        {
            "name": f"{part} {kind} {name}",
            "value": value,
            "tolerance": TOLERANCES[name] * abs(value),
        }
        for part, rows in (("states", regrets), ("frames", means))
        for kind, values in rows.items()
        for name, value in values.items()
    ]
    document = {"figures": figures, "verdicts": [*state_verdicts, *frame_verdicts]}
    path = output / "figures.json"
    path.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    for baseline in ("late", "middle"):
        wbgpu.write_report(
            output / "frames_action_blind.json",
            output / f"frames_action_blind_against_{baseline}.html",
            output / f"frames_{baseline}.json",
            policy=POLICY,
            num_films=1,
        )
    return text


def weights_of(work: Path, model: str, kind: str) -> Path:
    if kind == "action_blind":
        return work / f"{model}_action_blind" / "late.pt"
    return work / model / f"{kind}.pt"


def play(work: Path, output: Path) -> None:
    """The models over states play the world, beside no learner and a counting learner."""
    world = load_world(WORLD)
    sizes = [variable.num_outcomes for variable in world.schema.variables]
    for kind in KINDS:
        regret(
            output / f"states_{kind}.json",
            "contestant=logits",
            f"contestant.checkpoint={weights_of(work, 'states', kind)}",
            "contestant.module=model.StateTransformer",
            f"contestant.arguments.sizes={json.dumps(sizes, separators=(',', ':'))}",
            f"contestant.arguments.num_actions={len(world.schema.actions)}",
            f"contestant.arguments.sees_action={str(kind != 'action_blind').lower()}",
            f"name={kind}",
        )
    for kind in ("oracle", "kt", "uniform"):
        regret(output / f"states_{kind}.json", f"contestant={kind}")


def judge_states(output: Path) -> tuple[Rows, list[Verdict]]:
    regrets = {}
    for kind in ("oracle", *KINDS, "kt", "uniform"):
        result = wbgpu.load_result(output / f"states_{kind}.json")
        expected = np.mean([one.totals.expected_regret_nats for one in result.episodes])
        regrets[kind] = {"regret_nats_per_step": float(expected / NUM_STEPS)}
    verdicts = []
    for baseline, candidate in QUESTIONS:
        paths = [output / f"states_{kind}.json" for kind in (baseline, candidate)]
        verdict = wbgpu.gate_regret(*paths)
        change = verdict.comparison.expected
        verdicts.append(
            {
                "part": "states",
                "baseline": baseline,
                "candidate": candidate,
                "status": verdict.status,
                "changes": {
                    "regret": [change.change, change.interval.lower, change.interval.upper]
                },
            }
        )
    return regrets, verdicts


def state_tables(regrets: Rows, verdicts: list[Verdict]) -> list[str]:
    rows = [[kind, f"{values['regret_nats_per_step']:.5f}"] for kind, values in regrets.items()]
    return [
        f"## States of {WORLD}, {len(SEEDS)} episodes of {NUM_STEPS} steps",
        "",
        *table(["contestant", "expected regret, nats a step"], rows),
        *table(
            ["question", "verdict", "change of regret, nats a step, with its 95 % interval"],
            [[question(one), one["status"], *changes(one)] for one in verdicts],
        ),
    ]


def regret(path: Path, *overrides: str) -> None:
    """``wbgpu regret``, which finds ``model`` beside this file."""
    subprocess.run(
        [
            *(sys.executable, "-m", "wbgpu.cli.main", "regret", f"world={WORLD}"),
            *overrides,
            *(f"seeds={len(SEEDS)}", f"steps={NUM_STEPS}", f"output={path}"),
        ],
        env={**os.environ, "PYTHONPATH": str(HERE)},
        check=True,
        stdout=subprocess.DEVNULL,
    )


def predict_frames(work: Path, output: Path) -> None:
    """Pixel metrics and regret of the models over frames."""
    world = load_world(WORLD)
    tokenizer = Tokenizer(world)
    rollout = roll_out(world, EPISODES, HORIZON)
    suite = work / "suite"
    for index, episode in enumerate(tokenizer.decode(tokenizer.encode(rollout.states))):
        write(suite / "gt" / f"{index:03}.mp4", episode)
    for kind in KINDS:
        predict(work, kind, tokenizer, rollout)
        result = wbgpu.evaluate(
            suite / "gt",
            suite / kind,
            num_context=1,
            overrides=[f"suite.logits={suite / f'{kind}_logits'}"],
        )
        wbgpu.save_result(result, output / f"frames_{kind}.json")


def judge_frames(output: Path) -> tuple[Rows, list[Verdict]]:
    results = {kind: wbgpu.load_result(output / f"frames_{kind}.json") for kind in KINDS}
    means = {
        kind: {
            "regret_nats_per_token": regret_of_tokens(result),
            **{name: mean(result, name) for name in PIXEL_METRICS},
        }
        for kind, result in results.items()
    }
    verdicts = []
    for baseline, candidate in FRAME_QUESTIONS:
        verdict = wbgpu.gate(results[baseline], results[candidate], policy=POLICY)
        verdicts.append(
            {
                "part": "frames",
                "baseline": baseline,
                "candidate": candidate,
                "worldbench": wbgpu.gate(results[baseline], results[candidate]).status,
                "noninferiority": verdict.status,
                "because_of": [reason(one) for one in (*verdict.failures, *verdict.undecided)],
                "changes": {
                    one.name: [one.estimate.mean, one.estimate.lower, one.estimate.upper]
                    for one in verdict.evidence
                },
            }
        )
    return means, verdicts


def frame_tables(means: Rows, verdicts: list[Verdict]) -> list[str]:
    rows = [
        [kind, f"{values['regret_nats_per_token']:.5f}"]
        + [f"{values[name]:.3f}" for name in PIXEL_METRICS]
        for kind, values in means.items()
    ]
    by_regret = sorted(means, key=lambda kind: means[kind]["regret_nats_per_token"])
    orders = [f"- regret: {', '.join(by_regret)}"]
    for name in PIXEL_METRICS:
        order = sorted(means, key=lambda kind, name=name: -means[kind][name])
        orders.append(f"- {name}: {', '.join(order)}")
    apart = [
        f"{one} and {other} by {name}"
        for one, other in combinations(by_regret, 2)
        for name in PIXEL_METRICS
        if means[one][name] < means[other][name]
    ]
    return [
        f"## Tokens of drawn frames, {len(EPISODES)} episodes of {HORIZON} steps",
        "",
        *table(["checkpoint", "regret, nats a token", *PIXEL_METRICS], rows),
        "Ranked, best first, by",
        "",
        *orders,
        "",
        f"In the other order than by regret: {'; '.join(apart) or 'none'}.",
        "",
        f"Margins of noninferiority: composite {POLICY.margin:g}, and as much for each of its "
        f"metrics up to each horizon, log_loss {POLICY.metric_margins['log_loss']:g}. Changes are "
        "means of the paired differences with 95 % intervals.",
        "",
        *table(
            [
                *("question", "policy worldbench", "noninferiority", "because of"),
                *("composite", "log_loss, nats"),
            ],
            [
                [
                    *(question(one), one["worldbench"], one["noninferiority"]),
                    *(", ".join(one["because_of"]), *changes(one)),
                ]
                for one in verdicts
            ],
        ),
    ]


def predict(work: Path, kind: str, tokenizer: Tokenizer, rollout: Rollout) -> None:
    """Save the logits of every token, and the most likely frames as video."""
    model = FrameTransformer(
        tokenizer.num_tokens,
        len(tokenizer.patches),
        len(tokenizer.definition.schema.actions),
        sees_action=kind != "action_blind",
    )
    model.load_state_dict(torch.load(weights_of(work, "frames", kind), weights_only=True))
    model.eval()
    folder = work / "suite" / f"{kind}_logits"
    folder.mkdir(parents=True, exist_ok=True)
    for index in range(len(rollout.states)):
        states, actions = rollout.states[index], rollout.actions[index]
        tokens = tokenizer.encode(states)
        last, following = (torch.from_numpy(part) for part in (tokens[:-1], tokens[1:]))
        with torch.inference_mode():
            logits = model(last, torch.from_numpy(actions), following)
        reference = tokenizer.reference_loss_nats(states[:-1], actions, tokens[1:])
        tensors = {
            "logits": logits.contiguous(),
            "targets": following.contiguous(),
            "reference_loss_nats": torch.from_numpy(reference).contiguous(),
        }
        save_file(tensors, folder / f"{index:03}.safetensors")
        chosen = model.most_likely(last, torch.from_numpy(actions)).numpy()
        video = tokenizer.decode(np.concatenate((tokens[:1], chosen)))
        write(work / "suite" / kind / f"{index:03}.mp4", video)


def write(path: Path, frames: np.ndarray) -> None:
    """A lossless video of frames uint8 ``[T, 64, 64, 3]``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    assert frames.shape[1:] == (SIZE, SIZE, 3)
    write_video(path, torch.from_numpy(frames).permute(0, 3, 1, 2), 5.0, lossless=True)


def regret_of_tokens(result: wbgpu.SuiteResult) -> float:
    outcomes = [episode.metrics["log_loss"] for episode in result.episodes]
    return float(np.mean([one.prefix_details["regret_nats"][-1] for one in outcomes]))


def mean(result: wbgpu.SuiteResult, name: str) -> float:
    values = [episode.metrics[name].value for episode in result.episodes]
    return float(np.mean([value for value in values if value is not None]))


def reason(failure: Any) -> str:
    """What failed a candidate, or left it undecided."""
    evidence = failure.evidence
    name = evidence.get("name") or evidence["metric"]
    horizons = evidence.get("horizons")
    return f"{name} up to t+{horizons[0]} ... t+{horizons[-1]}" if horizons else name


def question(verdict: Verdict) -> str:
    return f"{verdict['baseline']} to {verdict['candidate']}"


def changes(verdict: Verdict) -> list[str]:
    return [
        f"{change:+.5f} [{lower:+.5f}, {upper:+.5f}]"
        for change, lower, upper in verdict["changes"].values()
    ]


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    lines = [f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *rows)]
    return [*lines, ""]


if __name__ == "__main__":
    main()
