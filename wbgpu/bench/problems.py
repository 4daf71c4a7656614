"""What a request is refused for: a status, a sentence and the field (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wbgpu.errors import WbgpuError

PROBLEM_MEDIA_TYPE = "application/problem+json"

_PREFIX = "urn:wbgpu:bench:"


class UnreachableError(WbgpuError):
    """A server did not answer, or did not answer as a bench does."""


class RefusedError(WbgpuError):
    """A request that cannot be done. Nothing has been changed, lost or scored.

    Attributes:
        status: of HTTP.
        kind: a word for programs, such as ``step-already-predicted``.
        detail: a sentence for people. It says nothing that the client may not know.
        field: place in the body or name of the parameter that is wrong, or ``None``.
        retry_after_seconds: after how long it may work, or ``None``.
    """

    def __init__(
        self,
        status: int,
        kind: str,
        detail: str,
        *,
        field: str | None = None,
        retry_after_seconds: int | None = None,
    ) -> None:
        super().__init__(f"{field}: {detail}" if field else detail)
        self.status = status
        self.kind = kind
        self.detail = detail
        self.field = field
        self.retry_after_seconds = retry_after_seconds

    def document(self) -> dict[str, Any]:
        """The JSON problem."""
        document = {
            "type": f"{_PREFIX}{self.kind}",
            "title": self.kind.replace("-", " "),
            "status": self.status,
            "detail": self.detail,
        }
        return document if self.field is None else {**document, "field": self.field}


def problem_from(document: Mapping[str, Any], status: int) -> RefusedError:
    """Read what :meth:`RefusedError.document` wrote.

    Args:
        document: of the answer.
        status: of the answer.
    """
    kind = str(document.get("type", "")).removeprefix(_PREFIX)
    return RefusedError(status, kind, str(document.get("detail", "")), field=document.get("field"))
