"""scripts/examples: the projects run from nothing to a table; the committed tables are theirs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
import torch

from tests.conftest import REPOSITORY
from wbgpu.video.encode import write_video

EXAMPLES = REPOSITORY / "scripts/examples"
COMMITTED = REPOSITORY / "artifacts/checkpoint_validation"
FOLDERS = {
    "robot_video": "robot_video",
    "robot_video_drawn": "robot_video",
    "world_tokens": "world_tokens",
}
SMALL = {
    "robot_video": {
        "EPOCHS": {"early": 1, "middle": 2, "late": 3},
        "NUM_FOLDS": 2,
        "NUM_DRAWN": 2,
    },
    "world_tokens": {
        "STEPS": {"early": 1, "middle": 10, "late": 20},
        "TRAINING_SEEDS": range(10_000, 10_004),
    },
}
SMALL_JUDGE = {
    "robot_video": {},
    "world_tokens": {"SEEDS": range(3), "NUM_STEPS": 4, "EPISODES": range(3), "HORIZON": 2},
}


def run(project, code, cwd):
    """Run code as one of a project's scripts would."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"import sys\nfrom pathlib import Path\n{code}"],
        cwd=cwd,
        env={"PATH": "", "HOME": str(cwd), "PYTHONPATH": str(EXAMPLES / project)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def run_small(project, cwd):
    """Both scripts, with settings that take seconds."""
    small = {"train": SMALL[project], "judge": SMALL_JUDGE[project]}
    settings = {
        module: "".join(f"{module}.{name} = {value!r}\n" for name, value in values.items())
        for module, values in small.items()
    }
    arguments = ["drawn", "work"] if project == "robot_video" else ["work"]
    start = f"import train\n{settings['train']}"
    run(project, f"{start}sys.argv[1:] = {arguments}\ntrain.main()", cwd)
    judge = f"import judge\n{settings['judge']}sys.argv[1:] = ['work', '.']\njudge.main()"
    run(project, f"{start}{judge}", cwd)


def compare(committed, reproduced):
    return subprocess.run(
        [sys.executable, EXAMPLES / "compare_figures.py", committed, reproduced],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_robot_video_from_drawn_episodes_to_a_table(tmp_path):
    """A project that does not run, or a callback whose numbers are not the checkpoint's."""
    run_small("robot_video", tmp_path)
    watched = json.loads((tmp_path / "watched.json").read_text("utf-8"))
    assert watched["largest_difference"] == 0
    assert watched["num_numbers"] > 3 * 2 * 5
    table = (tmp_path / "README.md").read_text("utf-8")
    for kind in ("copy_last", "early", "middle", "late", "shuffled_actions", "frozen_video"):
        assert f"\n| {kind} |" in table
    document = json.loads((tmp_path / "late.json").read_text("utf-8"))
    assert document["episode_count"] == 2
    assert document["ground_truth_root"] == "work/suite/gt"


@pytest.mark.slow
def test_world_tokens_from_nothing_to_a_table(tmp_path):
    run_small("world_tokens", tmp_path)
    figures = json.loads((tmp_path / "figures.json").read_text("utf-8"))["figures"]
    values = {one["name"]: one["value"] for one in figures}
    assert values["states oracle regret_nats_per_step"] == 0
    assert values["states late regret_nats_per_step"] < values["states early regret_nats_per_step"]
    assert (
        values["frames late regret_nats_per_token"] < values["frames early regret_nats_per_token"]
    )


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_committed_tables_are_made_from_the_committed_results(folder, tmp_path):
    """A typed number, or results of another run than the table's."""
    shutil.copytree(COMMITTED / folder, tmp_path / "copy")
    for name in ("README.md", "figures.json"):
        (tmp_path / "copy" / name).unlink()
    run(FOLDERS[folder], "import judge\njudge.summarise(Path('copy'))", tmp_path)
    made, committed = (
        (root / "README.md").read_text("utf-8") for root in (tmp_path / "copy", COMMITTED / folder)
    )
    assert made == committed
    assert compare(COMMITTED / folder, tmp_path / "copy").returncode == 0


@pytest.mark.parametrize("folder", FOLDERS)
def test_what_is_committed_names_no_place_of_a_machine(folder):
    for path in (COMMITTED / folder).iterdir():
        text = path.read_text("utf-8")
        for place in ("/tmp/", "/home/", "/root/", "/work/"):
            assert place not in text, path


def verdicts_of(folder):
    document = json.loads((COMMITTED / folder / "figures.json").read_text("utf-8"))
    return {(one["baseline"], one["candidate"]): one for one in document["verdicts"]}


def test_the_gate_passes_the_better_and_fails_the_broken_checkpoints():
    """Where there are enough episodes to tell."""
    verdicts = verdicts_of("robot_video_drawn")
    assert verdicts["early", "late"]["noninferiority"] == "PASS"
    assert verdicts["middle", "late"]["noninferiority"] == "PASS"
    assert verdicts["late", "shuffled_actions"]["noninferiority"] == "FAIL"
    assert verdicts["late", "frozen_video"]["noninferiority"] == "FAIL"


def test_on_ten_real_episodes_the_moving_region_decides():
    verdicts = verdicts_of("robot_video")
    skill = {
        pair: verdict["changes"]["skill_persistence_dynamic"]["says"]
        for pair, verdict in verdicts.items()
    }
    assert skill["copy_last", "late"] == skill["early", "late"] == "no worse"
    assert skill["late", "frozen_video"] == "worse"
    assert verdicts["late", "frozen_video"]["noninferiority"] == "FAIL"
    assert skill["late", "shuffled_actions"] == "undecided"


@pytest.mark.parametrize("folder", ["robot_video", "robot_video_drawn"])
def test_the_callback_logged_the_numbers_of_the_checkpoints(folder):
    watched = json.loads((COMMITTED / folder / "watched.json").read_text("utf-8"))
    assert watched["largest_difference"] == 0
    assert watched["num_numbers"] >= 300


def test_pixels_and_regret_disagree_on_the_action_blind_model():
    """The example that docs/checkpoint-validation.md explains."""
    figures = json.loads((COMMITTED / "world_tokens/figures.json").read_text("utf-8"))["figures"]
    values = {one["name"]: one["value"] for one in figures}
    blind, middle = (
        {name: values[f"frames {kind} {name}"] for name in ("psnr", "regret_nats_per_token")}
        for kind in ("action_blind", "middle")
    )
    assert blind["regret_nats_per_token"] < middle["regret_nats_per_token"]
    assert blind["psnr"] < middle["psnr"]


def test_figures_outside_their_tolerance_are_named(tmp_path):
    """A reproduction that is far off, lacks a figure, or decides otherwise must not pass."""
    verdict = {"baseline": "a", "candidate": "b", "worldbench": "PASS", "noninferiority": "FAIL"}
    figures = [
        {"name": "psnr", "value": 20.0, "tolerance": 0.5},
        {"name": "composite", "value": 80.0, "tolerance": 1.0},
    ]

    def write(name, values, verdicts):
        folder = tmp_path / name
        folder.mkdir()
        text = json.dumps({"figures": values, "verdicts": verdicts})
        (folder / "figures.json").write_text(text)
        return folder

    committed = write("committed", figures, [verdict])
    near = [{**figures[0], "value": 20.4}, figures[1]]
    assert compare(committed, write("near", near, [verdict])).returncode == 0
    for name, values, verdicts, message in (
        ("far", [{**figures[0], "value": 20.6}, figures[1]], [verdict], "OUTSIDE"),
        ("nan", [{**figures[0], "value": float("nan")}, figures[1]], [verdict], "OUTSIDE"),
        ("missing", figures[1:], [verdict], "missing"),
        ("other", figures, [{**verdict, "noninferiority": "PASS"}], "CHANGED"),
        ("undecided", figures, [], "CHANGED"),
    ):
        done = compare(committed, write(name, values, verdicts))
        assert done.returncode == 1, name
        assert message in done.stdout


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"figures": [{"name": "a", "value": "x", "tolerance": 1}], "verdicts": []}',
        '{"figures": [{"name": "a", "value": null, "tolerance": 1}], "verdicts": []}',
        '{"figures": [], "verdicts": [{}]}',
    ],
)
def test_a_broken_file_is_no_difference(tmp_path, text):
    """Exit 1 means other figures and nothing else."""
    for name, content in (("whole", '{"figures": [], "verdicts": []}'), ("broken", text)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "figures.json").write_text(content)
    for folders in (("whole", "broken"), ("broken", "whole"), ("whole", "none")):
        done = compare(*(tmp_path / folder for folder in folders))
        assert done.returncode == 2, folders
        assert "Traceback" not in done.stderr
        assert "figures.json" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected a project and OUTPUT"),
        (["world_tokens"], "expected a project and OUTPUT"),
        (["other", "out"], "expected robot_video or world_tokens, got other"),
        (["world_tokens", "out", "episodes"], "too many arguments"),
        (["robot_video", "out", "missing"], "no folder of episodes: missing"),
    ],
)
def test_a_slip_of_the_finger_trains_nothing(tmp_path, arguments, message):
    """A mistyped EPISODES once trained on drawn episodes and compared them with real ones."""
    done = subprocess.run(
        ["bash", EXAMPLES / "reproduce", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert message in done.stderr
    assert not any(tmp_path.iterdir())


def test_episodes_that_cannot_be_trained_on_are_named(tmp_path):
    """Each once ended in a traceback of torch or NumPy, or only after the training."""

    def message(folder):
        start = f"import train\ntrain.NUM_FOLDS = 1\nsys.argv[1:] = [{folder!r}, 'work']"
        with pytest.raises(AssertionError) as caught:
            run("robot_video", f"{start}\ntrain.main()", tmp_path)
        assert "Traceback" not in str(caught.value)
        return str(caught.value)

    (tmp_path / "episodes").mkdir()
    assert "expected at least 1 episodes" in message("episodes")
    write_video(tmp_path / "episodes/a.mp4", torch.zeros(2, 3, 16, 16, dtype=torch.uint8), 5.0)
    assert "a.mp4 has no actions" in message("episodes")
    np.savez(tmp_path / "episodes/a.npz", actions=np.zeros((2, 1)), states=np.zeros((2, 1)))
    assert "expected one array of actions, found ['actions', 'states']" in message("episodes")


def test_examples_use_only_what_is_public():
    """What an outside user must import from within is missing from the public interface."""
    public = {
        "wbgpu",
        "wbgpu.integrations.lightning",
        "wbgpu.models",
        "wbgpu.video.encode",
        "wbgpu.worlds",
    }
    for path in EXAMPLES.glob("*/*.py"):
        imported = re.findall(r"^(?:from|import) (wbgpu[\w.]*)", path.read_text("utf-8"), re.M)
        assert set(imported) <= public, path
