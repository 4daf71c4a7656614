"""A folder of worldbench's NanoWM adapter: its own `eval-batch` and ``suite=nanowm`` agree."""

from __future__ import annotations

from worldbench.runners.regression import evaluate_video_batch

import wbgpu
from tests.corruptions.videos import textured_video
from tests.differential.test_worldbench_scores import assert_equal_scores
from tests.episodes.nanowm_exports import manifest, write_manifest
from wbgpu.records.worldbench import batch_payload
from wbgpu.video.encode import write_video

PATHS = ("rt1/episode_000000.mp4", "rt1/episode_000001.mp4")


def test_scores_of_a_prepared_folder(tmp_path):
    """Under worldbench's ids, so a baseline that it has scored gates a candidate that we score."""
    for seed, path in enumerate(PATHS):
        truth = textured_video(12, seed)
        write_video(tmp_path / "ground_truth" / path, truth, 3)
        for folder, shift in (("baseline", 3), ("candidate", 1)):
            write_video(tmp_path / folder / path, truth.roll(shift, -1), 3)
    write_manifest(tmp_path, manifest(*PATHS))
    for folder in ("baseline", "candidate"):
        ours = wbgpu.evaluate(tmp_path, tmp_path / folder, overrides=["suite=nanowm"])
        theirs, _ = evaluate_video_batch(
            tmp_path / "ground_truth",
            tmp_path / folder,
            skip_context=4,
            output_root=tmp_path / "runs",
            output=tmp_path / "theirs.json",
        )
        assert [episode.episode_id for episode in ours.episodes] == list(PATHS)
        assert_equal_scores(batch_payload(ours), theirs)
