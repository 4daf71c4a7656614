"""What a model was made of and given, where a result is of a model that predicted live."""

from __future__ import annotations

from collections.abc import Mapping

from wbgpu.records.suite import Provenance, SuiteResult

_LIVE = "live:"
_ACTIONS = "actions/"
_DIGEST_LENGTH = 12


def model_rows(result: SuiteResult) -> dict[str, str]:
    """Checkpoint file and folder of actions, by what is told; empty for saved predictions."""
    provenance = _provenance(result)
    if provenance is None:
        return {}
    checkpoint = _setting(provenance, "model", "checkpoint")
    digest = provenance.input_sha256.get("checkpoint")
    rows = {}
    if checkpoint is not None:
        known = "" if digest is None else f" (sha256 {digest[:_DIGEST_LENGTH]})"
        rows["Checkpoint"] = f"{checkpoint}{known}"
    return {**rows, "Actions": _folder(provenance)}


def actions_note(baseline: SuiteResult, candidate: SuiteResult) -> str | None:
    """Which actions the two models were given, where they were not given the same.

    Returns:
        Such as ``Actions: none -> actions``; ``None`` where they are the same, and where either
        result is of saved predictions, which do not say.
    """
    before, after = _provenance(baseline), _provenance(candidate)
    if before is None or after is None or _digests(before) == _digests(after):
        return None
    folders = _folder(before), _folder(after)
    other = " (other files)" if folders[0] == folders[1] else ""
    return f"Actions: {folders[0]} -> {folders[1]}{other}"


def _provenance(result: SuiteResult) -> Provenance | None:
    return result.provenance if result.predictions_root.startswith(_LIVE) else None


def _folder(provenance: Provenance) -> str:
    given = _setting(provenance, "suite", "actions")
    return given or ("those of the suite" if _digests(provenance) else "none")


def _digests(provenance: Provenance) -> dict[str, str]:
    return {k: v for k, v in provenance.input_sha256.items() if k.startswith(_ACTIONS)}


def _setting(provenance: Provenance, section: str, key: str) -> str | None:
    # Configurations are whatever a file says.
    values = provenance.configuration.get(section)
    value = values.get(key) if isinstance(values, Mapping) else None
    return None if value is None else str(value)
