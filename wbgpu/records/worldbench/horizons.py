"""worldbench's labels of horizons: ``t+1`` is horizon 1."""

from __future__ import annotations

from wbgpu.records.node import Node


def horizon_label(horizon: int) -> str:
    """Label of a 1-based horizon."""
    return f"t+{horizon}"


def horizon_entries(node: Node | None) -> list[Node]:
    """Entries of a ``horizon`` object for t+1, t+2 ... in order, of which none may be missing."""
    if node is None:
        return []
    labels = {horizon_label(horizon) for horizon in range(1, len(node.object()) + 1)}
    if unknown := sorted(set(node.object()) - labels):
        node.fail(f"expected the keys t+1 to t+{len(labels)} without a gap, found {unknown[0]!r}")
    return [node[horizon_label(horizon)] for horizon in range(1, len(labels) + 1)]
