"""Whether an episode says that it is a drawn scene, which colour blobs can follow."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from wbgpu.records.signals import EpisodeSignals

_FIELDS = ("robot", "description", "task")
_WORD = "synthetic"
_NEGATIONS = frozenset({"not", "no", "non", "never", "isn", "without", "nothing"})
_WORDS_BEFORE = 3


def is_synthetic(signals: EpisodeSignals | None) -> bool:
    """Whether the metadata's robot, task or description has the word ``synthetic``.

    As in worldbench, but the word by itself and not denied: ``not synthetic at all`` is not.
    """
    metadata: Mapping[str, Any] = {} if signals is None else signals.metadata
    return any(_says_so(str(metadata.get(field) or "")) for field in _FIELDS)


def _says_so(text: str) -> bool:
    words = re.findall(r"[a-z]+", text.lower())
    return any(
        word == _WORD and not _NEGATIONS & set(words[max(0, index - _WORDS_BEFORE) : index])
        for index, word in enumerate(words)
    )
