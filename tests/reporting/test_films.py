from __future__ import annotations

import io

import av
import numpy as np
import pytest
from skimage.metrics import structural_similarity

from tests.records.results import simple_suite, suite
from wbgpu import sdk
from wbgpu.reporting.film_sides import NoFilmError, film_sides, worst_and_best
from wbgpu.reporting.films import film
from wbgpu.video.encode import write_video

NUM_CONTEXT, NUM_FRAMES = 2, 9


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Ground truth and two checkpoints, lossless, and their results."""
    folder = tmp_path_factory.mktemp("films")
    generator = np.random.default_rng(3)
    truth = generator.integers(0, 256, (NUM_FRAMES, 24, 34, 3), dtype=np.uint8)
    noise = generator.integers(-40, 40, truth.shape)
    for name, frames in (
        ("gt", truth),
        ("good", np.clip(truth + noise // 8, 0, 255).astype(np.uint8)),
        ("bad", np.clip(truth + noise, 0, 255).astype(np.uint8)),
    ):
        for episode in ("a", "b"):
            write_video(folder / name / f"{episode}.mp4", frames, 5, lossless=True)
    for name in ("good", "bad"):
        result = sdk.evaluate(folder / "gt", folder / name, num_context=NUM_CONTEXT, name=name)
        sdk.save_result(result, folder / f"{name}.json")
    return folder


@pytest.fixture(scope="module")
def results(folder):
    return [sdk.load_result(folder / f"{name}.json") for name in ("bad", "good")]


@pytest.fixture(scope="module")
def made(results):
    baseline, candidate = results
    return film("a.mp4", film_sides("a.mp4", candidate, baseline, ()))


def read(path):
    with av.open(str(path)) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


def test_rows_are_of_the_frames_that_were_scored(folder, made):
    """One frame off, and the picture explains another score."""
    assert made.missing is None
    assert made.horizons == (1, 2, 3, 5, 6, 7)
    labels = [row.label for row in made.rows]
    assert labels == [
        "ground truth",
        "bad",
        "bad SSIM",
        "good",
        "good SSIM",
    ]
    for row, name in ((made.rows[0], "gt"), (made.rows[1], "bad"), (made.rows[3], "good")):
        frames = read(folder / name / "a.mp4")
        for horizon, picture in zip(made.horizons, row.pictures):
            assert np.array_equal(picture, frames[NUM_CONTEXT + horizon - 1])


def test_maps_are_scikit_images(made):
    """A map of another SSIM than the score's would point elsewhere."""
    truth = made.rows[0].pictures
    for frames, maps in ((made.rows[1], made.rows[2]), (made.rows[3], made.rows[4])):
        for target, prediction, picture in zip(truth, frames.pictures, maps.pictures):
            _, expected = structural_similarity(
                target, prediction, channel_axis=-1, data_range=255, full=True
            )
            inner = np.clip(expected.mean(axis=-1), 0, 1)[3:-3, 3:-3] * 255
            assert np.abs(picture[3:-3, 3:-3] - inner).max() <= 1


def test_the_video_shows_all_scored_steps_side_by_side(made):
    with av.open(io.BytesIO(made.video)) as container:
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
        assert container.streams.video[0].pix_fmt == "yuv420p"
    assert len(frames) == made.num_video_steps == NUM_FRAMES - NUM_CONTEXT
    assert frames[0].shape == (24, 3 * 34 + 2 * 4, 3)
    assert made.panels == ("ground truth", "bad", "good")


def test_without_a_baseline_there_is_a_prediction(results):
    alone = film("a.mp4", film_sides("a.mp4", results[1], None, ()))
    assert [row.label for row in alone.rows] == ["ground truth", "good", "good SSIM"]


def test_a_video_that_changed_is_not_shown(folder, results):
    """Its frames are not those of the score."""
    path = folder / "good/b.mp4"
    content = path.read_bytes()
    try:
        path.write_bytes(content + b"\0")
        with pytest.raises(NoFilmError, match=r"b.mp4 has changed since it was scored"):
            film_sides("b.mp4", results[1], None, ())
        path.unlink()
        with pytest.raises(NoFilmError, match=r"b.mp4 is not there any more"):
            film_sides("b.mp4", results[1], None, ())
    finally:
        path.write_bytes(content)


def test_relative_paths_are_found_beside_the_result(tmp_path):
    (tmp_path / "gt").mkdir()
    (tmp_path / "pred").mkdir()
    for name in ("gt", "pred"):
        (tmp_path / name / "a").write_bytes(b"video")
    sides = film_sides("a", simple_suite({"a": [70.0]}), None, [tmp_path])
    assert [side.clip.path for side in sides] == [tmp_path / "gt/a", tmp_path / "pred/a"]
    assert film("a", sides).missing is not None


def test_the_worst_come_first_and_none_comes_twice():
    result = simple_suite(
        {name: [score] for name, score in zip("abcde", (5.0, 3.0, 4.0, 1.0, 2.0))}
    )
    assert worst_and_best(result, None, 2) == ("d", "e", "c", "a")
    assert worst_and_best(result, None, 3) == ("d", "e", "b", "c", "a")
    assert worst_and_best(result, {"a": -1.0, "b": 2.0}, 1) == ("a", "b")
    assert worst_and_best(result, None, 0) == ()
    assert worst_and_best(suite([]), None, 3) == ()
