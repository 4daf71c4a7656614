from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.corruptions.videos import textured_video
from wbgpu.corruptions import ActionMismatch, Noise, PrematureMotion, Scramble, Stutter, corrupt
from wbgpu.episodes.pairing import Episode
from wbgpu.evaluation import corrupted_loader
from wbgpu.evaluation.corrupted_loader import CorruptedLoader, Variant
from wbgpu.evaluation.request import EvaluationRequest
from wbgpu.metrics import Mse
from wbgpu.records.clip import Clip
from wbgpu.video.encode import write_video
from wbgpu.video.pyav import PyavDecoder
from wbgpu.video.windows import EpisodeClosed, EpisodeFailed, EpisodeOpened, Window

NUM_FRAMES = 23
VARIANTS = [
    Variant(None, 0.0),
    Variant(ActionMismatch(), 1.0),
    Variant(PrematureMotion(), 0.5),
    Variant(Scramble(), 1.0),
    Variant(Stutter(), 0.5),
    Variant(Noise(), 0.5),
]


@pytest.fixture
def video(tmp_path: Path) -> torch.Tensor:
    frames = textured_video(NUM_FRAMES)
    write_video(tmp_path / "gt.mp4", frames, 5, lossless=True)
    return frames


def request(folder: Path, **settings) -> EvaluationRequest:
    return EvaluationRequest(folder, None, PyavDecoder(), {"mse": Mse()}, **settings)


def loaded(folder: Path, prediction: str = "gt.mp4", **settings):
    pair = Episode("gt.mp4", Clip(folder / "gt.mp4")).with_prediction(Clip(folder / prediction))
    return list(CorruptedLoader(request(folder, **settings), [pair], VARIANTS, seed=3))


@pytest.mark.parametrize("num_context", [0, 2])
@pytest.mark.parametrize("window_frames", [1, 4, 100])
def test_every_variant_is_the_whole_corrupted_video(
    tmp_path, video, num_context, window_frames, monkeypatch
):
    """However it is cut, and although blocks are dropped and decoded again."""
    monkeypatch.setattr(corrupted_loader, "_MAX_KEPT_BYTES", 1)
    items = loaded(tmp_path, num_context=num_context, window_frames=window_frames)
    for number, variant in enumerate(VARIANTS):
        windows = [i for i in items if isinstance(i, Window) and i.episode_index[0] == number]
        steps = np.concatenate([window.step for window in windows])
        assert steps.tolist() == list(range(1, NUM_FRAMES - num_context + 1))
        expected = video
        if variant.corruption is not None:
            expected = corrupt(
                video,
                variant.corruption,
                variant.severity,
                num_context=num_context,
                seed=3,
                episode_id="gt.mp4",
            )
        for window in windows:
            frames = torch.from_numpy(window.step) - 1 + num_context
            assert torch.equal(window.target[window.row], video[frames])
            assert torch.equal(window.prediction[window.row], expected[frames])
            has_previous = window.previous_row >= 0
            assert has_previous.tolist() == (window.step > 1).tolist()
            before = window.prediction[window.previous_row[has_previous]]
            assert torch.equal(before, expected[frames[has_previous] - 1])
            if num_context:
                assert torch.equal(window.context, video[num_context - 1 : num_context])
            else:
                assert window.context is None


def test_saved_predictions_are_corrupted_and_the_truth_is_not(tmp_path, video):
    prediction = textured_video(NUM_FRAMES, seed=1)
    write_video(tmp_path / "p.mp4", prediction, 5, lossless=True)
    windows = [i for i in loaded(tmp_path, "p.mp4", num_context=2) if isinstance(i, Window)]
    assert all(torch.equal(window.target, video[2:]) for window in windows)
    assert torch.equal(windows[0].prediction, prediction[2:])
    expected = corrupt(prediction, Scramble(), 1.0, num_context=2, seed=3, episode_id="gt.mp4")
    assert torch.equal(windows[3].prediction, expected[2:])


def test_predictions_of_another_size_and_length_are_aligned_as_in_an_evaluation(tmp_path, video):
    prediction = textured_video(NUM_FRAMES + 2)[..., ::2, ::2].contiguous()
    write_video(tmp_path / "p.mp4", prediction, 5, lossless=True)
    windows = [i for i in loaded(tmp_path, "p.mp4", alignment="safe") if isinstance(i, Window)]
    assert windows[0].prediction.shape == windows[0].target.shape == video.shape
    (failure, *_) = loaded(tmp_path, "p.mp4")
    assert isinstance(failure, EpisodeFailed)


def test_every_variant_is_opened_and_closed_or_fails(tmp_path, video):
    items = loaded(tmp_path)
    everyone = list(range(len(VARIANTS)))
    assert [i.episode_index for i in items if isinstance(i, EpisodeOpened)] == everyone
    assert [i.episode_index for i in items if isinstance(i, EpisodeClosed)] == everyone
    (tmp_path / "gt.mp4").write_bytes(b"no video")
    failed = loaded(tmp_path)
    assert [i.episode_index for i in failed if isinstance(i, EpisodeFailed)] == everyone
