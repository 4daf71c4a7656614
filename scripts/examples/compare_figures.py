#!/usr/bin/env python3
"""Compare the figures of a reproduced example with the committed ones, within their tolerances.

Usage: compare_figures.py COMMITTED REPRODUCED, two folders with a figures.json. Exit 0: all figures
are within the committed tolerances and all verdicts are the same; 1: not; 2: a file cannot be read.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("committed", "reproduced"):
        parser.add_argument(name, type=Path)
    folders = parser.parse_args()
    try:
        committed, reproduced = (
            read(folder / "figures.json") for folder in (folders.committed, folders.reproduced)
        )
    except (OSError, ValueError) as error:
        print(f"compare_figures.py: {error}", file=sys.stderr)
        return 2
    outside = compare_values(committed["figures"], reproduced["figures"])
    changed = compare_verdicts(committed["verdicts"], reproduced["verdicts"])
    print(
        f"{outside} of {len(committed['figures'])} figures outside their tolerance, "
        f"{changed} of {len(committed['verdicts'])} verdicts changed"
    )
    return 1 if outside or changed else 0


def read(path: Path) -> dict[str, Any]:
    """Figures and verdicts.

    Raises:
        ValueError: no JSON, or other JSON than judge.py writes.
    """
    try:
        document = json.loads(path.read_text("utf-8"))
        for figure in document["figures"]:
            for key in ("value", "tolerance"):
                if type(figure[key]) not in (int, float):
                    raise TypeError(f"{key} of {figure['name']} is no number")
        for verdict in document["verdicts"]:
            question(verdict)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: expected figures and verdicts of judge.py ({error!r})") from None
    return document


def compare_values(committed: list[dict[str, Any]], reproduced: list[dict[str, Any]]) -> int:
    """Print all figures; how many are missing or too far from the committed ones."""
    found = {one["name"]: one["value"] for one in reproduced}
    outside = 0
    for figure in committed:
        value = found.get(figure["name"])
        # Not `>`: a value that is not a number must not pass.
        within = value is not None and abs(value - figure["value"]) <= figure["tolerance"]
        outside += not within
        print(
            f"{figure['name']:48} committed {figure['value']:<12.6g} reproduced "
            f"{'missing' if value is None else format(value, '<12.6g')} "
            f"tolerance {figure['tolerance']:<10.4g} {'' if within else 'OUTSIDE'}"
        )
    return outside


def compare_verdicts(committed: list[dict[str, Any]], reproduced: list[dict[str, Any]]) -> int:
    """Print all verdicts; how many are not the committed ones."""
    found = {question(one): statuses(one) for one in reproduced}
    changed = 0
    for verdict in committed:
        now = found.get(question(verdict))
        same = now == statuses(verdict)
        changed += not same
        print(f"{question(verdict)}: {statuses(verdict)}{'' if same else f' CHANGED to {now}'}")
    return changed


def question(verdict: dict[str, Any]) -> str:
    parts = [verdict.get("part"), verdict["baseline"], "to", verdict["candidate"]]
    return " ".join(part for part in parts if part)


def statuses(verdict: dict[str, Any]) -> dict[str, str]:
    names = ("status", "worldbench", "noninferiority")
    return {name: verdict[name] for name in names if name in verdict}


if __name__ == "__main__":
    sys.exit(main())
