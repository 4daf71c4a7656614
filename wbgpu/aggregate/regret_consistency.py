"""Refuse a regret result whose numbers contradict each other."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from wbgpu.aggregate.regret_summary import summarize_regret
from wbgpu.errors import ConfigurationError, ResultFileError
from wbgpu.records.regret import EpisodeRegret, RegretResult, RegretTotals
from wbgpu.records.regret_file import regret_payload

TOLERANCE = 1e-9
"""Numbers may differ by this, or by this fraction of themselves."""


def check_regret(result: RegretResult, path: str | Path) -> None:
    """Recompute every total and mean from the steps.

    Args:
        result: as :func:`wbgpu.records.regret_file.parse_regret` read it.
        path: the file, named in errors.

    Raises:
        ResultFileError: a number does not follow from the others; the message names the place.
    """
    for index, episode in enumerate(result.episodes):
        _check_episode(episode, f"$.seeds[{index}]", path)
    try:
        expected = summarize_regret(
            result.episodes,
            producer=result.producer,
            created_at=result.created_at,
            world=result.world,
            world_sha256=result.world_sha256,
            contestant=result.contestant,
        )
    except ConfigurationError as error:
        raise ResultFileError(path, "$.seeds", str(error)) from None
    stated, wanted = regret_payload(result), regret_payload(expected)
    for key in ("configuration", "environment", "command", "seeds"):
        del stated[key], wanted[key]
    _check_same(stated, wanted, "$", path)


def _check_episode(episode: EpisodeRegret, place: str, path: str | Path) -> None:
    totals = episode.totals
    for steps, num_infinite, finite in (
        (episode.step_regret_nats, "num_infinite", "finite_regret_nats"),
        (
            episode.step_expected_regret_nats,
            "num_infinite_expected",
            "finite_expected_regret_nats",
        ),
    ):
        wanted = math.fsum(step for step in steps if math.isfinite(step))
        _check_same(getattr(totals, finite), wanted, f"{place}.{finite}", path)
        wanted = sum(map(math.isinf, steps))
        _check_same(getattr(totals, num_infinite), wanted, f"{place}.{num_infinite}", path)
    num_steps = len(episode.step_regret_nats)
    _check_totals(totals, num_steps, place, path)
    for name, part in episode.per_variable.items():
        _check_totals(part, num_steps, f"{place}.per_variable.{name}", path)
    parts = list(episode.per_variable.values())
    for key in ("cumulative_regret_nats", "expected_regret_nats", "reference_loss_nats"):
        wanted = math.fsum(getattr(part, key) for part in parts)
        _check_same(getattr(totals, key), wanted, f"{place}.{key}", path)
    for key in ("num_infinite", "num_infinite_expected"):
        counts = [getattr(part, key) for part in parts]
        if not max(counts, default=0) <= getattr(totals, key) <= sum(counts):
            raise ResultFileError(path, f"{place}.{key}", "does not follow from those of variables")


def _check_totals(totals: RegretTotals, num_steps: int, place: str, path: str | Path) -> None:
    infinite, infinite_expected = totals.num_infinite > 0, totals.num_infinite_expected > 0
    regret = math.inf if infinite else totals.finite_regret_nats
    for key, wanted in (
        ("cumulative_regret_nats", regret),
        (
            "expected_regret_nats",
            math.inf if infinite_expected else totals.finite_expected_regret_nats,
        ),
        ("log_loss_nats", regret + totals.reference_loss_nats),
    ):
        _check_same(getattr(totals, key), wanted, f"{place}.{key}", path)
    lowest = -TOLERANCE * num_steps
    for key, bound in (
        ("reference_loss_nats", lowest),
        ("log_loss_nats", lowest),
        ("finite_expected_regret_nats", lowest),
    ):
        if getattr(totals, key) < bound:
            raise ResultFileError(path, f"{place}.{key}", "expected a number >= 0")


def _check_same(stated: Any, wanted: Any, place: str, path: str | Path) -> None:
    if isinstance(stated, dict) and isinstance(wanted, dict):
        if different := sorted(set(stated) ^ set(wanted)):
            raise ResultFileError(path, place, f"{different[0]!r} is not in all of the seeds")
        for key, value in stated.items():
            _check_same(value, wanted[key], f"{place}.{key}", path)
    elif isinstance(stated, list) and isinstance(wanted, list) and len(stated) == len(wanted):
        for index, pair in enumerate(zip(stated, wanted, strict=True)):
            _check_same(*pair, f"{place}[{index}]", path)
    elif not _is_close(stated, wanted):
        raise ResultFileError(
            path,
            place,
            f"the file says {_text(stated)}, but its steps give {_text(wanted)}; the file was "
            "changed after it was made, or is damaged",
        )


def _is_close(stated: Any, wanted: Any) -> bool:
    if isinstance(stated, float) and isinstance(wanted, (int, float)):
        return math.isclose(stated, wanted, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(stated == wanted)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return f"{len(value)} entries"
    return "null (infinite)" if value is None or value == math.inf else repr(value)
