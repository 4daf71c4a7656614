from __future__ import annotations

import pytest
from omegaconf import OmegaConf

from tests.records.results import available, episode, suite
from wbgpu.cli.objective import checked_objective, objective_value
from wbgpu.errors import ConfigurationError
from wbgpu.evaluation.configuration import compose, request_from


@pytest.fixture(scope="module")
def request_of_three():
    values = {"suite.ground_truth": "gt", "suite.predictions": "pred"}
    return request_from(compose(["metrics=[visual_similarity,psnr,mse]"], values))


def checked(request, objective, *overrides):
    config = OmegaConf.create({"objective": objective})
    return checked_objective(config, [f"objective={objective}", *overrides], request)


@pytest.mark.parametrize("objective", ["composite", "visual_similarity"])
def test_of_scores_0_is_the_worst(request_of_three, objective):
    assert checked(request_of_three, objective) == objective


def test_of_other_metrics_the_worst_must_be_said(request_of_three):
    """A failed job with an MSE of 0 would win the search."""
    with pytest.raises(ConfigurationError, match="but mse is in squared intensity"):
        checked(request_of_three, "mse")
    assert checked(request_of_three, "mse", "objective_if_failed=1e6") == "mse"


def test_what_is_not_measured_is_no_objective(request_of_three):
    with pytest.raises(ConfigurationError, match="known: composite, visual_similarity, psnr, mse"):
        checked(request_of_three, "ssim_wang2004")


def test_the_value_is_the_suites_mean():
    result = suite([episode("a", [available("psnr", [1.0, 20.0])])])
    assert objective_value(result, "psnr") == 20.0
    assert objective_value(result, "composite") is None
    assert objective_value(result, "mse") is None
