"""A digest over how a result was made, so that a changed setting shows.

It is no signature: who changes a file can also make a new digest. It shows mistakes and careless
edits; ``wbgpu verify-run --recompute`` shows the others.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

SEAL = "settings_sha256"


def settings_sha256(settings: Mapping[str, Any]) -> str:
    """Hex SHA-256 of the canonical JSON of settings, without the digest itself."""
    plain = {key: value for key, value in settings.items() if key != SEAL}
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
