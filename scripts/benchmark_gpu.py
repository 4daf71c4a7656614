"""What the GPU path reaches: fused statistics, copy bandwidth, and a whole evaluation.

Frames are noise, on the GPU, a gibibyte of each video. Jobs run in turn, in another order each
round; times are CUDA events, figures are medians over rounds. Bandwidth: the statistics read each
byte of two videos once; the copy, of torch, reads and writes a gibibyte.

Whole evaluation: files through a decoder and the default metrics, against the same files decoded
by the same loader alone; with the default decoder, and with NVDEC and no search for damage.

    python scripts/benchmark_gpu.py [--output FILE]
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from wbgpu.statistics import GROUPS, FrameBatch, FrameStatistics, frame_statistics, resolve_path

SIZES = ((256, 256), (480, 640))
JOBS = {
    "ssim": frozenset({"squared_error", "ssim_uniform7", "frame_delta"}),
    "deltas": frozenset({"squared_error", "frame_delta"}),
    "default_metrics": GROUPS - {"ssim_gaussian11", "luma_moments"},
}
NUM_ROUNDS = 15
VIDEO_BYTES = 1 << 30
NUM_REFERENCE_FRAMES = 64
NUM_STEPS = 16
DECODERS = {
    "default": ("decoder=auto",),
    "nvdec": ("decoder=pyav_cuda", "decoder.verify=false"),
}
NUM_EPISODES = 4
NUM_EPISODE_FRAMES = 257


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, help="write the measurements here as JSON")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("benchmark_gpu: PyTorch finds no CUDA device, so there is nothing to measure")
    document = measure()
    print(json.dumps(document["figures"], indent=2))
    if arguments.output:
        arguments.output.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def measure() -> dict[str, Any]:
    sizes = {f"{height}x{width}": measure_size(height, width) for height, width in SIZES}
    agreement = {
        f"{height}x{width}": check_bits(height, width) for height, width in (*SIZES, (97, 131))
    }
    whole = {f"{height}x{width}": measure_evaluations(height, width) for height, width in SIZES}
    figures = {f"{name}_{size}": row[name] for size, row in sizes.items() for name in row["names"]}
    figures |= {
        f"fraction_of_decode_{decoder}_{size}": row["fraction_of_decode"]
        for size, rows in whole.items()
        for decoder, row in rows.items()
    }
    return {
        "benchmark": "statistics and evaluation on the GPU",
        "figures": figures,
        "statistics": sizes,
        "agreement": agreement,
        "evaluation": whole,
        "machine": machine(),
    }


def noise_batch(num_frames: int, height: int, width: int) -> FrameBatch:
    """Episodes of 16 steps; predictions are off by up to 20, the context by up to 40."""
    generator = torch.Generator("cuda").manual_seed(0)

    def noise(count: int, low: int, high: int) -> torch.Tensor:
        shape = (count, height, width, 3)
        dtype = torch.int16 if low < 0 else torch.uint8
        return torch.randint(
            low, high, shape, generator=generator, dtype=dtype, device="cuda"
        ).permute(0, 3, 1, 2)

    target = noise(num_frames, 0, 256)
    prediction = torch.empty_like(target)
    for part in range(0, num_frames, 64):
        frames = target[part : part + 64]
        prediction[part : part + 64] = (frames + noise(len(frames), -20, 21)).clamp_(0, 255)
    context = (target[::NUM_STEPS] + noise(len(target[::NUM_STEPS]), -40, 41)).clamp_(0, 255)
    episodes = (num_frames // NUM_STEPS, NUM_STEPS)
    return FrameBatch.from_videos(
        prediction.unflatten(0, episodes),
        target.unflatten(0, episodes),
        context.to(torch.uint8, memory_format=torch.channels_last),
    )


def rows_of(batch: FrameBatch, rows: torch.Tensor) -> FrameBatch:
    return FrameBatch(
        batch.target,
        batch.prediction,
        batch.row[rows],
        batch.previous_row[rows],
        batch.context,
        batch.context_row[rows],
    )


def measure_size(height: int, width: int) -> dict[str, Any]:
    num_values = 3 * height * width
    num_frames = VIDEO_BYTES // num_values // NUM_STEPS * NUM_STEPS
    batch = noise_batch(num_frames, height, width)
    few = rows_of(batch, torch.arange(NUM_REFERENCE_FRAMES, device="cuda"))
    source = batch.target.permute(0, 2, 3, 1)
    copy = torch.empty_like(source)
    jobs: dict[str, Callable[[], object]] = {
        name: lambda groups=groups: frame_statistics(batch, groups)  # type: ignore[misc]
        for name, groups in JOBS.items()
    }
    jobs["copy"] = lambda: copy.copy_(source)
    jobs["reference"] = lambda: frame_statistics(few, JOBS["ssim"], "reference")
    seconds = interleaved_seconds(jobs, cuda_seconds, NUM_ROUNDS)
    median = {name: statistics.median(times) for name, times in seconds.items()}
    copy_bandwidth = 2 * source.numel() / median["copy"]
    read_bandwidth = 2 * source.numel() / median["deltas"]
    names = [f"{name}_pairs_per_second" for name in JOBS]
    names += ["speedup_over_reference", "fraction_of_copy_bandwidth"]
    return {
        **{f"{name}_pairs_per_second": num_frames / median[name] for name in JOBS},
        "reference_pairs_per_second": NUM_REFERENCE_FRAMES / median["reference"],
        "speedup_over_reference": (median["reference"] / NUM_REFERENCE_FRAMES)
        / (median["ssim"] / num_frames),
        "copy_bytes_per_second": copy_bandwidth,
        "deltas_bytes_per_second": read_bandwidth,
        "fraction_of_copy_bandwidth": read_bandwidth / copy_bandwidth,
        "num_frames": num_frames,
        "path": resolve_path("auto", "cuda"),
        "seconds": seconds,
        "names": names,
    }


def interleaved_seconds(
    jobs: Mapping[str, Callable[[], object]],
    time_of: Callable[[Callable[[], object]], float],
    num_rounds: int,
) -> dict[str, list[float]]:
    """Times of every job in every round, after one round to warm up; the order rotates."""
    names = list(jobs)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for index in range(num_rounds + 1):
        shift = index % len(names)
        for name in names[shift:] + names[:shift]:
            elapsed = time_of(jobs[name])
            if index:
                seconds[name].append(elapsed)
    return seconds


def cuda_seconds(job: Callable[[], object]) -> float:
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    start.record()
    job()
    stop.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(stop)) / 1000


def check_bits(height: int, width: int) -> dict[str, Any]:
    """Against the reference, and against itself: again, in another order, and a few alone."""
    batch = noise_batch(NUM_REFERENCE_FRAMES, height, width)
    found = frame_statistics(batch, GROUPS)
    order = torch.randperm(NUM_REFERENCE_FRAMES, device="cuda")
    for rows in (torch.arange(NUM_REFERENCE_FRAMES, device="cuda"), order, order[:5]):
        other = frame_statistics(rows_of(batch, rows), GROUPS)
        assert differing_fields(found[rows], other) == [], "the bits depend on the batch"
    reference = frame_statistics(batch, GROUPS, "reference")
    inexact = {"ssim", "dynamic_ssim_sum"}
    wrong = set(differing_fields(found, reference)) - inexact
    assert not wrong, f"not the reference's: {wrong}"
    error = (found.require("ssim") - reference.require("ssim")).abs().max().item()
    assert error <= 1e-6, error
    return {"max_abs_ssim_error": error, "same_bits": True}


def differing_fields(first: FrameStatistics, second: FrameStatistics) -> list[str]:
    return [
        name
        for name, value in first.present().items()
        if not torch.equal(value.nan_to_num(), second.require(name).nan_to_num())
    ]


def measure_evaluations(height: int, width: int) -> dict[str, dict[str, Any]]:
    from benchmark_pipeline import repeated, source_episodes, write_suite

    episodes, content = source_episodes()
    episodes = [repeated(episode, NUM_EPISODE_FRAMES) for episode in episodes[:NUM_EPISODES]]
    with tempfile.TemporaryDirectory() as folder:
        write_suite(Path(folder), episodes, height, width)
        return {
            name: {**measure_evaluation(Path(folder), overrides), "content": content}
            for name, overrides in DECODERS.items()
        }


def measure_evaluation(folder: Path, overrides: Sequence[str]) -> dict[str, Any]:
    from wbgpu import sdk

    def whole() -> None:
        result = sdk.evaluate(
            folder / "gt",
            folder / "predictions",
            num_context=1,
            device="cuda",
            overrides=overrides,
        )
        assert not result.failed_episodes

    jobs = {"decode": lambda: decode(folder, overrides), "whole": whole}
    seconds = interleaved_seconds(jobs, wall_seconds, 3)
    num_pairs, decoded_by = decode(folder, overrides)
    pairs = zip(seconds["decode"], seconds["whole"], strict=True)
    return {
        "fraction_of_decode": statistics.median(alone / all_ for alone, all_ in pairs),
        "pairs_per_second": num_pairs / statistics.median(seconds["whole"]),
        "decode_only_pairs_per_second": num_pairs / statistics.median(seconds["decode"]),
        "num_pairs": num_pairs,
        "decoded_by": decoded_by,
        "seconds": seconds,
    }


def decode(folder: Path, overrides: Sequence[str]) -> tuple[int, str]:
    """The evaluation's loader without an evaluation: frame pairs, and what decoded them."""
    from wbgpu.evaluation.configuration import compose, request_from
    from wbgpu.video.loader import WindowLoader
    from wbgpu.video.windows import EpisodeFailed, EpisodeOpened, EpisodeSource, Window

    values = {
        "suite.ground_truth": str(folder / "gt"),
        "suite.predictions": str(folder / "predictions"),
        "suite.num_context": 1,
        "device": "cuda",
    }
    request = request_from(compose(list(overrides), values))
    loader = WindowLoader(
        [EpisodeSource(i, p.ground_truth, p.prediction) for i, p in enumerate(request.pairs())],
        decoder=request.decoder,
        num_context=request.num_context,
        policy=request.alignment,
        device="cuda",
    )
    num_pairs, decoded_by = 0, ""
    for item in loader:
        assert not isinstance(item, EpisodeFailed), item
        if isinstance(item, EpisodeOpened):
            info = item.alignment.prediction
            decoded_by = f"{info.backend} on {info.device}: {info.fallback_reason or 'as asked'}"
        elif isinstance(item, Window):
            num_pairs += len(item.step)
    return num_pairs, decoded_by


def wall_seconds(job: Callable[[], object]) -> float:
    torch.cuda.synchronize()
    start = time.perf_counter()
    job()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def machine() -> dict[str, Any]:
    packages: Sequence[str] = ("wbgpu", "torch", "triton", "av")
    return {
        "gpu": torch.cuda.get_device_name(),
        "compute_capability": ".".join(map(str, torch.cuda.get_device_capability())),
        "cuda": torch.version.cuda,
        "python": platform.python_version(),
        **{package: version(package) for package in packages},
    }


if __name__ == "__main__":
    main()
