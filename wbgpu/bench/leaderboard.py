"""Finished scored sessions by world; practice is never among them."""

from __future__ import annotations

import json
import math
from typing import Any

from wbgpu.bench.problems import RefusedError
from wbgpu.bench.sessions import Bench

MAX_ROWS = 1000
"""Rows per world: a page of more is none that anybody reads."""


def leaderboard(bench: Bench) -> dict[str, Any]:
    """Per world ``num_sessions`` and the first :data:`MAX_ROWS` ``rows`` of them.

    Those with the least expected regret per step come first, infinite ones last.

    Args:
        bench: whose sessions they are. Finished ones that nobody has asked the result of are
            scored by this.
    """
    return {"worlds": [_world(bench, w.schema.world, w.sha256) for w in bench.key.worlds]}


def _world(bench: Bench, name: str, sha256: str) -> dict[str, Any]:
    for row in bench.store.finished(name, scored=False):
        try:
            bench.scored(row)
        except RefusedError:
            # The world has been changed since; there is no answer key any more.
            continue
    documents = [json.loads(row["document"]) for row in bench.store.finished(name, scored=True)]
    rows = [_row(document) for document in documents if document["world_sha256"] == sha256]
    ranked = sorted(rows, key=_rank)[:MAX_ROWS]
    return {"name": name, "sha256": sha256, "num_sessions": len(rows), "rows": ranked}


def _row(document: dict[str, Any]) -> dict[str, Any]:
    kept = ("run_id", "name", "seed", "num_steps", "paired_episodes", "finished_at", "num_infinite")
    per_step = document["per_step"]
    return {
        **{key: document[key] for key in kept},
        "expected_regret_nats_per_step": per_step["expected_regret_nats"],
        "regret_nats_per_step": per_step["regret_nats"],
        "floor_nats_per_step": per_step["reference_loss_nats"]["mean"],
    }


def _rank(row: dict[str, Any]) -> tuple[float, float]:
    mean = row["expected_regret_nats_per_step"]["mean"]
    return math.inf if mean is None else mean, row["finished_at"]
