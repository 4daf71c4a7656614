from __future__ import annotations

from pathlib import Path

import pytest
from hydra import compose as hydra_compose
from hydra import initialize_config_module
from omegaconf import OmegaConf

from wbgpu.errors import ConfigurationError
from wbgpu.evaluation.configuration import compose, request_from
from wbgpu.records.profile import Profile

PATHS = {"suite.ground_truth": "gt", "suite.predictions": "predictions"}


def test_the_default_composite_has_worldbenchs_hash() -> None:
    """Results of both tools carry it, and a strict gate refuses different ones."""
    request = request_from(compose([], PATHS))
    assert request.profile == Profile()
    assert request.measured_profile.configuration_hash == Profile().configuration_hash


def test_paths_with_hydras_special_characters_pass_verbatim() -> None:
    path = "a b/x=1,{y}/'q'/${z}"
    request = request_from(compose([], {**PATHS, "suite.ground_truth": path}))
    assert request.ground_truth == Path(path)
    assert request.configuration["suite"]["ground_truth"] == path


def test_an_override_is_not_lost_behind_a_flag() -> None:
    """`eval-batch ... suite.num_context=4` once scored the context frames, without a word."""
    assert request_from(compose(["suite.num_context=4"], PATHS)).num_context == 4
    with pytest.raises(ConfigurationError, match=r"suite\.num_context is given twice"):
        compose(["suite.num_context=4"], {**PATHS, "suite.num_context": 2})


def test_overrides_win_over_the_project_file() -> None:
    weight = "composite.visual_similarity.weight"
    config = compose([f"{weight}=0.5"], PATHS, defaults={weight: 0.1, "name": "from file"})
    assert config.composite.visual_similarity.weight == 0.5
    assert config.name == "from file"


def test_two_variants_of_one_metric_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="variants of one metric"):
        compose(["metrics=[visual_similarity,visual_similarity_luma]"])


def test_metrics_are_added_to_those_that_are_chosen() -> None:
    """A metric of one's own beside a few of ours was taken for a variant of one of them."""
    own = "+metrics.own={_target_: wbgpu.metrics.Mse}"
    assert set(compose(["metrics=[psnr]", own]).metrics) == {"psnr", "own"}
    added = "+metrics@metrics=ssim_wang2004"
    assert {"psnr", "ssim_wang2004"} <= set(compose([added]).metrics)
    with pytest.raises(ConfigurationError, match="give one list"):
        compose(["metrics=[psnr]", added])


def test_metrics_are_chosen_by_name() -> None:
    request = request_from(compose(["metrics=[visual_similarity,psnr]"], PATHS))
    assert list(request.metrics) == ["visual_similarity", "psnr"]
    assert "temporal_stability" not in request.measured_profile.enabled_metrics


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("suite.ground_truht=x", "nearest: 'suite.ground_truth'"),
        ("devcie=cpu", "nearest: 'device'"),
        ("metrics=[visual_simlarity]", "nearest: 'visual_similarity'"),
        ("metrics=[visual_similarity,psnrr]", "nearest: 'psnr'"),
        ("decoder=decrod", "nearest: 'decord'"),
        ("loader.num_worker=1", "nearest: 'loader.num_workers'"),
        ("suite=video", "nearest: 'videos'"),
        ("suite.ground_truth=a b=c,{", "suite.ground_truth"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest_valid_one(
    override: str, message: str
) -> None:
    with pytest.raises(ConfigurationError) as error:
        compose([override])
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("suite.num_context=-1", "must be non-negative, got -1"),
        ("suite.num_context=two", "suite.num_context: expected int, got 'two'"),
        ("suite.num_context=true", "suite.num_context: expected int, got True"),
        ("suite.alignment=loose", "'strict' or 'safe', got 'loose'"),
        ("statistics=fast", "got 'fast'"),
        ("loader.num_workers=0", "loader.num_workers: must be at least 1, got 0"),
        ("trainer.devices=0", "trainer.devices: must be at least 1, got 0"),
        ("trainer.devices=two", "trainer.devices: expected int, got 'two'"),
        ("trainer.backend=mpi", "trainer.backend: expected one of"),
        ("resume=1", "resume: expected true or false, got 1"),
        ("resume=true", "journal=FILE"),
        ("metrics=[]", "at least one metric"),
        ("loader.window_frames=abc", "loader.window_frames: expected int, got 'abc'"),
        ("loader.window_frames=1.5", "loader.window_frames: expected int, got 1.5"),
        ("composite.visual_similarity=3", "composite.visual_similarity: expected enabled"),
        ("composite.visual_similarity.enabled=maybe", "got 'maybe'"),
        ("+trainer.precision=bf16", "trainer: unknown key 'precision'"),
        ("composite.visual_similarity.weight=-1", "got -1"),
        ("profile=trace.json", "profile: expected true or false, got 'trace.json'"),
    ],
)
def test_a_wrong_value_names_its_key(override: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        request_from(compose([override], PATHS))
    assert message in str(error.value)


def test_missing_paths_are_named() -> None:
    with pytest.raises(ConfigurationError, match=r"suite\.ground_truth, suite\.predictions"):
        request_from(compose())


def test_the_saved_configuration_composes_the_same_run_again() -> None:
    first = request_from(compose(["metrics=[psnr]", "suite.num_context=3"], PATHS))
    again = request_from(OmegaConf.create(dict(first.configuration)))
    assert again.configuration == first.configuration
    assert again.num_context == 3


def test_watching_a_run_is_no_part_of_its_configuration() -> None:
    """Two results that differ in nothing else would be told apart."""
    plain, watched = (
        request_from(compose([], PATHS)),
        request_from(compose(["profile=true"], PATHS)),
    )
    assert watched.measures_stages
    assert not plain.measures_stages
    assert watched.configuration == plain.configuration


def test_works_inside_somebody_elses_hydra_application() -> None:
    """A training script under Hydra calls wbgpu.evaluate; its own Hydra must survive."""
    with initialize_config_module("wbgpu.configs", version_base="1.3"):
        compose(["metrics=[psnr]"])
        assert "suite" in hydra_compose("eval")


@pytest.mark.parametrize("extra", [[], ["metrics.lpips.weights=a.pth"]])
def test_a_metric_added_to_a_list_is_not_dropped_in_silence(extra: list[str]) -> None:
    """Hydra takes both for one choice and keeps the list."""
    with pytest.raises(ConfigurationError, match=r"give one list: metrics=\[psnr,lpips\]"):
        compose(["metrics=[psnr]", "+metrics@metrics=lpips", *extra])
    assert "lpips" in compose(["+metrics@metrics=lpips", *extra]).metrics


def test_an_action_adapter_that_no_metric_has_is_refused() -> None:
    """It would be read by nobody."""
    config = compose(["+action_adapter=linear_fit"], PATHS)
    with pytest.raises(ConfigurationError, match=r"@metrics\.action_following\.adapter="):
        request_from(config)


def test_distances_are_of_their_kind_and_name() -> None:
    """A metric of episodes would be asked for a suite's number."""
    wrong = ["+distribution_metrics.psnr._target_=wbgpu.metrics.Mse"]
    with pytest.raises(ConfigurationError, match=r"distribution_metrics\.psnr: .* got Mse"):
        request_from(compose(wrong, PATHS))
    named = ["+distribution_metrics=fvd", "+distribution_metrics.fvd.name=other"]
    with pytest.raises(ConfigurationError, match=r"set distribution_metrics.fvd.name=fvd"):
        request_from(compose(named, PATHS))


def test_saved_actions_that_nobody_looks_at_are_refused() -> None:
    """A user who gives actions expects them to count."""
    paths = PATHS | {"suite.actions": "c"}
    with pytest.raises(ConfigurationError, match=r"suite.actions: neither a model"):
        request_from(compose([], paths))
    assert request_from(compose(["metrics=[action_following]"], paths)).actions == Path("c")
