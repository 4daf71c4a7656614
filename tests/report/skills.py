"""Results with a skill against persistence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tests.records.results import available, episode, suite, unsupported
from wbgpu.records.suite import SuiteResult


def with_skill(steps: Sequence[Sequence[float | None]], name: str = "step00060") -> SuiteResult:
    """One episode for each row of step skills."""
    episodes = [
        episode(
            f"episode_{index}.mp4",
            [
                available("visual_similarity", [70.0 + index] * len(row)),
                available("skill_persistence", list(row), value=_last(row), step=tuple(row)),
                unsupported("skill_persistence_dynamic", "nothing moves"),
            ],
            num_steps=len(row),
        )
        for index, row in enumerate(steps)
    ]
    found = suite(episodes, checkpoint_name=name)
    infos = {
        metric: replace(info, unit="skill") if "skill" in metric else info
        for metric, info in found.metric_infos.items()
    }
    return replace(found, metric_infos=infos)


def _last(row: Sequence[float | None]) -> float:
    return next(value for value in reversed(row) if value is not None)
