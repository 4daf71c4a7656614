"""Error rates of the gate's statistics, by simulation. Prints tables and writes JSON.

Usage: .venv/bin/python scripts/simulate_gate.py [--runs 4000] [--output FILE.json]

Null distributions have mean 0 and are scaled to standard deviation 1. ``exponential`` is skewed;
``t3`` has heavy tails.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from machine import machine

from wbgpu.aggregate.bootstrap import paired_bootstrap
from wbgpu.aggregate.detectable_effect import minimum_detectable_effect
from wbgpu.aggregate.e_process import sequential_evidence
from wbgpu.aggregate.intervals import mean_interval
from wbgpu.aggregate.max_t import step_down_max_t
from wbgpu.aggregate.paired_sample import PairedSample
from wbgpu.aggregate.sign_flip import sign_flip_p_value
from wbgpu.aggregate.student_t import two_sided_t

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]

DISTRIBUTIONS: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "exponential": lambda rng, shape: rng.exponential(size=shape) - 1.0,
    "t3": lambda rng, shape: rng.standard_t(3, size=shape) / math.sqrt(3.0),
}
SIZES = (10, 20, 50)
NUM_DRAWS = 999
"""Of each bootstrap: fewer than the gate draws, which costs a little accuracy and no bias."""


def coverage(num_runs: int, seed: int = 1) -> Iterator[dict[str, object]]:
    """How often 95 % intervals hold the true mean, and how often each end misses it."""
    for name, draw in DISTRIBUTIONS.items():
        for size in SIZES:
            rng = np.random.default_rng([seed, size])
            hits = dict.fromkeys(("conservative", "bootstrap_t", "student_t", "percentile"), 0)
            wrong_fail = wrong_pass = 0
            for run in range(num_runs):
                changes = draw(rng, (size,)).tolist()
                sample = PairedSample.of(changes)
                for method in ("conservative", "bootstrap_t", "student_t"):
                    found = mean_interval(sample, method=method, num_draws=NUM_DRAWS, seed=run)
                    assert found.lower is not None
                    assert found.upper is not None
                    hits[method] += found.lower <= 0.0 <= found.upper
                    if method == "conservative":
                        wrong_fail += found.upper < 0.0
                        wrong_pass += found.lower >= 0.0
                percentile = paired_bootstrap(changes, num_samples=NUM_DRAWS, seed=run)
                hits["percentile"] += percentile.lower <= 0.0 <= percentile.upper
            yield {
                "distribution": name,
                "num_episodes": size,
                **{method: count / num_runs for method, count in hits.items()},
                "fails_at_the_margin": wrong_fail / num_runs,
                "passes_at_the_margin": wrong_pass / num_runs,
            }


def unchanged(num_runs: int, seed: int = 2) -> Iterator[dict[str, object]]:
    """FAIL rates of an unchanged candidate at a margin of 0.

    Both sides are draws of one skewed distribution plus an episode's own level, so differences are
    symmetric; horizons are correlated. worldbench's rule is a drop of any mean by more than 0.01.
    """
    num_horizons = 16
    for size in SIZES:
        rng = np.random.default_rng([seed, size])
        counts = dict.fromkeys(("composite", "horizons", "either", "worldbench"), 0)
        for run in range(num_runs):
            sides = np.cumsum(rng.exponential(size=(2, size, num_horizons)), axis=2)
            sides /= np.arange(1, num_horizons + 1)
            changes = sides[1] - sides[0]
            last = PairedSample.of(changes[:, -1].tolist())
            found = mean_interval(last, num_draws=NUM_DRAWS, seed=run)
            tests = step_down_max_t(changes, alternative="less", num_flips=NUM_DRAWS, seed=run)
            assert found.lower is not None
            assert found.upper is not None
            is_worse = found.upper < 0.0
            is_worse_somewhere = bool((tests.adjusted_p_values <= 0.025).any())
            counts["composite"] += is_worse
            counts["horizons"] += is_worse_somewhere
            counts["either"] += is_worse or is_worse_somewhere
            counts["worldbench"] += bool((changes.mean(axis=0) < -0.01).any())
        yield {
            "num_episodes": size,
            **{f"fails_{name}": count / num_runs for name, count in counts.items()},
        }


def familywise(num_runs: int, seed: int = 3) -> Iterator[dict[str, object]]:
    """How often max-T finds anything at 5 % where nothing changed, in 2 metrics x 16 horizons."""
    for correlation in (0.0, 0.5, 0.9, 0.99):
        for size in SIZES:
            rng = np.random.default_rng([seed, size, round(100 * correlation)])
            found = found_bonferroni = 0
            for run in range(num_runs):
                noise = rng.normal(size=(size, 2, 16))
                steps = noise.copy()
                for horizon in range(1, 16):
                    steps[..., horizon] = (
                        correlation * steps[..., horizon - 1]
                        + math.sqrt(1 - correlation**2) * noise[..., horizon]
                    )
                tests = step_down_max_t(steps.reshape(size, -1), num_flips=NUM_DRAWS, seed=run)
                found += bool((tests.adjusted_p_values <= 0.05).any())
                found_bonferroni += bool((tests.p_values <= 0.05 / 32).any())
            yield {
                "correlation": correlation,
                "num_episodes": size,
                "familywise_error": found / num_runs,
                "bonferroni": found_bonferroni / num_runs,
            }


def power(num_runs: int, seed: int = 4) -> Iterator[dict[str, object]]:
    """How often a true change is decided that lies a printed detectable effect from the margin.

    A first half of the runs gives the effect that is printed on average, a second half its power.
    """
    for name, draw in DISTRIBUTIONS.items():
        for size in SIZES:
            rng = np.random.default_rng([seed, size])
            noise = draw(rng, (num_runs, size))
            found = []
            for run, changes in enumerate(noise):
                sample = PairedSample.of(changes.tolist())
                estimate = mean_interval(sample, num_draws=NUM_DRAWS, seed=run)
                found.append((estimate, minimum_detectable_effect(sample, estimate=estimate)))
            half = num_runs // 2
            effect = float(np.mean([printed for _, printed in found[:half]]))
            # Intervals move with the data, so shifting the data by the effect shifts the bounds.
            bounds = np.array([(e.lower, e.upper) for e, _ in found[half:]], dtype=np.float64)
            yield {
                "distribution": name,
                "num_episodes": size,
                "printed_effect": effect,
                "passes": float((bounds[:, 0] + effect >= 0.0).mean()),
                "fails": float((bounds[:, 1] - effect < 0.0).mean()),
            }


def sign_flips(num_runs: int, seed: int = 5) -> Iterator[dict[str, object]]:
    """How often the sign-flip test rejects at 5 % what is symmetric about 0."""
    for size in (8, 16, 17, 50):
        rng = np.random.default_rng([seed, size])
        rejected = sum(
            sign_flip_p_value(PairedSample.of(rng.laplace(size=size)), num_flips=999, seed=run)
            <= 0.05
            for run in range(num_runs)
        )
        yield {"num_episodes": size, "rejects": rejected / num_runs}


def clustered(num_runs: int, seed: int = 7) -> Iterator[dict[str, object]]:
    """FAIL and PASS rates at the margin where episodes of a cluster move together.

    Beside them those of plain cluster-robust errors: squares scaled by G / (G - 1), and Student's t
    with G - 1 degrees of freedom, whatever the sizes of the G clusters.
    """
    for sizes in ([5] * 6, [10, 5, 4, 3, 2, 1], [20, 1, 1, 1, 1, 1]):
        for own in (1.0, 0.3):
            rng = np.random.default_rng([seed, sizes[0], round(10 * own)])
            clusters = np.repeat(np.arange(len(sizes)), sizes)
            reach = two_sided_t(0.95, len(sizes) - 1)
            wrong_fail = wrong_pass = plain_fail = plain_pass = 0
            for run in range(num_runs):
                changes = own * rng.normal(size=len(sizes))[clusters]
                changes += math.sqrt(1 - own**2 + 0.01) * rng.normal(size=len(clusters))
                sample = PairedSample.of(changes.tolist(), clusters.tolist())
                found = mean_interval(sample, num_draws=NUM_DRAWS, seed=run)
                assert found.lower is not None
                assert found.upper is not None
                wrong_fail += found.upper < 0.0
                wrong_pass += found.lower >= 0.0
                residuals = sample.sums - sample.counts * sample.mean
                plain = math.sqrt(len(sizes) / (len(sizes) - 1) * np.square(residuals).sum())
                plain_fail += sample.mean + reach * plain / sample.num_episodes < 0.0
                plain_pass += sample.mean - reach * plain / sample.num_episodes >= 0.0
            yield {
                "sizes": "/".join(map(str, sizes)),
                "cluster_deviation": own,
                "fails_at_the_margin": wrong_fail / num_runs,
                "passes_at_the_margin": wrong_pass / num_runs,
                "plain_fails": plain_fail / num_runs,
                "plain_passes": plain_pass / num_runs,
            }


def e_processes(num_runs: int, seed: int = 6) -> Iterator[dict[str, object]]:
    """How often an e-process ever reaches 20 in 200 episodes, watched after each."""
    for name, draw in (*DISTRIBUTIONS.items(), ("laplace", lambda r, s: r.laplace(size=s))):
        for shift in (0.0, 0.3):
            rng = np.random.default_rng([seed, round(10 * shift)])
            ends = [
                sequential_evidence((draw(rng, (200,)) + shift).tolist()) for _ in range(num_runs)
            ]
            decided = [end.decided_after for end in ends if end.decided_after is not None]
            yield {
                "distribution": name,
                "mean": shift,
                "decided": len(decided) / num_runs,
                "median_episodes": float(np.median(decided)) if decided else None,
            }


STUDIES = (coverage, unchanged, familywise, power, sign_flips, clustered, e_processes)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=4000)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    results: dict[str, object] = {"num_runs": arguments.runs, "num_draws": NUM_DRAWS}
    for study in STUDIES:
        print(f"\n{study.__name__}: {(study.__doc__ or '').splitlines()[0]}", flush=True)
        rows = []
        for row in study(arguments.runs):
            if not rows:
                print("  ".join(f"{key:>20}" for key in row))
            rows.append(row)
            cells = (f"{v:.4f}" if isinstance(v, float) else str(v) for v in row.values())
            print("  ".join(f"{cell:>20}" for cell in cells), flush=True)
        results[study.__name__] = rows
    if arguments.output is not None:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        document = {**results, "machine": machine(["numpy"])}
        arguments.output.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
