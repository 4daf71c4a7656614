"""Claims that two ways to a result end in the same numbers or bytes."""

from __future__ import annotations

import json
import logging
import math
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from claims.runs import (
    NUM_CONTEXT,
    Finding,
    Suite,
    load,
    pairs,
    run,
    same,
    sha256,
    wbgpu_command,
    wbgpu_words,
    without_time_and_command,
)

TOLERANCE = 1e-5
WORLDBENCH = """
import sys
from pathlib import Path
import skimage.metrics
from worldbench.runners.regression import evaluate_video_batch
truth, predictions, root, output = map(Path, sys.argv[2:])
evaluate_video_batch(
    truth, predictions, skip_context=int(sys.argv[1]), output_root=root, output=output
)
"""
# glibc keeps its memory, which halves worldbench's time.
KEEP_MEMORY = dict.fromkeys(("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"), "1000000000")
NOT_COMPARED = {"created_at", "result_path", "ground_truth_path", "prediction_path", "issues"}
"""Places, times and sentences."""


def agrees_with_worldbench(suite: Suite) -> Finding:
    """Results and gates of both packages, number by number."""
    from worldbench.runners.regression import build_gate_comparison

    import wbgpu

    def theirs(checkpoint: str) -> dict[str, Any]:
        output = suite.folder / f"worldbench/{checkpoint}.json"
        arguments = [str(NUM_CONTEXT), "gt", checkpoint, "worldbench/runs", str(output)]
        run([sys.executable, "-c", WORLDBENCH, *arguments], suite.folder, environment=KEEP_MEMORY)
        return load(output)

    (suite.folder / "worldbench").mkdir()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        expected = dict(zip(suite.checkpoints, pool.map(theirs, suite.checkpoints), strict=True))
    found = {}
    differences: dict[str, list[float]] = {"scores": [], "details": [], "gates": []}
    for checkpoint in suite.checkpoints:
        folders = suite.folder / "gt", suite.folder / checkpoint
        path = suite.folder / f"{checkpoint}.json"
        wbgpu.save_result(wbgpu.evaluate(*folders, num_context=NUM_CONTEXT), path)
        found[checkpoint] = load(path)
        for part in ("aggregate", "horizon", "episodes"):
            compare(expected[checkpoint][part], found[checkpoint][part], differences)
    for baseline, candidate in pairs(suite.checkpoints):
        gate = ["gate", "--baseline", f"{baseline}.json", "--candidate", f"{candidate}.json"]
        ours = json.loads(wbgpu_command([*gate, "--json"], suite.folder, codes=(0, 1)).stdout)
        # As worldbench's command calls it.
        gate_of_theirs = build_gate_comparison(
            expected[baseline], expected[candidate], min_composite_improvement=0.0
        )
        compare(gate_of_theirs, ours, differences, "gates")
    figures = {f"largest_difference_of_{k}": max(values) for k, values in differences.items()}
    counts = {f"num_{k}": len(values) for k, values in differences.items()}
    return {
        "holds": all(value <= TOLERANCE for value in figures.values()),
        "measured": f"largest difference {max(differences['scores']):.1e} of {counts['num_scores']}"
        f" scores and statistics, {max(differences['gates']):.1e} of {counts['num_gates']} numbers "
        f"of {len(pairs(suite.checkpoints))} gates with equal verdicts, and relative to their size "
        f"{max(differences['details']):.1e} of {counts['num_details']} squared errors, PSNRs and "
        "other details",
        "figures": {**figures, **counts, "checkpoints": list(suite.checkpoints)},
    }


def compare(
    theirs: Any, ours: Any, differences: dict[str, list[float]], kind: str = "scores"
) -> None:
    """Add the difference of every number of ``theirs``; infinity where ours is missing or no."""
    if isinstance(theirs, dict):
        for key in theirs.keys() - NOT_COMPARED:
            inner = "details" if key == "details" else kind
            compare(theirs[key], (ours or {}).get(key), differences, inner)
    elif isinstance(theirs, list):
        same_length = isinstance(ours, list) and len(ours) == len(theirs)
        for one, other in zip(theirs, ours if same_length else [None] * len(theirs), strict=True):
            compare(one, other, differences, kind)
    elif isinstance(theirs, int | float) and not isinstance(theirs, bool):
        is_number = isinstance(ours, int | float) and math.isfinite(ours)
        difference = abs(theirs - ours) if is_number else math.inf
        size = max(1.0, abs(theirs)) if kind == "details" else 1.0
        differences[kind].append(difference / size)
    elif (theirs is None) != (ours is None) or (kind == "gates" and theirs in ("PASS", "FAIL")):
        differences[kind].append(0.0 if theirs == ours else math.inf)


def same_numbers_however_it_runs(suite: Suite) -> Finding:
    """Windows, decoding threads and threads of torch change no bit of a number."""
    import torch

    import wbgpu

    def digest(*overrides: str, num_threads: int = 1) -> str:
        torch.set_num_threads(num_threads)
        folders = suite.folder / "gt", suite.folder / suite.checkpoints[0]
        result = wbgpu.evaluate(*folders, num_context=NUM_CONTEXT, overrides=overrides)
        wbgpu.save_result(result, suite.folder / "numbers.json")
        text = without_time_and_command(suite.folder / "numbers.json")
        document = json.loads(text)
        # The settings themselves stand there.
        del document["wbgpu"]["provenance"]["configuration"]
        return sha256(json.dumps(document))

    variants = {
        **{f"loader.window_frames={n}": digest(f"loader.window_frames={n}") for n in (1, 3, 8, 64)},
        **{f"loader.num_workers={n}": digest(f"loader.num_workers={n}") for n in (1, 2, 4)},
        **{f"OMP_NUM_THREADS={n}": digest(num_threads=n) for n in (1, 2)},
    }
    return same(variants, "results")


def same_bytes_however_it_runs(suite: Suite) -> Finding:
    """Processes, a profile and a machine without programs, through the command."""
    arguments = suite.eval_arguments(suite.checkpoints[0])
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    module = ["-m", "wbgpu"]
    commands = {
        "one process": wbgpu_words(arguments),
        "trainer.devices=2": wbgpu_words([*arguments, "trainer.devices=2"]),
        "torchrun --nproc-per-node 2": [*torchrun, "--nproc-per-node", "2", *module, *arguments],
        "profile=true": wbgpu_words([*arguments, "profile=true"]),
        "no programs on the PATH": wbgpu_words(arguments),
    }
    digests = {}
    for name, words in commands.items():
        run(words, suite.folder, environment={"PATH": ""} if "PATH" in name else {})
        digests[name] = sha256(without_time_and_command(suite.folder / "result.json"))
    return same(digests, "result files, less the time, the command line and their seal,")


def same_bytes_after_kills(suite: Suite) -> Finding:
    """SIGKILL twice, then the same command with ``resume=true`` to the end."""
    checkpoint = suite.checkpoints[0]
    longer = Suite(suite.folder / "longer", (checkpoint,), suite.name)
    for name in ("gt", checkpoint):
        (longer.folder / name).mkdir(parents=True)
        for repetition in range(8):
            for video in suite.videos:
                target = longer.folder / name / f"{repetition}_{video.name}"
                shutil.copy(suite.folder / name / video.name, target)
    num_episodes = len(longer.videos)
    command = wbgpu_words([*longer.eval_arguments(checkpoint), "loader.num_workers=1"])
    run(command, longer.folder)
    digests = {"without a break": sha256(without_time_and_command(longer.folder / "result.json"))}
    (longer.folder / "result.json").unlink()
    command.append("resume=true")
    finished = [kill_after(command, longer.folder, enough) for enough in (1, num_episodes // 2)]
    messages = run(command, longer.folder).stderr
    assert "Resuming from" in messages, messages
    text = without_time_and_command(longer.folder / "result.json")
    digests[f"killed after {' and '.join(map(str, finished))} of {num_episodes}"] = sha256(text)
    return same(digests, "result files, less the time, the command line and their seal,")


def kill_after(command: list[str], folder: Path, num_finished: int) -> int:
    """Start, kill when so many episodes are on the disk; how many then are."""
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, cwd=folder, **silent)

    def num_lines() -> int:
        # The first line is a header. A resumed run takes over the journal of the one that died.
        journals = folder.glob(".wbgpu/evals/*/journal.jsonl")
        return max((path.read_bytes().count(b"\n") for path in journals), default=0) - 1

    while num_lines() < num_finished:
        if process.poll() is not None:
            raise SystemExit("the run ended before it could be killed: give longer episodes")
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return num_lines()


def training_is_undisturbed(suite: Suite) -> Finding:
    """The weights after a training with dropout and random clips, with the callback and without."""
    import torch
    from lightning.pytorch import LightningModule, Trainer, seed_everything

    from wbgpu.integrations.lightning import WorldModelEvalCallback
    from wbgpu.models import ActionConditioned

    for video in suite.videos[:2]:
        (suite.folder / "watched").mkdir(exist_ok=True)
        shutil.copy(video, suite.folder / "watched")

    class Training(LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.model = ActionConditioned(num_actions=0, num_inputs=2, channels=4)

        def training_step(self, clip: torch.Tensor, index: int) -> torch.Tensor:
            del index
            frames = torch.nn.functional.dropout(clip * torch.rand(()), 0.1)
            return (self.model(frames[:, :2]) - frames[:, 2]).square().mean()

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.AdamW(self.parameters(), lr=1e-3)

        def predict(self, context_frames: torch.Tensor, actions: Any, num_frames: int) -> Any:
            torch.rand(3)
            return self.model.predict(context_frames, actions, num_frames)

    def train(callbacks: list[WorldModelEvalCallback]) -> str:
        seed_everything(0, verbose=False)
        clips = torch.utils.data.DataLoader(torch.rand(8, 3, 3, 48, 64), 2, shuffle=True)
        quiet = {"enable_progress_bar": False, "enable_model_summary": False, "logger": False}
        places = {"default_root_dir": suite.folder, "enable_checkpointing": False}
        module = Training()
        Trainer(max_epochs=3, accelerator="cpu", callbacks=callbacks, **quiet, **places).fit(
            module, clips
        )
        state = module.state_dict()
        return sha256(b"".join(state[name].numpy().tobytes() for name in sorted(state)))

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    settings = {"ground_truth": suite.folder / "watched", "num_context": NUM_CONTEXT}
    results = suite.folder / "training_results"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = train([])
        watched = train([WorldModelEvalCallback(settings, output=results)])
    num_evaluations = len(list(results.iterdir()))
    assert num_evaluations == 3
    return same({"without": plain, "with WorldModelEvalCallback": watched}, "weights")
