"""From a configuration to a contestant: what it is given, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from wbgpu.contestants import KrichevskyTrofimov, Oracle, Uniform
from wbgpu.errors import ConfigurationError, InputError
from wbgpu.evaluation.composition import composed
from wbgpu.evaluation.regret_configuration import contestant_from, regret_request_from
from wbgpu.worlds import load_world

WORLD = load_world("slippery_grid")


def test_the_truth_is_given_to_those_alone_that_ask_for_it():
    """A model that is handed the answer key by mistake would look perfect."""
    oracle = contestant_from({"_target_": "wbgpu.contestants.Oracle", "answer_key": "???"}, WORLD)
    assert isinstance(oracle, Oracle)
    state, action = np.zeros((1, len(WORLD.schema.variables)), dtype=np.int64), np.array([0])
    for rows, truth in zip(
        oracle.predict(state, action), WORLD.transition(state, action), strict=True
    ):
        np.testing.assert_array_equal(rows, truth)
    uniform = contestant_from({"_target_": "wbgpu.contestants.Uniform", "schema": "???"}, WORLD)
    assert isinstance(uniform, Uniform)
    with pytest.raises(ConfigurationError, match=r"missing 1 required .* 'answer_key'"):
        contestant_from({"_target_": "wbgpu.contestants.Oracle"}, WORLD)


def test_the_request_of_a_configuration():
    config = composed("regret", ("world=slippery_grid", "contestant=kt", "seeds=3", "steps=7"))
    request = regret_request_from(config)
    assert request.world.sha256 == WORLD.sha256, "the world of its name, not another one"
    assert isinstance(request.contestant, KrichevskyTrofimov)
    assert list(request.seeds) == [0, 1, 2]
    assert (request.num_steps, request.batch_size) == (7, 256)
    assert "schema" not in request.configuration["contestant"]


@pytest.mark.parametrize(
    ("settings", "kind", "message"),
    [
        ({"_target_": "builtins.dict"}, ConfigurationError, "reset, predict and learn, which dict"),
        ({"_target_": "wbgpu.nobody.Here"}, ConfigurationError, "cannot build what it names"),
        (
            {
                "_target_": "wbgpu.contestants.KrichevskyTrofimov",
                "schema": "???",
                "context": ["lamp"],
            },
            ConfigurationError,
            "unknown variable 'lamp'",
        ),
        (
            {
                "_target_": "wbgpu.contestants.LogitsModule",
                "schema": "???",
                "checkpoint": "none.pt",
            },
            InputError,
            "there is no file none.pt",
        ),
    ],
)
def test_what_is_no_contestant_is_refused(settings, kind, message):
    with pytest.raises(kind, match=message):
        contestant_from(settings, WORLD)
