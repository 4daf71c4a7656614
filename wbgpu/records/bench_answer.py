"""What a bench answers for a finished session, which is not a result that can be compared here."""

from __future__ import annotations

from typing import Any

_KEYS = frozenset({"run_id", "env", "world_sha256", "practice", "cumulative_regret_nats"})


def is_bench_answer(document: Any) -> bool:
    """Whether it is what ``wbgpu bench play --output`` wrote."""
    return isinstance(document, dict) and "result_type" not in document and document.keys() >= _KEYS
