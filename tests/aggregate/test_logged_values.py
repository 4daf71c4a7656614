from __future__ import annotations

from pathlib import Path

import pytest

import wbgpu
from tests.evaluation.live_suites import NUM_CONTEXT, TokenModel, write_suite
from wbgpu.aggregate.logged_values import gate_values, logged_values
from wbgpu.models import CopyLast


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> wbgpu.SuiteResult:
    """Episodes of 4 and 9 steps."""
    suite = write_suite(tmp_path_factory.mktemp("suite"), (7, 12))
    return wbgpu.evaluate(suite / "gt", model=TokenModel(), num_context=NUM_CONTEXT)


def horizons_of(values: dict[str, float], name: str) -> list[int]:
    prefix = f"{name}/horizon_"
    return sorted(int(key[len(prefix) :]) for key in values if key.startswith(prefix))


def test_powers_of_two_and_the_last_horizon_by_default(result: wbgpu.SuiteResult) -> None:
    """All of 64 horizons times ten metrics would drown a logger."""
    values = logged_values(result)
    assert horizons_of(values, "psnr") == [1, 2, 4, 8, 9]
    assert horizons_of(values, "regret_nats") == [1, 2, 4, 8, 9]
    assert horizons_of(logged_values(result, [3, 50, 0]), "psnr") == [3]
    assert horizons_of(logged_values(result, [3, 50, 0]), "regret_nats") == [3]
    assert horizons_of(logged_values(result, []), "psnr") == []


def test_values_are_means_over_the_episodes_that_have_one(result: wbgpu.SuiteResult) -> None:
    values = logged_values(result)
    longer = result.episodes[1].metrics
    assert values["mse/horizon_9"] == longer["mse"].prefix[8]
    details = [e.metrics["log_loss"].prefix_details["regret_nats"] for e in result.episodes]
    assert values["regret_nats"] == pytest.approx((details[0][-1] + details[1][-1]) / 2)
    assert values["regret_nats/horizon_8"] == pytest.approx(details[1][7])
    assert values["score"] == result.summary.score


def test_what_is_missing_is_left_out(result: wbgpu.SuiteResult) -> None:
    """Zero or NaN would be drawn as a fall."""
    values = logged_values(result)
    assert "object_permanence" not in values
    assert all(value == value for value in values.values())


def test_a_comparison_gives_the_change_and_the_verdict(result: wbgpu.SuiteResult) -> None:
    verdict = wbgpu.gate(result, result)
    assert gate_values(verdict.comparison, verdict) == {"change": 0.0, "gate_passed": 1.0}
    assert gate_values(verdict.comparison, None) == {"change": 0.0}


def test_frames_alone_have_no_regret(tmp_path: Path) -> None:
    suite = write_suite(tmp_path, (6,))
    plain = wbgpu.evaluate(suite / "gt", model=CopyLast(), num_context=NUM_CONTEXT)
    assert not [name for name in logged_values(plain) if "nats" in name]
