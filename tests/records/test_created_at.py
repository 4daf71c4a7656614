from __future__ import annotations

from datetime import datetime, timezone

import pytest

from wbgpu.errors import ConfigurationError
from wbgpu.records.created_at import created_at


def test_the_time_is_now_in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    before = datetime.now(timezone.utc)
    stamp = datetime.fromisoformat(created_at())
    assert before <= stamp <= datetime.now(timezone.utc)
    assert stamp.tzinfo == timezone.utc


def test_a_build_that_is_to_be_repeatable_sets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert created_at() == "2023-11-14T22:13:20+00:00"


@pytest.mark.parametrize("value", ["yesterday", "1.5", "9" * 30])
def test_a_value_that_is_no_time_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", value)
    with pytest.raises(ConfigurationError, match="SOURCE_DATE_EPOCH"):
        created_at()
