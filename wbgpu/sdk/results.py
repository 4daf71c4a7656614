"""Load and save results."""

from __future__ import annotations

from pathlib import Path

from wbgpu.aggregate.consistency import check_result
from wbgpu.aggregate.regret_consistency import check_regret
from wbgpu.errors import IncompatibleResultsError, ResultFileError
from wbgpu.records.bench_answer import is_bench_answer
from wbgpu.records.garbage import collection_paused
from wbgpu.records.regret import RegretResult
from wbgpu.records.regret_file import is_regret, parse_regret, regret_payload
from wbgpu.records.strict_json import read_json, write_json
from wbgpu.records.suite import SuiteResult
from wbgpu.records.worldbench import batch_payload, evaluation_payload, parse_result

AnyResult = SuiteResult | RegretResult
"""What :func:`load_result` reads."""

RESULT_FILES = ("batch.json", "result.json")
"""Names of results in a run's folder."""


@collection_paused()
def load_result(path: str | Path) -> AnyResult:
    """Read a result of wbgpu or worldbench: a file, or a run's folder.

    Returns:
        A :class:`RegretResult` of what ``wbgpu regret`` wrote, else a :class:`SuiteResult`.

    Raises:
        ResultFileError: not strict JSON, not a known result, or the file contradicts itself;
            the message names the place.
    """
    file = _result_file(Path(path))
    document = read_json(file)
    if is_bench_answer(document):
        raise ResultFileError(
            file,
            "$",
            "this is a bench's answer for one session (wbgpu bench play), and not a result: it has "
            "no episodes to pair. Compare sessions on the bench's leaderboard, or play the "
            "contestant with wbgpu regret, whose results are compared and gated",
        )
    if is_regret(document):
        regret = parse_regret(document, file)
        check_regret(regret, file)
        return regret
    result = parse_result(document, file)
    check_result(result, file)
    return result


@collection_paused()
def save_result(result: AnyResult, path: str | Path) -> Path:
    """Write a result as JSON that wbgpu reads, and worldbench too unless it is of regret.

    The file appears whole or not at all.
    """
    if isinstance(result, RegretResult):
        return write_json(path, regret_payload(result))
    if result.result_type == "evaluation":
        return write_json(path, evaluation_payload(result))
    return write_json(path, batch_payload(result))


def result_of(value: AnyResult | str | Path) -> AnyResult:
    """A result, or the one in a file or a run's folder."""
    return load_result(value) if isinstance(value, (str, Path)) else value


def suite_of(value: AnyResult | str | Path) -> SuiteResult:
    """`result_of`, where only one of videos will do."""
    result = result_of(value)
    if isinstance(result, RegretResult):
        raise IncompatibleResultsError(
            f"{_what(value, result)} is a result of regret, not of videos; compare it with another "
            "one of regret (compare_regret and gate_regret in Python)"
        )
    return result


def regret_of(value: AnyResult | str | Path) -> RegretResult:
    """`result_of`, where only one of regret will do."""
    result = result_of(value)
    if isinstance(result, SuiteResult):
        raise IncompatibleResultsError(
            f"{_what(value, result)} is a result of videos, not of regret; the two kinds cannot be "
            "compared with each other"
        )
    return result


def _result_file(path: Path) -> Path:
    """The result in a run's folder, or the file itself."""
    if not path.is_dir():
        return path
    names = [name for name in RESULT_FILES if (path / name).is_file()]
    if not names:
        raise ResultFileError(path, "$", f"no {' or '.join(RESULT_FILES)} in this folder")
    return path / names[0]


def _what(value: AnyResult | str | Path, result: AnyResult) -> str:
    if isinstance(value, (str, Path)):
        return str(value)
    return result.contestant if isinstance(result, RegretResult) else result.checkpoint_name
