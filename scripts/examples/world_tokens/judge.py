#!/usr/bin/env python3
"""Judge the checkpoints that train.py has left by regret against the exact answer key.

States: each checkpoint plays the world as a contestant. Frames: each checkpoint's logits of the
tokens of drawn episodes are saved beside the frames that it holds most likely, so that one result
has both pixel metrics and regret.

Usage: judge.py WORK OUTPUT
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

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
EPISODES, HORIZON = range(40), 24
KINDS = (*STEPS, "action_blind")
QUESTIONS = (("early", "middle"), ("middle", "late"), ("late", "action_blind"))
HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("work", "output"):
        parser.add_argument(name, type=Path)
    settings = parser.parse_args()
    settings.output.mkdir(parents=True, exist_ok=True)
    lines = [
        "# Checkpoints of the token world models example",
        "",
        "Made by `scripts/examples/world_tokens/judge.py` from the JSON files beside this one.",
        "",
        *states(settings.work, settings.output),
        *frames(settings.work, settings.output),
    ]
    (settings.output / "README.md").write_text("\n".join(lines), encoding="utf-8")
    print("\n".join(lines))


def weights_of(work: Path, model: str, kind: str) -> Path:
    if kind == "action_blind":
        return work / f"{model}_action_blind" / "late.pt"
    return work / model / f"{kind}.pt"


def states(work: Path, output: Path) -> list[str]:
    """Regret of the models over states, with what no learner and a counting learner lose."""
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
    rows = []
    for kind in ("oracle", *KINDS, "kt", "uniform"):
        result = wbgpu.load_result(output / f"states_{kind}.json")
        expected = np.mean([one.totals.expected_regret_nats for one in result.episodes])
        rows.append([kind, f"{expected / NUM_STEPS:.5f}"])
    rows_of_gates = [
        [f"{one} to {other}", *gate_of_regret(output, one, other)] for one, other in QUESTIONS
    ]
    return [
        f"## States of {WORLD}, {len(SEEDS)} episodes of {NUM_STEPS} steps",
        "",
        *table(["contestant", "expected regret, nats a step"], rows),
        *table(["question", "verdict", "change, nats a step"], rows_of_gates),
    ]


def regret(path: Path, *overrides: str) -> None:
    """``wbgpu regret``, from this folder so that it finds ``model``."""
    subprocess.run(
        [
            *(sys.executable, "-m", "wbgpu.cli.main", "regret", f"world={WORLD}"),
            *overrides,
            *(f"seeds={len(SEEDS)}", f"steps={NUM_STEPS}", f"output={path.resolve()}"),
            f"hydra.run.dir={path.resolve().parent / '.runs'}",
        ],
        cwd=HERE,
        check=True,
        stdout=subprocess.DEVNULL,
    )


def gate_of_regret(output: Path, baseline: str, candidate: str) -> list[str]:
    paths = [output / f"states_{kind}.json" for kind in (baseline, candidate)]
    verdict = wbgpu.gate_regret(*paths)
    change = verdict.comparison.expected
    lower, upper = change.interval.lower, change.interval.upper
    return [verdict.status, f"{change.change:+.5f} [{lower:+.5f}, {upper:+.5f}]"]


def frames(work: Path, output: Path) -> list[str]:
    """Pixel metrics and regret of the models over frames."""
    world = load_world(WORLD)
    tokenizer = Tokenizer(world)
    rollout = roll_out(world, EPISODES, HORIZON)
    tokens = tokenizer.encode(rollout.states)
    suite = work / "suite"
    for index, episode in enumerate(tokenizer.decode(tokens)):
        write(suite / "gt" / f"{index:03}.mp4", episode)
    results = {}
    for kind in KINDS:
        predict(work, kind, tokenizer, rollout)
        result = wbgpu.evaluate(
            suite / "gt",
            suite / kind,
            num_context=1,
            overrides=[f"suite.logits={suite / f'{kind}_logits'}"],
        )
        wbgpu.save_result(result, output / f"frames_{kind}.json")
        results[kind] = result
    rows = [
        [
            kind,
            f"{regret_of_tokens(result):.5f}",
            f"{mean(result, 'psnr'):.2f}",
            f"{mean(result, 'visual_similarity'):.2f}",
            f"{mean(result, 'skill_persistence_dynamic'):.3f}",
        ]
        for kind, result in results.items()
    ]
    policy = wbgpu.Noninferiority(margin=0.5, metric_margins={"log_loss": 0.0})
    verdicts = []
    for one, other in QUESTIONS:
        verdict = wbgpu.gate(results[one], results[other], policy=policy)
        verdicts.append(
            [
                f"{one} to {other}",
                wbgpu.gate(results[one], results[other]).status,
                verdict.status,
                ", ".join(
                    f"{evidence.name} {evidence.estimate.mean:+.4f} "
                    f"[{evidence.estimate.lower:+.4f}, {evidence.estimate.upper:+.4f}]"
                    for evidence in verdict.evidence
                ),
            ]
        )
    wbgpu.write_report(
        results["action_blind"],
        output / "frames_action_blind_against_late.html",
        results["late"],
        policy=policy,
        num_films=1,
    )
    header = ["checkpoint", "regret, nats a token", "psnr", "visual", "skill, moving region"]
    return [
        f"## Tokens of drawn frames, {len(EPISODES)} episodes of {HORIZON} steps",
        "",
        *table(header, rows),
        *table(["question", "worldbench policy", "noninferiority", "changes"], verdicts),
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


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    lines = [f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *rows)]
    return [*lines, ""]


if __name__ == "__main__":
    main()
