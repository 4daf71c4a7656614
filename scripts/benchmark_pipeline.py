"""Is a whole evaluation as fast as decoding? Both in one process, interleaved, on two cores.

Decode only: the evaluation's own loader with the default decoder, over the same files; every frame
is decoded, checked for damage, converted to RGB and dropped. Whole: `wbgpu.evaluate` with the
default metrics, result and report written, as `wbgpu eval` does it. Each round runs both, in turn
the one and the other first; figures are medians over rounds of the ratio decode-only seconds /
whole seconds.

Suites of 40 episodes, each of ten four times, and for 256x256 also of the ten alone, where an
evaluation's fixed costs (about 0.06 s) weigh.

Videos: the ten BridgeData V2 episodes beside the repository (22 to 49 frames, 256x256, H.264 as
distributed), else drawn scenes under a slow pan. Predictions lag one frame behind and are H.264 at
x264's default quality (crf 23). For 480x640 both sides are scaled up (bicubic) and encoded so.

Linear: 256x256 episodes of T frames, made by going through an episode forth and back. One in a
run, where an evaluation's fixed costs count fully; and as many as make 1,024 steps, so that all
runs have the same length and what differs is the cost of an episode and of its frames.
Memory: peak of a fresh process (VmHWM) when all is measured and when the result is written, with a
short and a long episode, few and many. Frames stream; the result, 10 kB a step, does not.

    python scripts/benchmark_pipeline.py [--quick] [--output FILE]
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from machine import machine

NUM_CORES = 2
NUM_CONTEXT = 1
CRF = 23
LENGTHS = (64, 256, 1024)
BRIDGE = Path(__file__).resolve().parents[2] / "shared/data/bridge"
Frames = npt.NDArray[np.uint8]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="about a minute, fewer rounds")
    parser.add_argument("--output", type=Path, help="write the measurements here as JSON")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--peak", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    # Set here, children inherit it.
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:NUM_CORES])
    if arguments.worker:
        serve()
    elif arguments.peak:
        print(json.dumps(evaluate(arguments.peak)))
    else:
        document = measure(arguments.quick)
        if arguments.output:
            arguments.output.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def measure(quick: bool) -> dict[str, Any]:
    rounds = 5 if quick else 15
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root)
        episodes, content = source_episodes()
        rows = {}
        worker = Worker()
        for name, height, width, times in (
            ("256", 256, 256, 4),
            ("480x640", 480, 640, 4),
            ("256_ten_episodes", 256, 256, 1),
        ):
            write_suite(folder / name, episodes * times, height, width)
            row = rows[name] = compare(worker, folder / name, rounds)
            print(
                f"{height}x{width}  {row['num_episodes']} episodes, {row['num_frames']} frames a "
                f"side  decode only {row['decode_seconds']:.3f} s  "
                f"whole {row['whole_seconds']:.3f} s  "
                f"fraction of decode {row['fraction_of_decode']:.2f} "
                f"(CPU seconds {row['cpu_fraction_of_decode']:.2f})",
                flush=True,
            )
        linear = measure_linear(worker, folder, episodes[0], 3 if quick else 9)
        worker.close()
        memory = measure_memory(folder, episodes, quick)
    return {
        "benchmark": "whole evaluation against decoding alone, interleaved",
        "fraction_of_decode_256": rows["256"]["fraction_of_decode"],
        "fraction_of_decode_480x640": rows["480x640"]["fraction_of_decode"],
        "fraction_of_decode_256_ten_episodes": rows["256_ten_episodes"]["fraction_of_decode"],
        "quick": quick,
        "content": content,
        "rounds": rounds,
        "sizes": rows,
        "linear": linear,
        "memory": memory,
        "machine": {
            **machine(("wbgpu", "torch", "numpy", "av", "numba")),
            "num_cores_used": NUM_CORES,
        },
    }


def compare(worker: Worker, folder: Path, rounds: int) -> dict[str, Any]:
    jobs = ("decode", "whole")
    times: dict[str, list[dict[str, float]]] = {job: [] for job in jobs}
    for job in jobs * 2:
        worker.run(job, folder)
    for index in range(rounds):
        for job in jobs if index % 2 else reversed(jobs):
            times[job].append(worker.run(job, folder))
    pairs = list(zip(times["decode"], times["whole"], strict=True))
    return {
        "num_episodes": len(list((folder / "gt").iterdir())),
        "num_frames": int(times["decode"][0]["num_frames"]),
        "decode_seconds": statistics.median(row["seconds"] for row in times["decode"]),
        "whole_seconds": statistics.median(row["seconds"] for row in times["whole"]),
        "fraction_of_decode": statistics.median(a["seconds"] / b["seconds"] for a, b in pairs),
        "cpu_fraction_of_decode": statistics.median(
            a["cpu_seconds"] / b["cpu_seconds"] for a, b in pairs
        ),
    }


def measure_linear(worker: Worker, folder: Path, frames: Frames, rounds: int) -> dict[str, Any]:
    """Cost a frame by T: of one episode in a run, and of so many that all runs have one length."""
    longest = LENGTHS[-1]
    cases = [(length, 1) for length in LENGTHS]
    cases += [(length, longest // length) for length in LENGTHS[:-1]]
    folders = {case: folder / f"linear{case[0]}x{case[1]}" for case in cases}
    for (length, count), suite in folders.items():
        write_suite(suite, [repeated(frames, length + NUM_CONTEXT)] * count, 256, 256)
    found: dict[tuple[int, int], dict[str, list[dict[str, float]]]] = {
        case: {"decode": [], "whole": []} for case in cases
    }
    for index in range(rounds + 1):
        start = index % len(cases)
        for case in cases[start:] + cases[:start]:
            for job, answers in found[case].items():
                answer = worker.run(job, folders[case])
                if index:
                    answers.append(answer)

    def rows(chosen: list[tuple[int, int]]) -> list[dict[str, float]]:
        """Each against the first, in the same round."""
        table = []
        for length, count in chosen:
            row: dict[str, float] = {"num_steps": length, "num_episodes": count}
            for job in ("decode", "whole"):
                for key in ("seconds", "cpu_seconds"):
                    mine = [a[key] / (length * count) for a in found[length, count][job]]
                    (length_0, count_0) = chosen[0]
                    first = [a[key] / (length_0 * count_0) for a in found[chosen[0]][job]]
                    row[f"{job}_{key}_per_frame"] = statistics.median(mine)
                    row[f"{job}_{key}_against_proportional"] = statistics.median(
                        a / b for a, b in zip(mine, first, strict=True)
                    )
            table.append(row)
            print(
                f"T={length:<5} {count:2} episode(s)  whole "
                f"{1e3 * row['whole_seconds_per_frame']:.2f} ms a frame, "
                f"{row['whole_seconds_against_proportional']:.2f} of proportional "
                f"(CPU {row['whole_cpu_seconds_against_proportional']:.2f})  decode only "
                f"{row['decode_seconds_against_proportional']:.2f} "
                f"(CPU {row['decode_cpu_seconds_against_proportional']:.2f})",
                flush=True,
            )
        return table

    alone = rows([(length, 1) for length in LENGTHS])
    add_marginal_costs(alone)
    return {
        "one_episode": alone,
        "equal_frames": rows([(length, longest // length) for length in LENGTHS]),
    }


def add_marginal_costs(rows: list[dict[str, float]]) -> None:
    """What a further frame costs: fixed costs make a short run dearer a frame."""
    for shorter, longer in itertools.pairwise(rows):
        totals = [
            row["whole_cpu_seconds_per_frame"] * row["num_steps"] for row in (shorter, longer)
        ]
        cost = (totals[1] - totals[0]) / (longer["num_steps"] - shorter["num_steps"])
        longer["cpu_seconds_per_further_frame"] = cost
        print(
            f"T={shorter['num_steps']} to {longer['num_steps']}: {1e3 * cost:.2f} ms CPU a "
            "further frame",
            flush=True,
        )


def measure_memory(
    folder: Path, episodes: list[Frames], quick: bool
) -> dict[str, dict[str, float]]:
    """Peak megabytes of fresh processes."""
    long, many = (512, 24) if quick else (3000, 100)
    short = episodes[0][:24]
    suites = {
        "short_episode": [short],
        "long_episode": [repeated(episodes[0], long)],
        "few_episodes": [short] * 4,
        "many_episodes": [short] * many,
    }
    peaks: dict[str, dict[str, float]] = {}
    for name, frames in suites.items():
        write_suite(folder / name, frames, 256, 256)
        command = [sys.executable, __file__, "--peak", str(folder / name)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        peaks[name] = json.loads(output.splitlines()[-1])
        print(
            f"memory  {name:<14} {peaks[name]['num_frames']:5} steps  "
            f"{peaks[name]['measured_peak_megabytes']:6.0f} MB peak when measured, "
            f"{peaks[name]['peak_megabytes']:6.0f} MB when written",
            flush=True,
        )
    return peaks


def source_episodes() -> tuple[list[Frames], str]:
    paths = sorted(BRIDGE.glob("*.mp4"))
    if paths:
        from wbgpu.video.pyav import PyavDecoder

        episodes = []
        for path in paths:
            with PyavDecoder().open(path) as reader:
                frames = reader.read(0, reader.info.num_frames)
            episodes.append(np.ascontiguousarray(frames.permute(0, 2, 3, 1).numpy()))
        return episodes, "BridgeData V2"
    from PIL import Image

    generator = np.random.default_rng(0)
    episodes = []
    for num_frames in range(22, 52, 3):
        coarse = generator.integers(0, 256, (24, 24, 3), dtype=np.uint8)
        side = 256 + num_frames
        scene = np.asarray(Image.fromarray(coarse).resize((side, side), Image.Resampling.BICUBIC))
        scene = np.clip(scene + generator.normal(0, 3, scene.shape), 0, 255).astype(np.uint8)
        episodes.append(np.stack([scene[t : t + 256, t : t + 256] for t in range(num_frames)]))
    return episodes, "drawn"


def write_suite(folder: Path, episodes: Iterable[Frames], height: int, width: int) -> None:
    from wbgpu.video.encode import write_video

    written: dict[int, int] = {}
    for index, frames in enumerate(episodes):
        for side in ("gt", "predictions"):
            path = folder / side / f"{index:03}.mp4"
            if (first := written.get(id(frames))) is not None:
                path.hardlink_to(folder / side / f"{first:03}.mp4")
                continue
            sized = scaled(frames, height, width)
            lagging = sized if side == "gt" else np.concatenate([sized[:1], sized[:-1]])
            write_video(path, lagging, fps=5, crf=CRF)
        written.setdefault(id(frames), index)


def scaled(frames: Frames, height: int, width: int) -> Frames:
    from PIL import Image

    if frames.shape[1:3] == (height, width):
        return frames
    images = (Image.fromarray(frame) for frame in frames)
    return np.stack(
        [np.asarray(i.resize((width, height), Image.Resampling.BICUBIC)) for i in images]
    )


def repeated(frames: Frames, length: int) -> Frames:
    forth_and_back = np.concatenate([np.arange(len(frames)), np.arange(len(frames))[-2:0:-1]])
    return frames[np.resize(forth_and_back, length)]


def decode(folder: Path) -> dict[str, float]:
    from wbgpu.evaluation.configuration import compose, request_from
    from wbgpu.video.loader import WindowLoader
    from wbgpu.video.windows import EpisodeFailed, EpisodeSource, Window

    paths = {
        "suite.ground_truth": str(folder / "gt"),
        "suite.predictions": str(folder / "predictions"),
        "suite.num_context": NUM_CONTEXT,
    }
    request = request_from(compose([], paths))
    loader = WindowLoader(
        [EpisodeSource(i, p.ground_truth, p.prediction) for i, p in enumerate(request.pairs())],
        decoder=request.decoder,
        num_context=request.num_context,
        policy=request.alignment,
    )
    num_frames = 0
    for item in loader:
        if isinstance(item, Window):
            num_frames += len(item.step)
        assert not isinstance(item, EpisodeFailed), item
    return {"num_frames": num_frames}


def evaluate(folder: Path) -> dict[str, float]:
    from wbgpu import sdk

    result = sdk.evaluate(
        folder / "gt", folder / "predictions", num_context=NUM_CONTEXT, device="cpu"
    )
    assert not result.failed_episodes
    measured = peak_megabytes()
    sdk.save_result(result, folder / "result.json")
    sdk.write_report(result, folder / "report.md")
    return {
        "num_frames": sum(episode.num_steps for episode in result.episodes),
        "measured_peak_megabytes": measured,
        "peak_megabytes": peak_megabytes(),
    }


def serve() -> None:
    """A worker: reads a job and a folder from standard input, answers with its seconds."""
    jobs = {"decode": decode, "whole": evaluate}
    for line in sys.stdin:
        job, _, folder = line.strip().partition(" ")
        seconds, cpu_seconds = time.perf_counter(), time.process_time()
        found = jobs[job](Path(folder))
        answer = {
            **found,
            "seconds": time.perf_counter() - seconds,
            "cpu_seconds": time.process_time() - cpu_seconds,
        }
        print(json.dumps(answer), flush=True)


class Worker:
    """The other end of :func:`serve`."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, job: str, folder: Path) -> dict[str, float]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{job} {folder}\n")
        self._process.stdin.flush()
        answer: dict[str, float] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        self._process.communicate()


def peak_megabytes() -> float:
    # Not ru_maxrss: it counts the process that started this one, up to exec.
    status = Path("/proc/self/status").read_text()
    match = re.search(r"VmHWM:\s+(\d+)", status)
    assert match
    return int(match[1]) / 1024


if __name__ == "__main__":
    main()
