"""The errors that users catch."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest

from wbgpu import errors

EXAMPLES = {
    errors.VideoError: errors.VideoError("gt/a.mp4", "holds no frame"),
    errors.ResultFileError: errors.ResultFileError(Path("b.json"), "$.score", "expected a number"),
}
CLASSES = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, errors.WbgpuError)
]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_an_error_comes_out_of_another_process_as_it_was(kind: type[errors.WbgpuError]) -> None:
    """One that cannot be unpickled hangs or breaks the pool that raised it, and hides the cause."""
    error = EXAMPLES.get(kind) or kind("what was wrong")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is kind
        assert str(again) == str(error)
        assert vars(again) == vars(error)


def test_an_error_names_the_file_and_the_place() -> None:
    """Both are for programs; the message is for people and holds them too."""
    error = EXAMPLES[errors.ResultFileError]
    assert (error.path, error.json_path) == (Path("b.json"), "$.score")
    assert str(error) == "b.json: $.score: expected a number"
    assert str(EXAMPLES[errors.VideoError]) == "gt/a.mp4: holds no frame"


def test_a_wrong_setting_is_also_a_value_error() -> None:
    """Callers from Python expect ValueError for a wrong argument."""
    assert issubclass(errors.ConfigurationError, ValueError)
