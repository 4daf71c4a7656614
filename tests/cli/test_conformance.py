from __future__ import annotations

import json

import pytest

from wbgpu.cli.main import run
from wbgpu.conformance import known_values as module
from wbgpu.records.conformance import KnownValue


def test_prints_expected_got_and_difference(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["conformance"]) == 0
    out = capsys.readouterr().out
    assert (
        "codelength of 7 heads in 10 tosses by Laplace's rule, mixed order: expected 7.18538" in out
    )
    assert "All " in out.splitlines()[-1]


def test_one_wrong_value_is_exit_code_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script that checks an installation looks at nothing else."""
    values = [KnownValue("pi", "circle", "1", 3.14159, 3.0, 1e-5)]
    monkeypatch.setattr(module, "known_values", lambda: iter(values))
    assert run(["conformance", "--json"]) == 1
    payload = json.loads(capsys.readouterr().out)
    assert payload["agrees"] is False
    assert payload["values"][0]["difference"] == pytest.approx(-0.14159)
