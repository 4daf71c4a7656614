"""Log-losses from bfloat16 logits on the CPU: time, peak memory and error against what is used.

Candidates take turns, in another order each round, and ratios are medians over rounds. On one
thread, time is processor time of the process; with the default number of threads it is the wall
clock. Peak memory (VmHWM above what was resident with the logits in place) is that of a child
process for each candidate. The error is that of the mean loss, relative to float64.

Figures are ours divided by ``cross_entropy`` on logits cast to float32, so smaller is better:
``time_ratio_<K>`` on one thread, ``time_ratio_<K>_default_threads``, ``memory_ratio_<K>``.

    python scripts/benchmark_log_loss.py [--quick] [--output FILE]
"""

from __future__ import annotations

import argparse
import ctypes
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from machine import machine
from torch import Tensor
from torch.nn.functional import cross_entropy
from torchmetrics.functional.text import perplexity

from wbgpu.statistics import log_losses

SIZES = {512: 32_768, 32_768: 512, 262_144: 64}
"""Rows of logits by number of classes: 32 MiB of bfloat16 each."""

OURS, UPCAST = "wbgpu log_losses", "cross_entropy, float32"
Candidate = Callable[[Tensor, Tensor], Tensor]
CANDIDATES: dict[str, Candidate] = {
    OURS: lambda logits, target: log_losses(logits, target).loss_nats.mean(),
    UPCAST: lambda logits, target: cross_entropy(logits.float(), target),
    "cross_entropy, bfloat16": lambda logits, target: cross_entropy(logits, target),
    "torchmetrics perplexity": lambda logits, target: perplexity(logits[None], target[None]).log(),
    "torchmetrics, float32": lambda logits, target: perplexity(
        logits[None].float(), target[None]
    ).log(),
}
_CHILD_FLAG = "--memory-of"


def make_logits(num_classes: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(num_classes)
    shape = (SIZES[num_classes], num_classes)
    logits = torch.empty(shape, dtype=torch.bfloat16).normal_(0, 3, generator=generator)
    return logits, torch.randint(0, num_classes, shape[:1], generator=generator)


def times(
    logits: Tensor, target: Tensor, num_rounds: int, clock: Callable[[], float]
) -> dict[str, list[float]]:
    """Milliseconds of each round, by candidate."""
    names = list(CANDIDATES)
    out: dict[str, list[float]] = {name: [] for name in names}
    for i in range(-1, num_rounds):
        for name in names[i % len(names) :] + names[: i % len(names)]:
            start = clock()
            CANDIDATES[name](logits, target)
            if i >= 0:  # the first round warms up
                out[name].append(1e3 * (clock() - start))
    return out


def errors(logits: Tensor, target: Tensor) -> dict[str, float]:
    exact = torch.stack(
        [cross_entropy(row[None].double(), t[None]) for row, t in zip(logits, target, strict=True)]
    ).mean()
    return {
        name: float((run(logits, target).double() - exact) / exact)
        for name, run in CANDIDATES.items()
    }


def _status_mb(field: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    raise KeyError(field)


def print_memory(name: str, num_classes: int) -> None:
    """Child process: peak memory above the logits and the libraries, in MB."""
    run = CANDIDATES[name]
    logits, target = make_logits(num_classes)
    run(logits[:2, :8], target[:2] % 8)
    ctypes.CDLL(None).malloc_trim(0)  # memory freed so far would be used again, unseen
    Path("/proc/self/clear_refs").write_text("5")
    before = _status_mb("VmRSS")
    for _ in range(2):
        run(logits, target)
    print(json.dumps(max(_status_mb("VmHWM") - before, 0.0)))


def peak_memory_mb(name: str, num_classes: int) -> float:
    command = [sys.executable, str(Path(__file__).resolve()), _CHILD_FLAG, name, str(num_classes)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(json.loads(done.stdout.splitlines()[-1]))


def _ratio(ours: list[float], theirs: list[float]) -> float:
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


def _print_table(rows: list[dict[str, object]], num_threads: int) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Mean log-loss of bfloat16 logits, 32 MiB")
    headings = ("classes", "", "ms, 1 thread", f"ms, {num_threads} threads", "peak MB", "error")
    for heading in headings:
        table.add_column(heading)
    for row in rows:
        memory = row["peak_memory_mb"]
        table.add_row(
            f"{row['num_classes']:,}",
            str(row["candidate"]),
            f"{row['ms_one_thread']:.1f}",
            f"{row['ms_default_threads']:.1f}",
            "" if memory is None else f"{memory:.1f}",
            f"{row['relative_error']:+.1e}",
        )
    Console(width=120).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rounds")
    parser.add_argument("--output", type=Path, help="write the figures to this JSON file")
    parser.add_argument(_CHILD_FLAG, nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.memory_of:
        print_memory(arguments.memory_of[0], int(arguments.memory_of[1]))
        return
    num_rounds = 3 if arguments.quick else 15
    num_threads = torch.get_num_threads()
    figures: dict[str, float] = {}
    rows: list[dict[str, object]] = []
    for num_classes in SIZES:
        logits, target = make_logits(num_classes)
        torch.set_num_threads(1)
        single = times(logits, target, num_rounds, time.process_time)
        torch.set_num_threads(num_threads)
        default = times(logits, target, num_rounds, time.perf_counter)
        error = errors(logits, target)
        memory = {name: peak_memory_mb(name, num_classes) for name in CANDIDATES}
        figures |= {
            f"time_ratio_{num_classes}": _ratio(single[OURS], single[UPCAST]),
            f"time_ratio_{num_classes}_default_threads": _ratio(default[OURS], default[UPCAST]),
            f"memory_ratio_{num_classes}": memory[OURS] / memory[UPCAST],
        }
        rows += [
            {
                "num_classes": num_classes,
                "num_rows": SIZES[num_classes],
                "candidate": name,
                "ms_one_thread": statistics.median(single[name]),
                "ms_default_threads": statistics.median(default[name]),
                "peak_memory_mb": memory[name],
                "relative_error": error[name],
            }
            for name in CANDIDATES
        ]
    _print_table(rows, num_threads)
    for name, value in figures.items():
        print(f"{name}: {value:.3g}")
    if arguments.output:
        report = {
            "benchmark": "log-losses from bfloat16 logits on the CPU, interleaved",
            "ratios": f"{OURS} / {UPCAST}; smaller is better",
            **figures,
            "num_default_threads": num_threads,
            "quick": arguments.quick,
            "rounds": num_rounds,
            "logits_mb": 32,
            "machine": machine(("wbgpu", "torch", "torchmetrics", "numpy", "numba")),
            "rows": rows,
        }
        arguments.output.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
