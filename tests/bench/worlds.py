"""Small worlds for tests."""

from __future__ import annotations

COIN = """
name: coin
max_steps: 2500
action_matters: false
variables: {coin: [tails, heads]}
actions: [flip]
initial: {coin: tails}
rules: {coin: [{then: {tails: 0.8, heads: 0.2}}]}
"""
"""Flips that know nothing of each other."""


def coin_file(folder):
    path = folder / "coin.yaml"
    path.write_text(COIN)
    return str(path)
