"""worldbench's fixed phrases in ``gate.json``: mismatch details and warnings.

They are worldbench's to the letter, because teams and their scripts know them and because a gate of
ours is equal to worldbench's field by field. Everything else that wbgpu says is in its own words.
"""

from __future__ import annotations

SCHEMA_VERSIONS_DIFFER = "result schema versions differ"
METRIC_SETS_DIFFER = "enabled metric sets differ"
WEIGHTS_DIFFER = "configured metric weights differ"
HASHES_DIFFER = "configuration hashes differ"
HORIZONS_DIFFER = "evaluated horizon sets differ"

OLD_SCHEMA = (
    "This result predates schema v2, so full configuration compatibility could not be verified."
)
NO_HASH = (
    "Configuration hash is unavailable in one or both legacy artifacts; metric sets and weights "
    "were inferred."
)
NO_DATASET_IDENTIFIER = (
    "Dataset content identity is unavailable in one or both legacy artifacts; episode IDs were "
    "matched."
)
MIXED_SCHEMAS = (
    "Baseline and candidate originated from different schema versions; compatibility fields were "
    "inferred."
)


def counts_differ(metric: str) -> str:
    """A metric was measured on another number of episodes."""
    return f"available episode counts differ for {metric}"


def context_differs(baseline: int | None, candidate: int | None) -> str:
    """The two skipped other numbers of context frames."""
    return f"Baseline and candidate use different skip-context values: {baseline} vs {candidate}."


def configuration_warning(detail: str) -> str:
    """A mismatch that does not fail the gate."""
    return f"Configuration warning: {detail}."
