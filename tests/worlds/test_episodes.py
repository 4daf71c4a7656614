"""Episodes on disk, read by the tool whose layout they are in."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from PIL import Image

from tests.worlds.documents import CART
from wbgpu.errors import ConfigurationError, InputError
from wbgpu.worlds import Renderer, load_world, roll_out, write_episodes

WORLD = load_world("block_to_bowl")
SEEDS = [11, 2, 2**64 - 1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("dataset")
    write_episodes(WORLD, path, SEEDS, 24)
    return path


def test_frames_and_records_are_those_of_the_rollout(folder):
    """Video, actions, states and tracks must tell one story, at the same step."""
    rollout = roll_out(WORLD, SEEDS, 24)
    renderer = Renderer(WORLD, 256)
    for index in range(3):
        episode = folder / f"episode_{index:03}"
        paths = sorted((episode / "frames").iterdir())
        assert [path.name for path in paths] == [f"{t:03}.png" for t in range(25)]
        frames = np.stack([np.asarray(Image.open(path)) for path in paths])
        np.testing.assert_array_equal(frames, renderer.frames(rollout.states[index]))
        actions = json.loads((episode / "actions.json").read_text())
        assert [WORLD.action_index(a["action"]) for a in actions] == rollout.actions[index].tolist()
        assert [a["t"] for a in actions] == list(range(24))
        assert all((a["dx"], a["dy"]) == renderer.motion(a["action"]) for a in actions)
        states = json.loads((episode / "states.json").read_text())
        assert [s["t"] for s in states] == list(range(25))
        for state, row in zip(states, rollout.states[index], strict=True):
            assert state["observation_state"] == {
                v.name: v.outcomes[i] for v, i in zip(WORLD.schema.variables, row, strict=True)
            }
        tracks = renderer.tracks(rollout.states[index])
        for name in ("robot", "object"):
            got = [[state[f"{name}_x"], state[f"{name}_y"]] for state in states]
            np.testing.assert_array_equal(got, tracks[name])
        metadata = json.loads((episode / "metadata.json").read_text())
        assert metadata["name"] == f"episode_{index:03}"
        assert (metadata["seed"], metadata["episode_index"]) == (SEEDS[index], index)
        assert metadata["world_sha256"] == WORLD.sha256
        assert metadata["fps"] == 5


def test_worldbench_accepts_the_dataset(folder):
    """The layout is worldbench's: its own validation and loader must agree."""
    from worldbench.dataset import load_dataset, validate_dataset

    report = validate_dataset(folder)
    assert report.is_valid
    assert (report.episode_count, report.frame_count) == (3, 75)
    assert {issue.message.split(".")[0] for issue in report.issues} == {
        "Missing predictions/ directory"
    }, "predictions are not ours to write"
    assert len(load_dataset(folder)) == 3


@pytest.mark.parametrize("name", ["block_to_bowl", "slippery_grid", "spectator"])
def test_worldbenchs_tracker_sees_robot_and_object_where_they_are(name, tmp_path):
    """Colours outside its thresholds, or hidden parts, would shift every semantic metric."""
    from worldbench.dataset import load_dataset
    from worldbench.utils import detect_object_centroid, detect_robot_centroid, load_rgb

    write_episodes(load_world(name), tmp_path, SEEDS, 30)
    for episode in load_dataset(tmp_path):
        for path, state in zip(episode.frames, episode.states, strict=True):
            image = load_rgb(path)
            robot, block = detect_robot_centroid(image), detect_object_centroid(image)
            np.testing.assert_allclose(robot, (state.robot_x, state.robot_y), atol=0.5)
            np.testing.assert_allclose(block, (state.object_x, state.object_y), atol=0.5)


def worldbench_scores(folder, tmp_path, choose):
    """worldbench's whole evaluation; ``choose`` names the frame that is predicted for a frame."""
    from worldbench.runners.evaluator import EvaluationRunner

    # Small and short: worldbench evaluates every horizon anew.
    write_episodes(WORLD, folder, SEEDS[:2], 10, size=96)
    predictions = tmp_path / "predictions"
    for episode in folder.iterdir():
        (predictions / episode.name).mkdir(parents=True)
        for path in (episode / "frames").iterdir():
            source = path.with_name(choose(path.name))
            shutil.copy(source, predictions / episode.name / path.name)
    return EvaluationRunner(folder, predictions).run().metrics


def test_truth_against_itself_scores_well(tmp_path):
    """The truth must look like one to worldbench's metrics; only failed moves cost a little."""
    scores = worldbench_scores(tmp_path / "truth", tmp_path, lambda name: name)
    assert scores["visual_similarity"].score == pytest.approx(100)
    assert scores["action_consistency"].score > 90
    assert scores["object_permanence"].score > 99
    assert scores["contact_realism"].status == "available"


def test_a_model_that_ignores_actions_scores_worse(tmp_path):
    """Episodes in which the robot hardly moves could not show a bad model."""
    scores = worldbench_scores(tmp_path / "truth", tmp_path, lambda _: "000.png")
    assert scores["action_consistency"].score < 80
    assert scores["visual_similarity"].score < 99


def test_long_episodes_sort_as_text(tmp_path):
    """worldbench sorts names as text: 1000.png must not come before 999.png."""
    (path,) = write_episodes(load_world("markov_chain"), tmp_path, [1], 1000, size=16)
    names = sorted(file.name for file in (path / "frames").iterdir())
    assert names[:2] == ["0000.png", "0001.png"]
    assert names[-1] == "1000.png"


def test_worlds_without_a_robot_have_no_robots_place(tmp_path):
    """A place that is not known must be missing, not zero."""
    (path,) = write_episodes(load_world("markov_chain"), tmp_path, [1], 3, size=16)
    states = json.loads((path / "states.json").read_text())
    assert all(set(s) == {"t", "object_x", "object_y", "observation_state"} for s in states)


def test_refuses_to_mix_datasets(tmp_path):
    """Episodes of two worlds under one roof would be evaluated as one suite."""
    world = load_world("markov_chain")
    write_episodes(world, tmp_path, [1], 2, size=16)
    with pytest.raises(InputError, match="holds episodes already"):
        write_episodes(world, tmp_path, [2], 2, size=16)


@pytest.mark.parametrize("fps", [0, -1, float("nan"), float("inf")])
def test_refuses_wrong_rates(fps, tmp_path):
    with pytest.raises(ConfigurationError, match="fps: expected a number above 0"):
        write_episodes(WORLD, tmp_path, [1], 2, fps=fps)
    assert not list(tmp_path.iterdir())


def test_refuses_worlds_without_a_picture(tmp_path):
    with pytest.raises(ConfigurationError, match="no picture"):
        write_episodes(load_world(CART), tmp_path, [1], 2)
