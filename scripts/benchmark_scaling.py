"""How much faster are two processes than one on this machine, and what does resuming cost?

Speed: the same episodes with one and two processes, started by wbgpu in turn, the one and the other
first. Twice: each process with one core of its own, as on a cluster each brings its GPU and cores
(`speedup_2_processes`); and both with all cores (`speedup_2_processes_same_cores`), where one
process decodes on all of them already, and a second can only gain what the first leaves idle. A
started process imports torch, Lightning and so on first, whatever it evaluates then, so each is
measured on a short and a long suite: episodes a second are those by which the suites differ, over
the seconds by which they do.

Resume: in one process, a run with a journal is ended after half of its episodes, and resumed. The
overhead is the seconds of both together, over those of a run without a break and without a journal.

Episodes: the ten BridgeData V2 episodes beside the repository (22 to 49 frames, 256x256) and the
predictions of a model for them, over and over; else drawn ones.

    python scripts/benchmark_scaling.py [--quick] [--output FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from machine import machine

BRIDGE = Path(__file__).resolve().parents[2] / "shared/data/bridge_suite"
NUM_CORES = 2
NUM_SHORT = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a smaller suite and fewer rounds")
    parser.add_argument("--output", type=Path, help="write the measurements here as JSON")
    arguments = parser.parse_args()
    # Set here, children inherit it.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:NUM_CORES])
    with tempfile.TemporaryDirectory() as root:
        document = measure(Path(root), arguments.quick)
    if arguments.output:
        arguments.output.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def measure(folder: Path, quick: bool) -> dict[str, Any]:
    rounds, num_long = (3, 200) if quick else (5, 400)
    write_suite(folder / "short", NUM_SHORT)
    write_suite(folder / "long", num_long)
    evaluate(folder / "short")  # compiles
    scaling = measure_scaling(folder, num_long, rounds)
    resume = measure_resume(folder / "long", folder / "journal.jsonl", num_long, rounds)
    return {
        "benchmark": "processes on one machine, and resuming",
        "speedup_2_processes": scaling["one_core_each"]["speedup"],
        "speedup_2_processes_same_cores": scaling["same_cores"]["speedup"],
        "resume_overhead_seconds": resume["overhead_seconds"],
        "quick": quick,
        "content": "BridgeData V2" if BRIDGE.is_dir() else "drawn",
        "rounds": rounds,
        "scaling": scaling,
        "resume": resume,
        "machine": {
            **machine(("wbgpu", "torch", "numpy", "av", "numba")),
            "num_cores_used": NUM_CORES,
        },
    }


def measure_scaling(folder: Path, num_long: int, rounds: int) -> dict[str, Any]:
    settings = {"one_core_each": (1, 2), "same_cores": (2, 2)}
    seconds: dict[tuple[str, int, str], list[float]] = {}
    for index in range(rounds):
        for name, cores in settings.items():
            for n in (1, 2) if index % 2 else (2, 1):
                for suite in ("short", "long"):
                    with pinned(cores[n - 1]):
                        took = timed(partial(evaluate_in_processes, folder / suite, n))
                    seconds.setdefault((name, n, suite), []).append(took)
    rows: dict[str, Any] = {"num_episodes": num_long}
    for name, cores in settings.items():
        # Medians first: how long a start takes varies more than what is wanted.
        middle = {
            (n, suite): statistics.median(seconds[name, n, suite])
            for n in (1, 2)
            for suite in ("short", "long")
        }
        rates = {
            n: (num_long - NUM_SHORT) / (middle[n, "long"] - middle[n, "short"]) for n in (1, 2)
        }
        row = rows[name] = {
            "speedup": rates[2] / rates[1],
            "cores_1_process": cores[0],
            "cores_2_processes": cores[1],
        }
        for n in (1, 2):
            row[f"episodes_per_second_{n}"] = rates[n]
            row[f"whole_seconds_{n}"] = middle[n, "long"]
            row[f"short_suite_seconds_{n}"] = middle[n, "short"]
        print(
            f"{num_long} episodes: {row['episodes_per_second_1']:.1f} a second with one process on "
            f"{cores[0]} core(s), {row['episodes_per_second_2']:.1f} with two on {cores[1]}: "
            f"{row['speedup']:.2f} times as fast (to start: {row['short_suite_seconds_1']:.1f} s, "
            f"{row['short_suite_seconds_2']:.1f} s)",
            flush=True,
        )
    return rows


def measure_resume(suite: Path, journal: Path, num_episodes: int, rounds: int) -> dict[str, float]:
    rows = []
    for _ in range(rounds):
        whole = timed(lambda: evaluate(suite))
        first = timed(lambda: evaluate_half(suite, journal, num_episodes // 2))
        rest = timed(lambda: evaluate(suite, "resume=true", f"journal={journal}"))
        # Now the journal is complete: nothing is left but to read and check it.
        read = timed(lambda: evaluate(suite, "resume=true", f"journal={journal}"))
        rows.append((whole, first + rest - whole, read))
    whole, overhead, read = (statistics.median(column) for column in zip(*rows, strict=True))
    print(
        f"a whole run {whole:.2f} s; ended at the half and resumed {overhead:+.2f} s; "
        f"reading the journal of {num_episodes} episodes and checking their files {read:.2f} s",
        flush=True,
    )
    return {
        "whole_seconds": whole,
        "overhead_seconds": overhead,
        "complete_journal_seconds": read,
        "journal_bytes": journal.stat().st_size,
    }


def evaluate_in_processes(suite: Path, num_processes: int) -> None:
    from wbgpu.evaluation.processes import run_in_processes

    several = request(suite, f"trainer.devices={num_processes}")
    assert not run_in_processes(several).failed_episodes


class Ended(BaseException):
    """Where the process would have been killed."""


def evaluate_half(suite: Path, journal: Path, num_episodes: int) -> None:
    from wbgpu.evaluation.ranks import ALONE
    from wbgpu.evaluation.run_rank import run_rank

    left = num_episodes

    def ends(_: object) -> None:
        nonlocal left
        left -= 1
        if not left:
            raise Ended

    try:
        run_rank(request(suite, f"journal={journal}"), ALONE, on_episode=ends)
    except Ended:
        return
    raise AssertionError("the run was not ended")


def evaluate(suite: Path, *overrides: str) -> None:
    from wbgpu.evaluation.run import run

    result = run(request(suite, *overrides))
    assert not result.failed_episodes


def request(suite: Path, *overrides: str) -> Any:
    from wbgpu.evaluation.configuration import compose, request_from

    paths = {
        "suite.ground_truth": str(suite / "gt"),
        "suite.predictions": str(suite / "predictions"),
    }
    return request_from(compose(["suite.num_context=1", *overrides], paths))


def write_suite(folder: Path, num_episodes: int) -> None:
    """Links where there are real episodes, else one drawn episode after the other."""
    from wbgpu.cli.demo_suite import draw_episode
    from wbgpu.video.encode import write_video

    generator = np.random.default_rng(0)
    for side, source in (("gt", "gt"), ("predictions", "step00900")):
        (folder / side).mkdir(parents=True)
        files = sorted((BRIDGE / source).glob("*.mp4"))
        for index in range(num_episodes):
            path = folder / side / f"{index:05}.mp4"
            if files:
                path.symlink_to(files[index % len(files)])
            else:
                write_video(path, draw_episode(generator, 24 + index % 25), fps=5)


@contextmanager
def pinned(num_cores: int) -> Iterator[None]:
    """Give what is started meanwhile so many cores."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(cores)[:num_cores])
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def timed(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
