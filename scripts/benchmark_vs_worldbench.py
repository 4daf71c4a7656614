"""wbgpu against worldbench 0.4.1 on the same episodes, interleaved in one run.

In process: one long-lived process per tool (imports done, warmed up on a short episode), asked in
turn to evaluate the same folders; wall and CPU time are medians over rounds. worldbench runs at its
best: scikit-image installed and glibc told not to give memory back, which halves its time.
Cold start: the whole command in a fresh process, with its peak memory.
Start-up: `import torch` against `import torch` and all that an evaluation imports.

    python scripts/benchmark_vs_worldbench.py [--quick] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from machine import machine

WORLDBENCH_ENVIRONMENT = {
    "MALLOC_MMAP_THRESHOLD_": "1000000000",
    "MALLOC_TRIM_THRESHOLD_": "1000000000",
}
NUM_CONTEXT = 0
MAX_SCORE_DIFFERENCE = 1e-5
_WORKER_FLAG = "--worker"


def make_suite(folder: Path, num_steps: int, num_episodes: int, size: int) -> None:
    """Textured scenes under a slow camera pan; predictions with noise and a lag."""
    from PIL import Image

    from wbgpu.video.encode import write_video

    generator = np.random.default_rng(num_steps)
    for index in range(num_episodes):
        coarse = generator.integers(0, 256, (size // 6, size // 6, 3), dtype=np.uint8)
        side = size + num_steps + 2
        scene = np.asarray(Image.fromarray(coarse).resize((side, side), Image.Resampling.BICUBIC))
        truth = np.stack([scene[t : t + size, t : t + size] for t in range(num_steps)])
        lagged = np.stack([scene[t + 1 : t + 1 + size, t : t + size] for t in range(num_steps)])
        noise = generator.normal(0, 4, lagged.shape)
        prediction = np.clip(lagged + noise, 0, 255).astype(np.uint8)
        write_video(folder / "gt" / f"{index}.mp4", truth, fps=10)
        write_video(folder / "predictions" / f"{index}.mp4", prediction, fps=10)


def serve(tool: str) -> None:
    """A worker: reads folders from standard input, evaluates, answers with seconds and score."""
    if tool == "wbgpu":
        from wbgpu import sdk
        from wbgpu.cli.eval_batch import save_batch
        from wbgpu.evaluation import run  # noqa: F401  (imports done before the clock starts)

        def evaluate(folder: Path) -> float:
            result = sdk.evaluate(folder / "gt", folder / "predictions", num_context=NUM_CONTEXT)
            # worldbench writes its files as part of the evaluation, so ours are written too.
            save_batch(result, folder / "wbgpu", folder / "wbgpu.json", gate={})
            assert result.summary.overall is not None
            return result.summary.overall.mean

    else:
        import skimage.metrics  # noqa: F401
        from worldbench.runners.regression import evaluate_video_batch

        def evaluate(folder: Path) -> float:
            payload, _ = evaluate_video_batch(
                folder / "gt",
                folder / "predictions",
                skip_context=NUM_CONTEXT,
                output_root=folder / "worldbench",
                output=folder / "worldbench.json",
            )
            return float(payload["aggregate"]["overall"]["mean"])

    for line in sys.stdin:
        wall, cpu = time.perf_counter(), time.process_time()
        score = evaluate(Path(line.strip()))
        answer = {
            "wall_seconds": time.perf_counter() - wall,
            "cpu_seconds": time.process_time() - cpu,
            "score": score,
        }
        print(json.dumps(answer), flush=True)


class Worker:
    """The other end of :func:`serve`."""

    def __init__(self, tool: str) -> None:
        extra = WORLDBENCH_ENVIRONMENT if tool == "worldbench" else {}
        self._process = subprocess.Popen(
            [sys.executable, __file__, _WORKER_FLAG, tool],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **extra},
        )

    def evaluate(self, folder: Path) -> dict[str, float]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{folder}\n")
        self._process.stdin.flush()
        answer: dict[str, float] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        self._process.communicate()


def cold_start(tool: str, folder: Path) -> dict[str, float]:
    """Wall and CPU seconds and peak memory of one whole command in a fresh process."""
    start = {
        "worldbench": "from worldbench.cli import app; app(sys.argv[1:])",
        "wbgpu": "from wbgpu.cli.main import main; main(sys.argv[1:])",
    }[tool]
    # Not wait4's ru_maxrss: it counts the process that started the command, up to exec.
    program = (
        "import atexit, re, sys\n"
        "status = lambda: open('/proc/self/status').read()\n"
        "peak = lambda: re.search('VmHWM:\\\\s+(\\\\d+)', status())[1]\n"
        "atexit.register(lambda: print('PEAK', peak(), file=sys.stderr))\n" + start
    )
    arguments = ["eval-batch", "--ground-truth", folder / "gt"]
    arguments += ["--predictions", folder / "predictions", "--output-root", folder / f"cold-{tool}"]
    arguments += ["--output", folder / f"cold-{tool}.json"]
    extra = WORLDBENCH_ENVIRONMENT if tool == "worldbench" else {}
    wall = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **extra},
    )
    assert process.stderr is not None
    messages = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, f"{tool} failed on {folder}: {messages}"
    return {
        "wall_seconds": time.perf_counter() - wall,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_memory_mb": int(messages.rpartition("PEAK ")[2].split()[0]) / 1024,
    }


def start_up(rounds: int) -> dict[str, float]:
    """Median seconds of importing torch alone, and all that an evaluation imports."""
    programs = {
        "import_torch_seconds": "import torch",
        "import_evaluation_seconds": (
            "import wbgpu.cli.eval_batch\n"
            "from wbgpu.cli.evaluating import quick_imports\n"
            "with quick_imports():\n"
            "    import wbgpu.evaluation.configuration, wbgpu.evaluation.run"
        ),
    }
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(rounds):
        for name, program in programs.items():
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", program], check=True)
            seconds[name].append(time.perf_counter() - begin)
    return {name: statistics.median(values) for name, values in seconds.items()}


def median(rows: list[dict[str, float]], key: str) -> float:
    return statistics.median(row[key] for row in rows)


def measure(quick: bool) -> dict[str, Any]:
    """Everything the report and the figures are made of."""
    # worldbench takes 40 s for one 256x256 episode of 64 steps, so --quick shrinks that one.
    if quick:
        plan = [(16, 1, 256, 3), (64, 1, 128, 1)]
    else:
        plan = [(8, 4, 256, 5), (16, 4, 256, 5), (32, 2, 256, 3), (64, 1, 256, 3)]
    rows = []
    with tempfile.TemporaryDirectory() as root:
        workers = {tool: Worker(tool) for tool in ("worldbench", "wbgpu")}
        warm = Path(root) / "warm"
        make_suite(warm, 4, 1, 256)
        for worker in workers.values():
            worker.evaluate(warm)
            worker.evaluate(warm)
        for num_steps, num_episodes, size, rounds in plan:
            folder = Path(root) / f"t{num_steps}"
            make_suite(folder, num_steps, num_episodes, size)
            times: dict[str, list[dict[str, float]]] = {tool: [] for tool in workers}
            for _ in range(rounds):
                for tool, worker in workers.items():
                    times[tool].append(worker.evaluate(folder))
            row: dict[str, Any] = {
                "num_steps": num_steps,
                "num_episodes": num_episodes,
                "size": size,
                "rounds": rounds,
                "score_difference": times["wbgpu"][0]["score"] - times["worldbench"][0]["score"],
            }
            if abs(row["score_difference"]) > MAX_SCORE_DIFFERENCE:
                raise SystemExit(f"the two tools disagree at T={num_steps}: {row}")
            for tool in workers:
                row[tool] = {
                    key: median(times[tool], key) for key in ("wall_seconds", "cpu_seconds")
                }
            for key in ("wall_seconds", "cpu_seconds"):
                pairs = zip(times["worldbench"], times["wbgpu"], strict=True)
                row[f"{key}_ratio"] = statistics.median(a[key] / b[key] for a, b in pairs)
            if not quick:
                row["cold_start"] = {tool: cold_start(tool, folder) for tool in workers}
            rows.append(row)
            print(_line(row), flush=True)
        for worker in workers.values():
            worker.close()
    return {"rows": rows, "start_up": start_up(2 if quick else 5)}


def _line(row: dict[str, Any]) -> str:
    text = (
        f"T={row['num_steps']:<3} {row['size']}x{row['size']} x{row['num_episodes']} episodes  "
        f"worldbench {row['worldbench']['wall_seconds']:7.2f} s  "
        f"wbgpu {row['wbgpu']['wall_seconds']:6.3f} s  "
        f"wall {row['wall_seconds_ratio']:6.1f}x  cpu {row['cpu_seconds_ratio']:6.1f}x  "
        f"score differs by {row['score_difference']:+.1e}"
    )
    for tool, cold in row.get("cold_start", {}).items():
        text += (
            f"\n      whole command, cold: {tool:<10} {cold['wall_seconds']:7.2f} s wall  "
            f"{cold['cpu_seconds']:7.2f} s CPU  {cold['peak_memory_mb']:6.0f} MB peak"
        )
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="under 45 seconds, fewer rounds")
    parser.add_argument("--json", type=Path, help="write the measurements here")
    parser.add_argument(_WORKER_FLAG, dest="worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        serve(arguments.worker)
        return
    measured = measure(arguments.quick)
    start = measured["start_up"]
    print(
        f"start-up: import torch {start['import_torch_seconds']:.2f} s, with all of an evaluation "
        f"{start['import_evaluation_seconds']:.2f} s"
    )
    document = {
        "benchmark": "wbgpu against worldbench 0.4.1, in process, interleaved",
        "quick": arguments.quick,
        "note": (
            "quick: T=64 at 128x128, where the ratio is lower than at 256x256, because worldbench "
            "needs 40 s for one 256x256 episode of 64 steps"
            if arguments.quick
            else "all at 256x256"
        ),
        "figures": {
            f"speedup_t{row['num_steps']}": row["wall_seconds_ratio"] for row in measured["rows"]
        },
        "machine": machine(("wbgpu", "worldbench", "torch", "numpy", "scikit-image", "decord2")),
        **measured,
    }
    if arguments.json:
        arguments.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
