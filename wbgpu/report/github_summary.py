"""A verdict as the summary of a GitHub Actions step: what reviewers read first, the rest folded."""

from __future__ import annotations

import re

from wbgpu.records.comparison import Status

_SIGNS: dict[Status, str] = {"PASS": "✅", "FAIL": "❌", "INCONCLUSIVE": "❔"}
_MAX_BYTES = 900_000
"""GitHub refuses summaries of more than 1 MiB, all of a step together."""

_SHOWN = ("Warnings", "Evidence")
"""Sections that are shown after the first, which is of the reasons."""

_CUT = "\n\nCut here: the whole report is in the gate's folder.\n"


def github_summary(status: Status, report: str) -> str:
    """Markdown for ``$GITHUB_STEP_SUMMARY``.

    Args:
        status: of the verdict.
        report: its Markdown report; what follows reasons, warnings and evidence is folded away.
    """
    heading, _, rest = report.partition("\n")
    head, tail = _split(rest)
    title = f"## {_SIGNS[status]} {heading.removeprefix('# ')}"
    text = f"{title}\n{head}\n"
    if tail:
        text += f"<details><summary>Metrics, horizons, episodes, provenance</summary>\n\n{tail}\n"
        end = "\n</details>\n"
    else:
        end = ""
    encoded = text.encode()
    if len(encoded) > _MAX_BYTES:
        text = encoded[:_MAX_BYTES].decode(errors="ignore").rpartition("\n")[0] + _CUT
    return text + end


def _split(report: str) -> tuple[str, str]:
    """Reasons, which are the first section, and what is shown after them; and the rest."""
    sections = list(re.finditer("^## (.*)$", report, re.MULTILINE))
    folded = next((s for s in sections[1:] if s[1] not in _SHOWN), None)
    if folded is None:
        return report, ""
    return report[: folded.start()], report[folded.start() :]
