"""Two results of one name, told apart by the files that they are from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from wbgpu.records.comparison import Verdict
from wbgpu.records.regret import RegretResult
from wbgpu.records.regret_comparison import RegretVerdict
from wbgpu.records.suite import SuiteResult

AnyResult = TypeVar("AnyResult", bound=SuiteResult | RegretResult)
AnyVerdict = TypeVar("AnyVerdict", Verdict, RegretVerdict)


def told_apart(
    baseline: AnyResult, candidate: AnyResult, files: tuple[Path, Path]
) -> tuple[AnyResult, AnyResult]:
    """Both with their files in their names, where their names are equal; for reports only."""
    if _name(baseline) != _name(candidate) or files[0] == files[1]:
        return baseline, candidate
    return _named(baseline, files[0]), _named(candidate, files[1])


def verdict_told_apart(verdict: AnyVerdict, files: tuple[Path, Path]) -> AnyVerdict:
    """The verdict with sides as of `told_apart`."""
    comparison = verdict.comparison
    before, after = told_apart(comparison.baseline, comparison.candidate, files)
    return replace(verdict, comparison=replace(comparison, baseline=before, candidate=after))


def _name(result: SuiteResult | RegretResult) -> str:
    return result.contestant if isinstance(result, RegretResult) else result.checkpoint_name


def _named(result: AnyResult, file: Path) -> AnyResult:
    name = f"{_name(result)} ({file})"
    if isinstance(result, RegretResult):
        return replace(result, contestant=name)
    return replace(result, checkpoint_name=name)
