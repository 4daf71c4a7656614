"""Broken rules of the gate on regret, in words."""

from __future__ import annotations

from wbgpu.records.comparison import Failure
from wbgpu.records.regret_comparison import RegretVerdict
from wbgpu.records.worldbench import horizon_label
from wbgpu.report.numbers import setting, signed_quantity
from wbgpu.report.regret_rows import nats


def regret_failure_line(failure: Failure) -> str:
    """Such as ``Expected regret: 0.9 -> 1.2 (+0.3) nats per step; allowed increase 0``."""
    evidence = failure.evidence
    if failure.kind == "infinite_loss":
        return (
            f"Infinite loss: the candidate ruled out what happened at {evidence['num_infinite']} "
            f"steps, and what could have happened at {evidence['num_infinite_expected']}"
        )
    where = ""
    if failure.kind == "horizon_regret":
        label = horizon_label(evidence["horizon"])
        where = f" at {label}" if evidence["horizon"] == 1 else f" over steps t+1 to {label}"
    line = (
        f"Expected regret{where}: {nats(evidence['baseline'])} -> {nats(evidence['candidate'])} "
        f"({signed_quantity(evidence['change'], 'nats')}) nats per step; allowed increase "
        f"{setting(evidence['allowed_increase'])}"
    )
    if evidence.get("num_horizons", 1) > 1:
        line += (
            f"; largest of {evidence['num_horizons']} increases, between "
            f"{horizon_label(evidence['first_horizon'])} and "
            f"{horizon_label(evidence['last_horizon'])}"
        )
    return line


def regret_limits_line(verdict: RegretVerdict) -> str:
    """The allowed increases, and the increase that is none; of a policy without margins."""
    limits = ", ".join(
        f"{name} {setting(verdict.thresholds[name])}"
        for name in ("max_regret_increase", "max_horizon_regret_increase")
    )
    return (
        f"Thresholds: {limits} nats per step; increases up to {verdict.tolerance:g} count as none "
        "(it is added to each threshold)"
    )


def regret_effect_line(verdict: RegretVerdict) -> str | None:
    """How small a change these episodes can show."""
    comparison = verdict.comparison
    effect = comparison.minimum_detectable_effect
    if effect is None:
        return None
    return (
        f"Minimum detectable effect of these {len(comparison.baseline.episodes)} episodes: "
        f"{nats(effect)} nats per step (Student-t interval, 5 % two-sided, 80 % power)"
    )
