"""Frame statistics against the SSIM packages of PyPI, interleaved in one run, one thread.

Time is processor time of the whole process, so that a package that starts threads is charged for
them; candidates take turns, in another order each round, and ratios are medians over rounds. Every
candidate starts from uint8 frames and pays for its own conversion. Peak memory (VmHWM above what
was resident before) is that of a child process for each candidate. Errors are against a float64
oracle of the candidate's own definition.

    pip install --no-deps -r scripts/benchmark_requirements.txt
    python scripts/benchmark_statistics.py [--quick] [--output FILE]
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import torch
from machine import machine
from statistics_candidates import PACKAGES, Candidate, candidates, missing_packages
from statistics_cases import NUM_FRAMES, ORACLES, Frames, accuracy_cases, natural_frames

SIZES = {"256x256": (256, 256), "480x640": (480, 640)}
_CHILD_FLAG = "--memory-of"
_MIN_TURN_SECONDS = 0.05


def errors(candidate: Candidate, cases: dict[str, tuple[Frames, Frames]]) -> dict[str, float]:
    """Signed error of the score, by case."""
    if not candidate.definition:
        return {}
    oracle = ORACLES[candidate.definition]
    out = {}
    for name, (target, prediction) in cases.items():
        (score,) = candidate.run(target, prediction)
        out[name] = score - oracle(target[0], prediction[0])
    return out


def times(
    all_candidates: dict[str, Candidate], target: Frames, prediction: Frames, num_rounds: int
) -> dict[str, list[float]]:
    """Milliseconds per frame pair of each round, by candidate."""
    names = list(all_candidates)
    out: dict[str, list[float]] = {name: [] for name in names}
    for i in range(-1, num_rounds):
        for name in names[i % len(names) :] + names[: i % len(names)]:
            num_calls, start = 0, time.process_time()
            while (elapsed := time.process_time() - start) < _MIN_TURN_SECONDS:
                all_candidates[name].run(target, prediction)
                num_calls += 1
            if i >= 0:  # the first round warms up
                out[name].append(elapsed * 1e3 / (num_calls * len(target)))
    return out


def _status_mb(field: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    raise KeyError(field)


def print_memory(name: str) -> None:
    """Child process: peak memory above the frames and the libraries, by size."""
    candidate = candidates()[name]
    out = {}
    for size, (height, width) in SIZES.items():
        target, prediction, _ = natural_frames(height, width)
        small = (np.ascontiguousarray(v[:1, :64, :64]) for v in (target, prediction))
        candidate.run(*small)
        ctypes.CDLL(None).malloc_trim(0)  # memory freed so far would be used again, unseen
        Path("/proc/self/clear_refs").write_text("5")
        before = _status_mb("VmRSS")
        for _ in range(2):
            candidate.run(target, prediction)
        out[size] = max(_status_mb("VmHWM") - before, 0.0)
    print(json.dumps(out))


def peak_memory_mb(name: str) -> dict[str, float]:
    command = [sys.executable, str(Path(__file__).resolve()), _CHILD_FLAG, name]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _ratio(reference: list[float], measured: list[float]) -> float:
    return statistics.median(a / b for a, b in zip(reference, measured, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rounds, no memory")
    parser.add_argument("--output", type=Path, help="write the figures to this JSON file")
    parser.add_argument(_CHILD_FLAG, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if hasattr(os, "sched_setaffinity"):  # for packages with threads of their own
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if arguments.memory_of:
        print_memory(arguments.memory_of)
        return
    if missing := missing_packages():
        print(f"Missing: {', '.join(missing)}; see scripts/benchmark_requirements.txt\n")
    all_candidates = candidates()
    cases = accuracy_cases()
    rows: dict[str, dict[str, object]] = {
        name: {"definition": c.definition, "note": c.note, "errors": errors(c, cases)}
        for name, c in all_candidates.items()
    }
    num_rounds = 3 if arguments.quick else 9
    measured = {}
    source = ""
    for size, (height, width) in SIZES.items():
        target, prediction, source = natural_frames(height, width)
        measured[size] = times(all_candidates, target, prediction, num_rounds)
    for name, row in rows.items():
        row["ms_per_pair"] = {
            size: {"median": statistics.median(of[name]), "min": min(of[name])}
            for size, of in measured.items()
        }
        row["peak_memory_mb"] = {} if arguments.quick else peak_memory_mb(name)
    figures = _figures(rows, measured)
    _print_table(rows, source)
    print()
    for name, value in figures.items():
        print(f"{name}: {value:.3g}")
    if arguments.output:
        report = {
            "benchmark": "frame statistics on one thread, interleaved",
            **figures,
            "quick": arguments.quick,
            "num_frames": NUM_FRAMES,
            "rounds": num_rounds,
            "natural_frames": source,
            "machine": machine(("torch", "numpy", "numba", *PACKAGES)),
            "missing": missing,
            "rows": rows,
        }
        arguments.output.write_text(json.dumps(report, indent=2) + "\n")


def _figures(
    rows: dict[str, dict[str, object]], measured: dict[str, dict[str, list[float]]]
) -> dict[str, float]:
    """Ratios above 1 are times that ours is faster; the default path is the fast one."""
    uniform, gaussian = "wbgpu cpu, uniform 7", "wbgpu cpu, Gaussian 11"
    small, large = (measured[size] for size in SIZES)
    speedup = _ratio(small["scikit-image"], small[uniform])
    all_errors = [e for n in (uniform, gaussian) for e in rows[n]["errors"].values()]
    figures = {
        "default_speedup_vs_scikit_image_256": speedup,
        "fast_speedup_vs_scikit_image_256": speedup,
        "max_abs_error": max(map(abs, all_errors)),
        "speedup_vs_torchmetrics_256": _ratio(small["torchmetrics"], small[uniform]),
        "speedup_vs_scikit_image_480x640": _ratio(large["scikit-image"], large[uniform]),
        "default_groups_ms_256": statistics.median(small["wbgpu cpu, all default groups"]),
        "default_groups_ms_480x640": statistics.median(large["wbgpu cpu, all default groups"]),
    }
    for name, ours in (("fast-ssim", uniform), ("frame-analytics", gaussian)):
        if name in small:
            key = f"speedup_vs_{name.replace('-', '_')}"
            figures[f"{key}_256"] = _ratio(small[name], small[ours])
            figures[f"{key}_480x640"] = _ratio(large[name], large[ours])
    return figures


def _print_table(rows: dict[str, dict[str, object]], source: str) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"Per frame pair, one thread; {source}")
    for heading in ("", "definition", "ms 256x256", "ms 480x640"):
        table.add_column(heading)
    for heading in ("peak MB, 8 frames", "largest error", "on", "within 1e-6"):
        table.add_column(heading)
    for name, row in rows.items():
        of_size = [f"{t['median']:.3f}" for t in row["ms_per_pair"].values()]
        memory = " / ".join(f"{mb:.0f}" for mb in row["peak_memory_mb"].values())
        by_case: dict[str, float] = row["errors"]
        worst = max(by_case, key=lambda case: abs(by_case[case]), default="")
        error = f"{by_case[worst]:+.1e}" if worst else ""
        exact = ("yes" if abs(by_case[worst]) <= 1e-6 else "no") if worst else ""
        definition = str(row["definition"] or row["note"])
        table.add_row(name, definition, *of_size, memory, error, worst if error else "", exact)
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
