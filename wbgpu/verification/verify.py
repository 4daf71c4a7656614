"""All checks of one result, in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from wbgpu.errors import ConfigurationError, ResultFileError
from wbgpu.records.regret import RegretResult
from wbgpu.records.suite import SuiteResult
from wbgpu.records.verification import Check, Verification
from wbgpu.verification.copies import copies_check
from wbgpu.verification.document import read_document
from wbgpu.verification.files import InputRoots, file_checks
from wbgpu.verification.settings import settings_checks


def verify(
    path: Path,
    *,
    roots: InputRoots | None = None,
    num_recomputed: int = 0,
    seed: int = 0,
) -> Verification:
    """Check a result file.

    Args:
        path: the file.
        roots: where its videos lie now.
        num_recomputed: random episodes to score again; imports torch when it is not 0.
        seed: which ones.

    Raises:
        ConfigurationError: ``num_recomputed`` is negative.
    """
    if num_recomputed < 0:
        raise ConfigurationError(f"--recompute: expected a number >= 0, got {num_recomputed}")
    try:
        read = read_document(path)
    except ResultFileError as error:
        return Verification(str(path), (Check("file", "failed", str(error)),), is_readable=False)
    checks = [read.check]
    if read.result is None:
        return Verification(str(path), tuple(checks))
    if isinstance(read.result, RegretResult):
        checks.append(
            Check("regret", "unknown", "forecasts are not kept, so they cannot be checked again")
        )
        return Verification(str(path), tuple(checks))
    checks += _suite_checks(read.result, read.document, roots or InputRoots())
    if num_recomputed:
        from wbgpu.verification.recompute import recompute_checks

        checks += recompute_checks(
            read.result, roots or InputRoots(), num_episodes=num_recomputed, seed=seed
        )
    return Verification(str(path), tuple(checks), notes=tuple(_version_notes(read.result)))


def _suite_checks(
    result: SuiteResult, document: Mapping[str, Any], roots: InputRoots
) -> Iterator[Check]:
    yield from settings_checks(result, document)
    yield from copies_check(result, document)
    if result.provenance is None:
        yield Check("environment", "unknown", "the file does not say what it was made with")
    else:
        made_with = result.provenance.environment.get("wbgpu", "an unknown wbgpu")
        yield Check("environment", "verified", f"made with wbgpu {made_with}")
    yield from file_checks(result, document, roots)


def _version_notes(result: SuiteResult) -> Iterator[str]:
    """Versions that have changed since; numbers may still be the same."""
    from wbgpu.evaluation.environment import EVALUATION_PACKAGES, environment

    if result.provenance is None:
        return
    now = environment(EVALUATION_PACKAGES)
    for name, version in result.provenance.environment.items():
        if name in now and now[name] != version:
            yield f"{name} was {version}, is {now[name]} here"
