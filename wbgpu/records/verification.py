"""What re-checking a result found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CheckStatus = Literal["verified", "failed", "unknown"]

VerificationStatus = Literal["VERIFIED", "FAILED", "NOT VERIFIABLE", "PARTIAL"]


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes:
        subject: such as ``configuration`` or ``prediction/000.mp4``.
        status: ``unknown`` where the file does not say enough to check it.
        detail: what was expected and what was found.
    """

    subject: str
    status: CheckStatus
    detail: str


@dataclass(frozen=True)
class Verification:
    """All checks of one result.

    Attributes:
        path: the result.
        checks: in the order they were made; one failed check where the file cannot be read as a
            result at all.
        is_readable: whether it could.
        notes: what does not count against the result, such as versions that have moved on.
    """

    path: str
    checks: tuple[Check, ...]
    is_readable: bool = True
    notes: tuple[str, ...] = ()

    @property
    def status(self) -> VerificationStatus:
        """``FAILED`` when one check did, ``PARTIAL`` when one was not possible."""
        if not self.is_readable:
            return "NOT VERIFIABLE"
        found = {check.status for check in self.checks}
        if "failed" in found:
            return "FAILED"
        return "PARTIAL" if "unknown" in found else "VERIFIED"
