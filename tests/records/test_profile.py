from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from worldbench.config import MetricConfig, WorldBenchConfig

from tests.records.golden import load
from wbgpu.errors import ConfigurationError
from wbgpu.records.metric import SCORE_UNIT
from wbgpu.records.profile import (
    COMPOSITE_METRICS,
    REASONS_WITHOUT_SIGNALS,
    MetricSetting,
    Profile,
    worldbench_metric_info,
)

SETTINGS = st.dictionaries(
    st.sampled_from(COMPOSITE_METRICS),
    st.builds(
        MetricSetting,
        enabled=st.booleans(),
        weight=st.floats(0, 10, allow_subnormal=False) | st.integers(0, 3),
    ),
)


def test_p64_enabled_metrics_keep_worldbenchs_order() -> None:
    """Sums run in this order, and the hash is over it."""
    settings = {name: MetricSetting(weight=1.0) for name in reversed(COMPOSITE_METRICS)}
    assert Profile(settings).enabled_metrics == COMPOSITE_METRICS
    assert len(Profile(settings).configuration_hash) == 64


def test_the_default_hash_is_worldbenchs(shared: Path) -> None:
    """Another hash would make every gate across the two tools a mismatch."""
    vectors = json.loads((shared / "golden/expected/unit_vectors.json").read_text())["config"]
    assert Profile().configuration_hash == vectors["default_hash"]
    assert Profile().configured_weights == vectors["weights"]


@given(SETTINGS)
def test_hash_names_and_weights_are_worldbenchs_for_any_settings(
    settings: dict[str, MetricSetting],
) -> None:
    """A gate across the two tools compares the hashes."""
    try:
        ours = Profile(settings)
    except ConfigurationError:
        with pytest.raises(ValueError, match="metric"):
            _theirs(settings)
        return
    theirs = _theirs(settings)
    assert ours.configuration_hash == theirs.configuration_hash
    assert list(ours.enabled_metrics) == theirs.enabled_metrics
    assert ours.configured_weights == theirs.configured_weights


def _theirs(settings: dict[str, MetricSetting]) -> WorldBenchConfig:
    return WorldBenchConfig(
        metrics={
            name: MetricConfig(enabled=s.enabled, required=s.required, weight=s.weight)
            for name, s in settings.items()
        }
    )


def test_p65_hash_ignores_order_and_follows_weights() -> None:
    """Sorting a project file is no change, and another weight is one."""
    one = {"visual_similarity": MetricSetting(weight=1.0), "contact_realism": MetricSetting()}
    assert (
        Profile(one).configuration_hash == Profile(dict(reversed(one.items()))).configuration_hash
    )
    other = one | {"visual_similarity": MetricSetting(weight=2.0)}
    assert Profile(one).configuration_hash != Profile(other).configuration_hash


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({n: MetricSetting(enabled=False) for n in COMPOSITE_METRICS}, "at least one"),
        ({"contact_realism": MetricSetting(enabled=False, required=True)}, "must be enabled"),
        ({"sharpness": MetricSetting(weight=1.0)}, "sharpness"),
        ({n: MetricSetting(weight=0.0) for n in COMPOSITE_METRICS}, "sum to zero"),
    ],
)
def test_p66_settings_that_make_no_composite_are_refused(
    settings: dict[str, MetricSetting], message: str
) -> None:
    """Found only after the evaluation, the work would be lost."""
    with pytest.raises(ConfigurationError, match=message):
        Profile(settings)


@pytest.mark.parametrize("weight", [-0.1, math.inf, math.nan, True, "0.5", None])
def test_p66_a_weight_that_is_no_weight_is_refused(weight: object) -> None:
    """One NaN makes every composite NaN."""
    with pytest.raises(ConfigurationError, match=r"^weight: expected a "):
        MetricSetting(weight=weight)  # type: ignore[arg-type]


@pytest.mark.parametrize("key", ["enabled", "required"])
@pytest.mark.parametrize("value", [0, 1, "false", None])
def test_a_switch_that_is_no_boolean_is_refused(key: str, value: object) -> None:
    """The string "false" is true, so a metric would be required that nobody asked for."""
    with pytest.raises(ConfigurationError, match=f"^{key}: expected true or false"):
        MetricSetting(**{key: value})  # type: ignore[arg-type]


def test_p02_p17_reasons_are_worldbenchs_own_for_a_pair_of_videos(shared: Path) -> None:
    """Plain videos support two metrics of the five; the others say why, in words it also uses."""
    name = "golden/raw/batch_pypi_baseline_skip0.json.gz"
    for episode in load(shared / name)["episodes"]:
        found = {
            metric: entry["reason"]
            for metric, entry in episode["metrics"].items()
            if entry["status"] == "unsupported"
        }
        assert found == REASONS_WITHOUT_SIGNALS
    assert set(COMPOSITE_METRICS) - set(REASONS_WITHOUT_SIGNALS) == {
        "visual_similarity",
        "temporal_stability",
    }


def test_a_worldbench_metric_is_a_score_under_its_own_id() -> None:
    """Under one id, a score of worldbench could be held against a differently defined one."""
    info = worldbench_metric_info("visual_similarity")
    assert (info.metric_id, info.unit) == ("visual_similarity/worldbench-1.0", SCORE_UNIT)
    assert info.higher_is_better
