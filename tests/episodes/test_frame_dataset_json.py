from __future__ import annotations

import json

import numpy as np
import pytest

from wbgpu.episodes.frame_dataset_json import (
    read_actions_json,
    read_metadata_json,
    read_states_json,
    vectors,
)

_READERS = {
    "actions": read_actions_json,
    "states": read_states_json,
    "metadata": read_metadata_json,
}


def _faults(tmp_path, role, text):
    path = tmp_path / f"{role}.json"
    path.write_text(text)
    return [str(fault).removeprefix(f"{path}: ") for fault in _READERS[role](path)[1]]


@pytest.mark.parametrize(
    ("role", "text", "place"),
    [
        ("actions", '[{"t": 0}, {"action": "up"}]', "$[1]: the key 't' is missing"),
        ("actions", '[{"t": "0"}]', "$[0].t: expected an integer, got '0'"),
        ("actions", '[{"t": true}]', "$[0].t: expected an integer"),
        ("actions", '[{"t": 0.5}]', "$[0].t: expected an integer"),
        ("actions", '[{"t": 0, "dx": null}]', "$[0].dx: expected a number, got null"),
        ("actions", '[{"t": 0, "dx": "1"}]', "$[0].dx: expected a number"),
        ("actions", '[{"t": 0, "dy": true}]', "$[0].dy: expected a number"),
        ("actions", '[{"t": 0, "gripper": 1}]', "$[0].gripper: expected a string"),
        ("actions", '[{"t": 0, "action": [1e200]}]', "$[0].action: element 0"),
        ("actions", '[{"t": 1}, {"t": 1}]', "$[1].t: is 1 after 1"),
        ("actions", '[{"t": 0}, 5]', "$[1]: expected an object, got 5"),
        ("actions", '{"t": 0}', "expected a list, got an object"),
        ("actions", '[{"t": 0, "dx": NaN}]', "NaN is not a finite number"),
        ("actions", '[{"t": 0, "dx": 1e999}]', "1e999 overflows"),
        ("actions", "[{", "not valid JSON"),
        ("actions", '[{"t": 0, "t": 1}]', "the key 't' stands twice"),
        ("actions", '[{"t": 0, "timestamp": "now"}]', "$[0].timestamp: expected a number"),
        ("states", '[{"t": 0, "robot_x": "3"}]', "$[0].robot_x: expected a number"),
        (
            "states",
            '[{"t": 0, "source_control_index": 1.5}]',
            "$[0].source_control_index: expected",
        ),
        ("metadata", "[]", "expected an object, got a list"),
        ("metadata", '{"fps": 0}', "$.fps: expected frames per second above 0, got 0"),
        ("metadata", '{"fps": "5"}', "$.fps: expected a number"),
        ("metadata", '{"robot": null}', "$.robot: expected a string, got null"),
        ("metadata", '{"timeline": "camera"}', "$.timeline: expected 'video' or 'control'"),
        ("metadata", '{"alignment_strategy": {"a": 1}}', "$.alignment_strategy.a: expected a str"),
        ("metadata", '{"episode_index": 1.5}', "$.episode_index: expected an integer"),
    ],
)
def test_a_malformed_field_is_named_by_its_path(tmp_path, role, text, place):
    """NaN in actions.json scores 100 in worldbench, and a file of 300 entries is not searched."""
    faults = _faults(tmp_path, role, text)
    assert any(place in fault for fault in faults), faults


def test_all_faults_of_a_file_are_named(tmp_path):
    """One at a time, a dataset of a hundred mistakes takes a hundred runs."""
    faults = _faults(tmp_path, "actions", '[{"t": 0, "dx": "a", "dy": "b"}, {"t": 1, "dx": null}]')
    assert [fault.partition(":")[0] for fault in faults] == ["$[0].dx", "$[0].dy", "$[1].dx"]


def test_a_missing_file_is_named(tmp_path):
    """Actions that are not there are another thing than no actions."""
    assert "does not exist" in str(read_actions_json(tmp_path / "actions.json")[1][0])


def test_what_worldbench_accepts_is_accepted(tmp_path):
    """Its own files have integral floats, nulls, and keys beyond the schema."""
    action = {"t": 0.0, "action": None, "dx": 1, "gripper": None, "timestamp": None, "mine": [1]}
    state = {"t": 0, "observation_state": {"a": 1}, "robot_x": None}
    metadata = {"fps": 5, "timeline": None, "alignment_strategy": {"a": "b"}, "mine": 1}
    for role, document in (("actions", [action]), ("states", [state]), ("metadata", metadata)):
        assert _faults(tmp_path, role, json.dumps(document)) == []


def test_vectors_are_those_of_all_records_or_none():
    """A model that is given zeros for a missing action predicts something else."""
    rows = ({"t": 0, "action": [1, 2.5]}, {"t": 1, "action": [3, 4]})
    found = vectors(rows, "action")
    assert found is not None
    assert found.dtype == np.float32
    assert found.tolist() == [[1.0, 2.5], [3.0, 4.0]]
    for other in ([1.0], "up", None, [1.0, True], [1.0, 1e300]):
        assert vectors((*rows, {"t": 2, "action": other}), "action") is None
    assert vectors((), "action") is None
