"""Measures what README.md claims; writes claims.json, and README.md with its table.

    python scripts/verify_claims.py [SUITE] [--output artifacts/claims]
    python scripts/verify_claims.py [SUITE] --only CLAIM ...    # writes nothing without --output

SUITE holds gt/ and folders of predictions, with 4 context frames; without it, the episodes that
`wbgpu demo` draws. Every claim is measured through the commands and the public Python interface.
Exit 0: all claims hold; 1: one does not. Three minutes on two cores with ten episodes of 20 frames.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from claims import behaviour, equality
from claims.runs import Finding, Suite, make_suite
from machine import machine

REPOSITORY = Path(__file__).resolve().parents[1]
CLAIMS: Mapping[str, tuple[str, Callable[[Suite], Finding]]] = {
    "worldbench": (
        "results and gates agree with worldbench 0.4.1 to 1e-5",
        equality.agrees_with_worldbench,
    ),
    "numbers": (
        "results do not depend on batching or threads",
        equality.same_numbers_however_it_runs,
    ),
    "processes": (
        "the same bytes from one process and two, with a profile, and without an ffmpeg program",
        equality.same_bytes_however_it_runs,
    ),
    "resume": ("a run that was killed ends with the same bytes", equality.same_bytes_after_kills),
    "training": (
        "WorldModelEvalCallback changes no bit of the training",
        equality.training_is_undisturbed,
    ),
    "sweep": ("a sweep goes on when a job fails", behaviour.sweep_goes_on),
    "damage": (
        "damaged videos and those of another length are named, the others scored, and no gate "
        "passes the result",
        behaviour.damage_is_named,
    ),
    "exit_codes": (
        "the gate exits with 0 (PASS), 1 (FAIL), 2 (bad input), 3 (INCONCLUSIVE)",
        behaviour.gate_exit_codes,
    ),
    "regret": (
        "the counting learner kt fails against action_blind",
        behaviour.counting_learner_fails,
    ),
    "conformance": (
        "published and closed-form values are computed again",
        behaviour.installation_conforms,
    ),
    "start_up": ("a whole eval-batch from a cold start", behaviour.starts_in_seconds),
}


def table(document: Mapping[str, Any]) -> str:
    """README.md of the artifacts, from claims.json."""
    machine = document["machine"]
    rows = [
        f"| {one['claim']} | {one['measured']} | {'yes' if one['holds'] else 'NO'} |"
        for one in document["claims"].values()
    ]
    lines = [
        "# Claims of the README, measured",
        "",
        "Made by `scripts/verify_claims.py` from `claims.json`, which has every number and digest. "
        f"Suite: {document['suite']}. {machine['num_cores']} cores ({machine['processor']}), "
        f"Python {machine['python']}, torch {machine['torch']}.",
        "",
        "| claim | measured | holds |",
        "| --- | --- | --- |",
        *rows,
    ]
    return "\n".join(lines) + "\n"


def measured(suite: Suite, names: list[str]) -> Iterator[tuple[str, Finding]]:
    for name in names:
        claim, measure = CLAIMS[name]
        begin = time.perf_counter()
        finding = {"claim": claim, **measure(suite)}
        seconds = time.perf_counter() - begin
        print(f"{'holds' if finding['holds'] else 'DOES NOT HOLD'}: {claim} ({seconds:.0f} s)")
        print(f"    {finding['measured']}", flush=True)
        yield name, finding


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("suite", type=Path, nargs="?", help="folder with gt/ and predictions")
    parser.add_argument("--output", type=Path, help="folder [default: artifacts/claims]")
    parser.add_argument(
        "--only", nargs="+", choices=CLAIMS, metavar="CLAIM", help=", ".join(CLAIMS)
    )
    settings = parser.parse_args()
    os.environ["PYTHONWARNINGS"] = "ignore"
    with tempfile.TemporaryDirectory() as folder:
        suite = make_suite(settings.suite and settings.suite.resolve(), Path(folder))
        claims = dict(measured(suite, settings.only or list(CLAIMS)))
    holds = all(finding["holds"] for finding in claims.values())
    output = settings.output or (None if settings.only else REPOSITORY / "artifacts/claims")
    if output is not None:
        write(output, suite, claims)
    return 0 if holds else 1


def write(output: Path, suite: Suite, claims: Mapping[str, Finding]) -> None:
    packages = ("wbgpu", "worldbench", "torch", "lightning", "numpy", "numba", "scikit-image")
    document = {"suite": suite.name, "machine": machine(packages), "claims": claims}
    output.mkdir(parents=True, exist_ok=True)
    text = json.dumps(document, indent=1, allow_nan=False) + "\n"
    (output / "claims.json").write_text(text, encoding="utf-8")
    (output / "README.md").write_text(table(document), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
