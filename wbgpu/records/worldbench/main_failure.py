"""worldbench's one-line judgement of an evaluation (``main_failure``)."""

from __future__ import annotations

from collections.abc import Mapping

_STRONG = 85.0
_SENTENCES = {
    "visual_similarity": (
        "The model does not visually match held-out future frames closely enough."
    ),
    "action_consistency": (
        "The model generates plausible-looking frames, but predicted motion does not consistently "
        "follow robot actions."
    ),
    "temporal_stability": (
        "The model flickers or jumps between future frames instead of producing stable dynamics."
    ),
    "object_permanence": "The model loses track of persistent scene objects during prediction.",
    "contact_realism": "The model moves objects before plausible robot/object contact.",
}


def main_failure(scores: Mapping[str, float | None]) -> str:
    """Sentence about the lowest of ``scores`` (by metric name, ``None`` where unavailable)."""
    if not scores:
        return "No metrics were run."
    available = {name: score for name, score in scores.items() if score is not None}
    if not available:
        return "No available metrics were scored."
    lowest = min(available, key=lambda name: available[name])
    if available[lowest] < _STRONG:
        return _SENTENCES.get(lowest, f"The weakest metric is {lowest}.")
    if unsupported := len(scores) - len(available):
        return (
            f"No dominant failure among available metrics; {unsupported} metrics were unsupported."
        )
    return "No dominant failure detected; the run is strong across core world-model checks."
