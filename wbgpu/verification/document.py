"""Read a result for verification: what is no result, and what contradicts itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wbgpu.aggregate.consistency import check_result
from wbgpu.aggregate.regret_consistency import check_regret
from wbgpu.errors import ResultFileError
from wbgpu.records.regret import REGRET_SCHEMA_VERSION, RegretResult
from wbgpu.records.regret_file import is_regret, parse_regret
from wbgpu.records.strict_json import read_json
from wbgpu.records.suite import SuiteResult
from wbgpu.records.verification import Check
from wbgpu.records.worldbench import parse_result
from wbgpu.records.worldbench.reader import KNOWN_VERSIONS

MAX_BYTES = 1 << 30
"""Larger files are refused unread: 1,000 episodes of 64 horizons take a twentieth."""


@dataclass(frozen=True)
class ResultDocument:
    """A result beside the JSON that it was read from.

    Attributes:
        document: parsed JSON.
        result: what it says; ``None`` where it is damaged, or says one thing in two ways.
        check: whether its numbers follow from each other.
    """

    document: dict[str, Any]
    result: SuiteResult | RegretResult | None
    check: Check


def read_document(path: Path) -> ResultDocument:
    """Read a result.

    Raises:
        ResultFileError: too large, not JSON, not a result, or of an unknown schema.
    """
    try:
        size = path.stat().st_size
    except OSError:
        size = 0  # read_json says what is wrong
    if size > MAX_BYTES:
        raise ResultFileError(path, "$", f"{size} bytes; at most {MAX_BYTES} are read")
    document = read_json(path)
    result: SuiteResult | RegretResult | None = None
    try:
        if is_regret(document):
            result = parse_regret(document, path)
        else:
            result = parse_result(document, path)
    except ResultFileError as error:
        if not _is_known(document):
            raise
        return ResultDocument(document, None, Check("file", "failed", str(error)))
    try:
        if isinstance(result, RegretResult):
            check_regret(result, path)
        else:
            check_result(result, path)
    except ResultFileError as error:
        return ResultDocument(document, result, Check("scores", "failed", str(error)))
    detail = "every aggregate follows from the episodes"
    return ResultDocument(document, result, Check("scores", "verified", detail))


def _is_known(document: Any) -> bool:
    """Whether a document calls itself a result that we read; what is wrong in it is then damage."""
    if is_regret(document):
        return bool(document.get("schema_version") == REGRET_SCHEMA_VERSION)
    return (
        isinstance(document, dict)
        and document.get("result_type") in ("batch_evaluation", "evaluation")
        and document.get("schema_version") in KNOWN_VERSIONS
    )
