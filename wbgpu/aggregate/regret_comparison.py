"""Compare two regret results, paired by seed: both forecast the very same episodes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from wbgpu.aggregate.detectable_effect import minimum_detectable_effect
from wbgpu.aggregate.regret_summary import t_interval
from wbgpu.errors import IncompatibleResultsError
from wbgpu.records.regret import INTERVAL_LEVEL, EpisodeRegret, RegretResult
from wbgpu.records.regret_comparison import HorizonNatsChange, NatsChange, RegretComparison

_REFERENCE_TOLERANCE = 1e-6


def compare_regret(
    baseline: RegretResult, candidate: RegretResult, *, level: float = INTERVAL_LEVEL
) -> RegretComparison:
    """Compare two results; change is candidate - baseline, in nats per step.

    Args:
        baseline, candidate: of the same episodes.
        level: confidence of the intervals of the paired differences, between 0 and 1.

    Raises:
        IncompatibleResultsError: another world, other seeds, another number of steps, or episodes
            in which something else happened.
        ConfigurationError: ``level`` is out of range.
    """
    pairs = _pairs(baseline, candidate)
    num_steps = baseline.num_steps
    expected, realised = (
        [
            tuple(getattr(e.totals, f"{kind}_regret_nats") / num_steps for e in pair)
            for pair in pairs
        ]
        for kind in ("expected", "cumulative")
    )
    changes = [after - before for before, after in expected]
    is_finite = all(map(math.isfinite, changes))
    return RegretComparison(
        baseline=baseline,
        candidate=candidate,
        expected=_change(
            baseline.expected_regret_per_step.mean,
            candidate.expected_regret_per_step.mean,
            expected,
            level,
        ),
        realised=_change(
            baseline.regret_per_step.mean, candidate.regret_per_step.mean, realised, level
        ),
        per_variable={
            name: _change(
                before.expected_regret_nats / num_steps,
                candidate.per_variable[name].expected_regret_nats / num_steps,
            )
            for name, before in baseline.per_variable.items()
        },
        horizons=tuple(
            _horizon(
                before.horizon,
                before.prefix_expected_regret.mean,
                after.prefix_expected_regret.mean,
            )
            for before, after in zip(baseline.horizons, candidate.horizons, strict=True)
        ),
        minimum_detectable_effect=minimum_detectable_effect(changes) if is_finite else None,
    )


def _pairs(
    baseline: RegretResult, candidate: RegretResult
) -> list[tuple[EpisodeRegret, EpisodeRegret]]:
    for what, before, after in (
        ("worlds", baseline.world, candidate.world),
        ("worlds (sha256)", baseline.world_sha256, candidate.world_sha256),
        ("numbers of steps", baseline.num_steps, candidate.num_steps),
        ("variables", tuple(baseline.per_variable), tuple(candidate.per_variable)),
    ):
        if before != after:
            raise IncompatibleResultsError(
                f"baseline and candidate have different {what}: {before} and {after}; play both in "
                "the same world for as many steps"
            )
    if different := sorted(set(baseline.seeds) ^ set(candidate.seeds)):
        raise IncompatibleResultsError(
            "baseline and candidate have different seeds: "
            f"{len(different)} are on one side only, such as {different[0]}; regret is compared "
            "episode by episode, so play the same seeds"
        )
    by_seed = {episode.seed: episode for episode in candidate.episodes}
    pairs = [(episode, by_seed[episode.seed]) for episode in baseline.episodes]
    for episode, other in pairs:
        losses = episode.totals.reference_loss_nats, other.totals.reference_loss_nats
        if not math.isclose(*losses, rel_tol=_REFERENCE_TOLERANCE, abs_tol=_REFERENCE_TOLERANCE):
            raise IncompatibleResultsError(
                f"seed {episode.seed}: baseline and candidate saw different outcomes (reference "
                f"losses {losses[0]:.6g} and {losses[1]:.6g} nats), so they cannot be paired; the "
                "worlds were played with different secrets or policies"
            )
    return pairs


def _change(
    baseline: float,
    candidate: float,
    pairs: Sequence[tuple[float, ...]] = (),
    level: float = INTERVAL_LEVEL,
) -> NatsChange:
    if math.isinf(baseline) or math.isinf(candidate):
        return NatsChange(baseline, candidate, None)
    interval = None
    if pairs:
        interval = t_interval([after - before for before, after in pairs], level)
    return NatsChange(baseline, candidate, candidate - baseline, interval)


def _horizon(horizon: int, baseline: float, candidate: float) -> HorizonNatsChange:
    change = _change(baseline / horizon, candidate / horizon)
    return HorizonNatsChange(horizon, change.baseline, change.candidate, change.change)
