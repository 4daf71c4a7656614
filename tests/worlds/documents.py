"""Documents of small worlds, to be bent by tests."""

from __future__ import annotations

import copy

CART = {
    "name": "cart",
    "max_steps": 30,
    "action_matters": True,
    "variables": {
        "place": ["west", "middle", "east"],
        "cargo": ["none", "west", "middle", "east", "aboard"],
        "mood": ["calm", "wild"],
    },
    "actions": ["wait", "ride", "load"],
    "initial": {
        "place": "middle",
        "cargo": {"west": 0.5, "east": 0.5},
        "mood": "uniform",
    },
    "rules": {
        "place": [
            {
                "when": {"action": "ride", "mood": "wild"},
                "then": {"next": 0.5, "previous": 0.25, "keep": 0.25},
            },
            {"when": {"action": "ride"}, "then": {"next": 0.75, "keep": 0.25}},
            {"then": "keep"},
        ],
        "cargo": [
            {
                "when": {"cargo": "same_as(place)", "action": "load"},
                "then": {"aboard": 0.875, "keep": 0.125},
            },
            {
                "when": {"cargo": "aboard", "action": {"not": ["ride", "load"]}},
                "then": {"same_as(place)": 0.5, "next(place)": 0.25, "previous(place)": 0.25},
            },
            {"when": {"cargo": ["next(place)", "none"]}, "then": {"none": 0.125, "keep": 0.875}},
            {"then": "keep"},
        ],
        "mood": [{"then": "uniform"}],
    },
    "policy": [
        {"when": {"place": "east"}, "then": {"load": 0.5, "wait": 0.5}},
        {"then": "uniform"},
    ],
}


def cart(**changes):
    """A fresh copy, with top-level keys replaced; ``None`` removes one."""
    document = copy.deepcopy(CART) | changes
    return {key: value for key, value in document.items() if value is not None}


def with_rules(variable, *rules):
    """A cart with other rules for one variable."""
    document = cart()
    document["rules"][variable] = list(rules)
    return document
