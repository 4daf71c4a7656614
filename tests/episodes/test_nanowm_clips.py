from __future__ import annotations

import unicodedata

import pytest

from tests.episodes.nanowm_exports import files
from wbgpu.episodes.nanowm_clips import check_same_truth, find_rollouts
from wbgpu.errors import InputError, PairingError


def test_rollouts_by_their_names(tmp_path):
    """Comparisons, reconstructions and arrays beside them are no clips of their own."""
    root = files(
        tmp_path / "r",
        *(f"sample_0000_{kind}.mp4" for kind in ("gt", "gen", "compare")),
        *(f"more/sample_0001_{kind}.MP4" for kind in ("gt", "pred")),
        *(f"traj_0003_start_0010/{n}_video.mp4" for n in ("gt", "pred", "context", "reconst")),
        "traj_0003_start_0010/raw_data.npz",
        "_gt.mp4",
        "metrics.json",
    )
    found = find_rollouts(root, "rollouts")
    names = ["more/sample_0001", "sample_0000", "traj_0003_start_0010"]
    assert list(found.truths) == list(found.predictions) == names
    assert found.truths["more/sample_0001"] == root / "more/sample_0001_gt.MP4"
    assert found.predictions["sample_0000"] == root / "sample_0000_gen.mp4"
    assert found.predictions[names[2]] == root / "traj_0003_start_0010/pred_video.mp4"


def test_which_ground_truth_has_gone_through_the_codec(tmp_path):
    rollouts = files(tmp_path / "r", "sample_0000_gt.mp4")
    validation = files(tmp_path / "v", "traj_0000_start_0000/gt_video.mp4", "x_gen.mp4")
    assert find_rollouts(rollouts, "rollouts").of_codec
    assert not find_rollouts(validation, "rollouts").of_codec


def test_the_folder_of_one_episode(tmp_path):
    root = files(tmp_path / "traj_0000_start_0000", "gt_video.mp4", "pred_video.mp4")
    assert list(find_rollouts(root, "rollouts").truths) == ["traj_0000_start_0000"]


@pytest.mark.parametrize("other", ["a_pred.mp4", "a_gen.mkv", "a/pred_video.mp4"])
def test_two_predictions_of_one_episode_are_no_guess(tmp_path, other):
    root = files(tmp_path / "r", "a_gen.mp4", other)
    with pytest.raises(PairingError, match="episode a has two clips of its prediction"):
        find_rollouts(root, "rollouts")
    with pytest.raises(InputError, match="rollouts folder does not exist"):
        find_rollouts(tmp_path / "none", "rollouts")


def test_ground_truth_is_compared_by_its_bytes(tmp_path):
    """Files of one size and time differ all the same."""
    ours, theirs = tmp_path / "a", tmp_path / "b"
    files(ours, "0_gt.mp4", "1_gt.mp4", "2_gt.mp4")
    files(theirs, "0_gt.mp4", "0_gen.mp4", "2_gen.mp4")
    files(theirs, "1_gt.mp4", content=b"y")
    truths, other = find_rollouts(ours, "truth"), find_rollouts(theirs, "predictions")
    check_same_truth(truths, other, ["0", "2"])
    with pytest.raises(
        PairingError, match=r"1_gt.mp4 is not the file .*same_truth=false\n.*1\n  1"
    ):
        check_same_truth(truths, other, ["0", "1", "2"])


def test_ground_truth_is_compared_whatever_the_form_of_its_letters(tmp_path):
    """Episodes pair in spite of it, so the check must not pass them over."""
    ours = files(tmp_path / "a", unicodedata.normalize("NFC", "é_gt.mp4"))
    theirs = files(tmp_path / "b", unicodedata.normalize("NFD", "é_gt.mp4"), content=b"y")
    truths, other = find_rollouts(ours, "truth"), find_rollouts(theirs, "predictions")
    with pytest.raises(PairingError, match="is not the file"):
        check_same_truth(truths, other, truths.truths)
