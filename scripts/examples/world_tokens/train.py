#!/usr/bin/env python3
"""Train token world models on episodes of a world whose probabilities are known exactly.

Two models, each with an ablation that does not see the action: one over the world's discrete
states, one over tokens of its drawn frames. Checkpoints are kept along the way.

Usage: train.py WORK
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import torch
from model import FrameTransformer, StateTransformer
from tokens import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from wbgpu.worlds import load_world, roll_out

WORLD = "block_to_bowl"
TRAINING_SEEDS = range(10_000, 10_256)
"""Far from those that judge.py plays."""
NUM_STEPS = 100
STEPS = {"early": 40, "middle": 300, "late": 2000}
BATCH = 256


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    settings = parser.parse_args()
    # Another number of threads rounds otherwise; and two are no faster for so small a model.
    torch.set_num_threads(1)
    settings.work.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    world = load_world(WORLD)
    rollout = roll_out(world, TRAINING_SEEDS, NUM_STEPS)
    before = torch.from_numpy(rollout.states[:, :-1]).flatten(0, 1)
    after = torch.from_numpy(rollout.states[:, 1:]).flatten(0, 1)
    action = torch.from_numpy(rollout.actions).flatten()
    tokenizer = Tokenizer(world)
    tokens_before = torch.from_numpy(tokenizer.encode(before.numpy()))
    tokens_after = torch.from_numpy(tokenizer.encode(after.numpy()))
    num_actions = len(world.schema.actions)
    for sees_action in (True, False):
        ending = "" if sees_action else "_action_blind"
        torch.manual_seed(settings.seed)
        states = StateTransformer(tokenizer.sizes, num_actions, sees_action=sees_action)

        def state_loss(rows: Tensor, model: StateTransformer = states) -> Tensor:
            logits = model(before[rows], action[rows])
            losses = [
                functional.cross_entropy(part, after[rows, v]) for v, part in enumerate(logits)
            ]
            return torch.stack(losses).sum()

        train(states, state_loss, len(action), settings.work / f"states{ending}")
        frames = FrameTransformer(
            tokenizer.num_tokens, len(tokenizer.patches), num_actions, sees_action=sees_action
        )

        def frame_loss(rows: Tensor, model: FrameTransformer = frames) -> Tensor:
            logits = model(tokens_before[rows], action[rows], tokens_after[rows])
            losses = functional.cross_entropy(
                logits.flatten(0, 1), tokens_after[rows].flatten(), reduction="sum"
            )
            return losses / len(rows)

        train(frames, frame_loss, len(action), settings.work / f"frames{ending}")
    print(f"trained in {time.monotonic() - started:.0f} s")


def train(
    model: nn.Module, loss_of: Callable[[Tensor], Tensor], num_rows: int, folder: Path
) -> None:
    """Adam with a cosine schedule; weights are kept at each of ``STEPS``."""
    folder.mkdir(exist_ok=True)
    last = max(STEPS.values())
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, last)
    names = {step: name for name, step in STEPS.items()}
    for step in range(1, last + 1):
        optimizer.zero_grad()
        loss = loss_of(torch.randint(num_rows, (BATCH,)))
        loss.backward()
        optimizer.step()
        schedule.step()
        if step in names:
            torch.save(model.state_dict(), folder / f"{names[step]}.pt")
            print(f"{folder.name} {names[step]}: loss {float(loss):.4f} nats a step", flush=True)


if __name__ == "__main__":
    main()
