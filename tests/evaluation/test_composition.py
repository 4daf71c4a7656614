"""Composing our configurations, and saying what is wrong with an override."""

from __future__ import annotations

import pytest
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException

from wbgpu.errors import ConfigurationError
from wbgpu.evaluation.composition import composed, explain, is_named, without_options


def explained(config_name, *overrides):
    with pytest.raises(HydraException) as raised:
        composed(config_name, overrides)
    return str(explain(raised.value, overrides, config_name))


@pytest.mark.parametrize(
    ("config_name", "overrides", "message"),
    [
        ("eval", ["devcie=cpu"], "unknown configuration key 'devcie'; nearest: 'device'"),
        ("regret", ["sedes=3"], "unknown configuration key 'sedes'; nearest: 'seeds'"),
        ("regret", ["world=chain"], "unknown option of 'world' 'chain'; nearest: 'markov_chain'"),
        ("regret", ["contestant.contxt=[]"], "nearest: 'contestant.context'"),
        ("regret", ["contestant=logits", "contestant.divice=cuda"], "'contestant.device'"),
        (
            "regret",
            ["contestant=logits", "contestant.arguments={hidden: 32}"],
            "cannot set 'contestant.arguments' so: it is given a key that it lacks",
        ),
        ("eval", ["tracker=flow"], "'tracker' is chosen within another key here, not by itself"),
        ("eval", ["gate=noninferiority"], "say within which: +gate@KEY=OPTION"),
        ("regret", ["seeds=[1"], "cannot read the override 'seeds=[1'"),
    ],
)
def test_the_nearest_name_is_one_of_the_chosen_options(config_name, overrides, message):
    """The keys of another contestant would send a person the wrong way."""
    assert message in explained(config_name, *overrides)


def test_leaves_somebody_elses_hydra_alone():
    """A training script that is a Hydra application may call us."""
    before = GlobalHydra.instance().hydra
    composed("regret", ("contestant=oracle",))
    assert GlobalHydra.instance().hydra is before


def test_an_override_names_all_that_is_below_it():
    assert is_named(["+a.b=1"], "a.b.c")
    assert not is_named(["a.b=1"], "a.bc")
    assert isinstance(explain(ValueError("why"), (), "eval"), ConfigurationError)


def test_an_option_of_a_group_is_no_value_of_its_keys():
    """suite=lerobot and a folder given as an argument go together."""
    assert without_options(["suite=lerobot", "suite.actions=x"]) == ["suite.actions=x"]
