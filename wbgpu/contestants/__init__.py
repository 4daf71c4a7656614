"""Forecasters of a world's next state, from one that knows everything to one that knows nothing."""

from wbgpu.contestants.action_blind import ActionBlind
from wbgpu.contestants.check_contestant import check_contestant
from wbgpu.contestants.contestant import (
    AnswerKey,
    Contestant,
    Forecast,
    LogContestant,
)
from wbgpu.contestants.kt import KrichevskyTrofimov
from wbgpu.contestants.logits import LogitsModule
from wbgpu.contestants.oracle import Oracle
from wbgpu.contestants.uniform import Uniform

__all__ = [
    "ActionBlind",
    "AnswerKey",
    "Contestant",
    "Forecast",
    "KrichevskyTrofimov",
    "LogContestant",
    "LogitsModule",
    "Oracle",
    "Uniform",
    "check_contestant",
]
