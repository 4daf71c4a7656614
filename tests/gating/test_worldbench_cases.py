"""All recorded gate runs of worldbench: verdict, exit status and every field of gate.json."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.records.golden import missing_from, plain_json, result
from wbgpu.aggregate.consistency import check_result
from wbgpu.errors import IncompatibleResultsError
from wbgpu.records.suite import SuiteResult
from wbgpu.records.worldbench import gate_payload
from wbgpu.sdk import gate

NUM_CASES = 22
_COUNTS = ("max_episode_regressions", "min_metric_count", "bootstrap_samples", "bootstrap_seed")


@cache
def _result(folder: Path, name: str) -> SuiteResult:
    peer, side, skip = name.removesuffix(".json").split("_")
    file = folder / f"batch_{peer}_{side}_skip{skip}.json.gz"
    found = result(file)
    check_result(found, file)
    return found


def _settings(flags: list[str]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    words = iter(flags)
    for flag in words:
        name = flag.removeprefix("--").replace("-", "_")
        if name == "no_strict_config_match":
            settings["strict_config_match"] = False
        elif name == "require_metric":
            settings["required_metrics"] = (next(words),)
        else:
            settings[name] = (int if name in _COUNTS else float)(next(words))
    return settings


@pytest.mark.parametrize("index", range(NUM_CASES))
def test_recorded_gate(shared: Path, index: int) -> None:
    """Any difference would flip or garble a verdict that a team already relies on."""
    cases = json.loads((shared / "golden/expected/gate.json").read_text())
    assert len(cases) == NUM_CASES
    case = cases[index]
    pair = [_result(shared / "golden/raw", case[side]) for side in ("baseline", "candidate")]
    if case["exit"] == 2:
        # Usage error in both tools; the words are our own, the two numbers are worldbench's.
        numbers = re.findall(r"\d+", case["stderr"])
        assert len(numbers) == 2
        with pytest.raises(IncompatibleResultsError, match=".*".join(numbers)):
            gate(*pair, **_settings(case["flags"]))
        return
    verdict = gate(*pair, **_settings(case["flags"]))
    assert verdict.status == case["status"]
    assert (verdict.status == "FAIL") == (case["exit"] == 1)
    assert list(missing_from(case["gate"], plain_json(gate_payload(verdict)))) == []
