"""Features of episodes as JSON data and back, bit for bit, for the journal. Imports no torch."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from wbgpu.records.distribution_distance import EpisodeFeatures, Features

_SIDES = ("target", "prediction")


def features_payload(features: Features) -> dict[str, Any]:
    """Plain JSON data of what `parse_features` reads."""
    return {
        name: {side: _array_payload(getattr(found, side)) for side in _SIDES}
        | {"error": found.error}
        for name, found in features.items()
    }


def parse_features(document: Mapping[str, Any]) -> Features:
    """What `features_payload` was given."""
    return {
        name: EpisodeFeatures(_array(entry["target"]), _array(entry["prediction"]), entry["error"])
        for name, entry in document.items()
    }


def _array_payload(array: npt.NDArray[np.floating]) -> dict[str, Any]:
    little = array.astype(array.dtype.newbyteorder("<"))
    text = base64.b64encode(little.tobytes()).decode()
    return {"dtype": array.dtype.name, "shape": list(array.shape), "base64": text}


def _array(entry: Mapping[str, Any]) -> npt.NDArray[np.floating]:
    dtype = np.dtype(entry["dtype"])
    data = np.frombuffer(base64.b64decode(entry["base64"]), dtype.newbyteorder("<"))
    array: npt.NDArray[np.floating] = data.astype(dtype).reshape(entry["shape"])
    return array
