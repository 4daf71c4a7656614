"""worldbench's one-line judgement of an evaluation (``main_failure``)."""

from __future__ import annotations

from collections.abc import Mapping

_STRONG = 85.0
_SENTENCES = {
    "visual_similarity": "Predicted frames look unlike the true ones.",
    "action_consistency": "Predicted motion does not follow the robot's actions.",
    "temporal_stability": "The prediction flickers or jumps.",
    "object_permanence": "Objects vanish from the prediction.",
    "contact_realism": "Predicted objects move before the robot touches them.",
}


def main_failure(scores: Mapping[str, float | None]) -> str:
    """Sentence about the lowest of ``scores`` (by metric name, ``None`` where unavailable)."""
    if not scores:
        return "No metric was run."
    available = {name: score for name, score in scores.items() if score is not None}
    if not available:
        return "No metric is available."
    lowest = min(available, key=lambda name: available[name])
    if available[lowest] < _STRONG:
        return _SENTENCES.get(lowest, f"The weakest metric is {lowest}.")
    if unsupported := len(scores) - len(available):
        return f"No available metric is weak; {unsupported} are unsupported."
    return "No metric is weak."
