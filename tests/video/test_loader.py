"""Windows put together again are exactly the videos, whatever the threads and sizes."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.statistics.forking import assert_works_in_a_fork, needs_fork, start_torch_threads
from tests.video.awkward_files import cut, encode, pictures, with_zeroed_bytes
from wbgpu.errors import AlignmentError, ConfigurationError, VideoError
from wbgpu.records.clip import Clip
from wbgpu.video.encode import write_video
from wbgpu.video.loader import WindowLoader
from wbgpu.video.pyav import PyavDecoder
from wbgpu.video.resize import resize_frames
from wbgpu.video.windows import (
    EpisodeClosed,
    EpisodeFailed,
    EpisodeOpened,
    EpisodeSource,
    PredictionRest,
    Window,
)

# (frames, height, width) of each episode: one step, packed, split, other sizes in between.
SHAPES = [(4, 12, 16), (9, 12, 16), (21, 12, 16), (7, 16, 12), (4, 16, 12), (30, 12, 16)]
NUM_CONTEXT = 3


class Episodes:
    def __init__(self, folder: Path, shapes) -> None:
        self.sources, self.targets, self.predictions = [], [], []
        for index, (num_frames, height, width) in enumerate(shapes):
            random = np.random.default_rng(index)
            pair = random.integers(0, 256, (2, num_frames, height, width, 3), dtype=np.uint8)
            paths = [folder / f"{kind}{index}.mp4" for kind in ("gt", "pred")]
            for path, frames in zip(paths, pair, strict=True):
                write_video(path, frames, 5, lossless=True)
            # Indices that are no positions: the loader must not mix them up.
            self.sources.append(EpisodeSource(100 + index, *map(Clip, paths)))
            self.targets.append(torch.from_numpy(pair[0]).permute(0, 3, 1, 2))
            self.predictions.append(torch.from_numpy(pair[1]).permute(0, 3, 1, 2))


@pytest.fixture(scope="module")
def episodes(tmp_path_factory) -> Episodes:
    return Episodes(tmp_path_factory.mktemp("episodes"), SHAPES)


def _load(sources, decoder=None, num_context=NUM_CONTEXT, policy="strict", **arguments):
    return WindowLoader(
        sources,
        decoder=decoder or PyavDecoder(),
        num_context=num_context,
        policy=policy,
        **arguments,
    )


def _reassemble(items, episodes: Episodes, num_context: int) -> None:
    """Check every row of every window against the frames that were written."""
    opened, closed, steps = [], [], {}
    for item in items:
        if isinstance(item, EpisodeOpened):
            opened.append(item.episode_index)
            steps[item.episode_index] = []
            continue
        if isinstance(item, EpisodeClosed):
            closed.append(item.episode_index)
            continue
        assert isinstance(item, Window), item
        assert item.target.dtype == item.prediction.dtype == torch.uint8
        assert item.target.permute(0, 2, 3, 1).is_contiguous()
        assert item.target.shape == item.prediction.shape
        assert item.target.shape[0] - len(item.row) in (0, 1)
        for n in range(len(item.row)):
            index, step = int(item.episode_index[n]), int(item.step[n])
            assert index not in closed
            steps[index].append(step)
            target, prediction = episodes.targets[index - 100], episodes.predictions[index - 100]
            frame = num_context + step - 1
            assert torch.equal(item.target[item.row[n]], target[frame])
            assert torch.equal(item.prediction[item.row[n]], prediction[frame])
            previous = int(item.previous_row[n])
            if step == 1:
                assert previous == -1
            else:
                assert torch.equal(item.target[previous], target[frame - 1])
                assert torch.equal(item.prediction[previous], prediction[frame - 1])
            if num_context == 0:
                assert item.context is None
                assert int(item.context_row[n]) == -1
            else:
                context = item.context[item.context_row[n]]
                assert torch.equal(context, target[num_context - 1])
    indices = [source.episode_index for source in episodes.sources]
    assert opened == closed == indices
    for index in indices:
        num_steps = episodes.targets[index - 100].shape[0] - num_context
        assert steps[index] == list(range(1, num_steps + 1))


@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    window_frames=st.one_of(st.none(), st.integers(1, 40)),
    num_workers=st.integers(1, 8),
    num_context=st.integers(0, 3),
)
def test_windows_hold_every_frame_once(episodes, window_frames, num_workers, num_context):
    """A frame lost, doubled or shifted at a window's border would move scores silently.

    With more workers than episodes, both sides of an episode are decoded at once.
    """
    loader = _load(
        episodes.sources,
        num_context=num_context,
        window_frames=window_frames,
        num_workers=num_workers,
    )
    _reassemble(loader, episodes, num_context)


def test_every_decoder(decoder, episodes):
    """And twice from one loader: a second epoch must not be empty."""
    loader = _load(episodes.sources, decoder, window_frames=8)
    _reassemble(loader, episodes, NUM_CONTEXT)
    _reassemble(loader, episodes, NUM_CONTEXT)


def test_waiting_frames_are_bounded(episodes, monkeypatch):
    """With room for nothing the loader must go on, one chunk at a time."""
    monkeypatch.setattr("wbgpu.video.loader._MAX_WAITING_BYTES", 0)
    _reassemble(_load(episodes.sources, window_frames=5, num_workers=3), episodes, NUM_CONTEXT)


@pytest.mark.parametrize("window_frames", [1, 7, 16, None])
def test_windows_are_as_large_as_asked(episodes, window_frames):
    """Larger ones would not fit the memory they were sized for; sizes must not mix."""
    windows = [
        item
        for item in _load(episodes.sources, window_frames=window_frames)
        if isinstance(item, Window)
    ]
    assert max(len(window.row) for window in windows) <= (window_frames or 10**9)
    # All of one size fits in the default window, so only the changes of size split it.
    if window_frames is None:
        assert [len(window.row) for window in windows] == [1 + 6 + 18, 4 + 1, 27]


def test_order_does_not_depend_on_threads(episodes):
    """Results must not depend on which file was decoded first."""

    def order(num_workers):
        return [
            tuple(item.step.tolist()) if isinstance(item, Window) else item
            for item in _load(episodes.sources, window_frames=6, num_workers=num_workers)
        ]

    assert order(1) == order(4)


def test_a_bad_episode_does_not_lose_the_others(decoder, tmp_path):
    """One corrupt file in a hundred: an error with its name, and ninety-nine scored."""
    episodes = Episodes(tmp_path, [(8, 48, 64)] * 6)
    whole = encode(tmp_path / "whole.mp4", pictures(30, 48, 64))
    with_zeroed_bytes(whole, tmp_path / "gt1.mp4")
    cut(whole, tmp_path / "pred2.mp4", 0.5)
    (tmp_path / "gt3.mp4").unlink()
    write_video(tmp_path / "pred4.mp4", pictures(7, 48, 64), 5)
    items = list(_load(episodes.sources, decoder, window_frames=4))
    failed = {item.episode_index: item.error for item in items if isinstance(item, EpisodeFailed)}
    closed = [item.episode_index for item in items if isinstance(item, EpisodeClosed)]
    assert closed == [100, 105]
    assert {index: type(error) for index, error in failed.items()} == {
        101: VideoError,
        102: VideoError,
        103: VideoError,
        104: AlignmentError,
    }
    for index, name in ((101, "gt1"), (102, "pred2"), (103, "gt3"), (104, "pred4")):
        assert f"{name}.mp4" in str(failed[index])


class _FailsLater:
    """PyavDecoder whose readers of one file fail from a frame on."""

    name = "pyav"

    def __init__(self, path: Path, frame: int, error: Exception) -> None:
        self._path, self._frame, self._error = path, frame, error
        self.num_open = 0

    def open(self, path):
        reader = PyavDecoder().open(path)
        read, close = reader.read, reader.close
        self.num_open += 1

        def failing_read(start, stop):
            if Path(path) == self._path and stop > self._frame:
                raise self._error
            return read(start, stop)

        def counted_close():
            self.num_open -= 1
            close()

        reader.read, reader.close = failing_read, counted_close
        return reader


def test_failure_in_the_middle(episodes):
    """Steps already handed out are followed by EpisodeFailed and never by EpisodeClosed."""
    path = episodes.sources[2].prediction.path
    decoder = _FailsLater(path, 15, VideoError(path, "the disk is gone"))
    items = list(_load(episodes.sources, decoder, window_frames=6))
    kinds = [
        type(item).__name__
        for item in items
        if (102 in item.episode_index if isinstance(item, Window) else item.episode_index == 102)
    ]
    assert kinds == ["EpisodeOpened", "Window", "Window", "EpisodeFailed"]
    closed = [item.episode_index for item in items if isinstance(item, EpisodeClosed)]
    assert closed == [100, 101, 103, 104, 105]
    assert decoder.num_open == 0


def test_a_bug_is_raised(episodes):
    """Only errors about files are an episode's; a bug must stop the run."""
    decoder = _FailsLater(episodes.sources[1].target.path, 5, ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        list(_load(episodes.sources, decoder))
    assert decoder.num_open == 0


def test_early_stop(episodes):
    """Leaving the loop closes files and ends threads."""
    decoder = _FailsLater(Path("none"), 0, ZeroDivisionError())
    iterator = iter(_load(episodes.sources, decoder, window_frames=1, num_workers=3))
    next(item for item in iterator if isinstance(item, Window))
    iterator.close()
    assert decoder.num_open == 0
    assert not [t for t in threading.enumerate() if t.name.startswith("wbgpu-decode")]


def test_safe_policy_resizes_and_trims(tmp_path):
    """The prediction is resized to the target's size and the common prefix is scored."""
    target, prediction = pictures(9, 48, 64, seed=1), pictures(8, 32, 40, seed=2)
    source = EpisodeSource(0, Clip(tmp_path / "gt.mp4"), Clip(tmp_path / "pred.mp4"))
    write_video(source.target.path, target, 5, lossless=True)
    write_video(source.prediction.path, prediction, 10, lossless=True)
    strict = list(_load([source], num_context=1))
    assert [type(item) for item in strict] == [EpisodeFailed]
    opened, *windows, closed = _load([source], num_context=1, policy="safe", window_frames=4)
    assert isinstance(opened, EpisodeOpened)
    assert isinstance(closed, EpisodeClosed)
    assert opened.alignment.resized
    assert opened.alignment.fps_differed
    assert opened.alignment.num_steps == 7
    assert len(opened.alignment.warnings) == 3
    scored = torch.cat([window.prediction[window.row] for window in windows])
    frames = torch.from_numpy(prediction[1:]).permute(0, 3, 1, 2)
    assert torch.equal(scored, resize_frames(frames, height=48, width=64))
    scored = torch.cat([window.target[window.row] for window in windows])
    assert torch.equal(scored, torch.from_numpy(target[1:8]).permute(0, 3, 1, 2))


@pytest.mark.parametrize("window_frames", [2, 9])
@pytest.mark.parametrize("resize", ["bilinear", "bicubic"])
def test_the_rest_of_a_longer_prediction(tmp_path, window_frames, resize):
    """Each frame once, in order, with the one before it, in the size that such metrics see."""
    target, prediction = pictures(5, 48, 64, seed=1), pictures(10, 32, 40, seed=2)
    source = EpisodeSource(0, Clip(tmp_path / "gt.mp4"), Clip(tmp_path / "pred.mp4"))
    write_video(source.target.path, target, 5, lossless=True)
    write_video(source.prediction.path, prediction, 5, lossless=True)
    items = list(
        _load(
            [source],
            num_context=1,
            policy="safe",
            window_frames=window_frames,
            resize=resize,
            whole_predictions=True,
        )
    )
    rests = [item for item in items if isinstance(item, PredictionRest)]
    assert items[-len(rests) - 1 : -1] == rests
    assert "all of its frames" in items[0].alignment.warnings[-1]
    frames = torch.from_numpy(prediction).permute(0, 3, 1, 2)
    if resize == "bilinear":
        frames = resize_frames(frames, height=48, width=64)
    assert torch.equal(torch.cat([rest.frames[1:] for rest in rests]), frames[5:])
    assert torch.equal(torch.cat([rest.frames[:1] for rest in rests]), frames[4:9:window_frames])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_context": -1}, "non-negative"),
        ({"policy": "loose"}, "'loose'"),
        ({"window_frames": 0}, "window_frames must be at least 1, but it is 0"),
        ({"num_workers": 0}, "num_workers must be at least 1, but it is 0"),
        ({"max_mismatch_frames": -1}, "max_mismatch_frames"),
    ],
)
def test_settings_are_checked_before_any_file_is_opened(arguments, message):
    """A wrong setting must not become an error of every episode."""
    with pytest.raises(ConfigurationError, match=message):
        _load([EpisodeSource(0, Clip(Path("missing")), Clip(Path("missing")))], **arguments)


def test_no_episodes():
    """Nothing in, nothing out."""
    assert list(_load([])) == []


@pytest.mark.parametrize("default", ["meta", torch.float16, torch.float64], ids=str)
def test_defaults_of_torch_do_not_reach_the_frames(decoder, episodes, default):
    """Programs set them for their model; indices on its device would not fit the frames."""
    loader = _load(episodes.sources, decoder, window_frames=16)
    try:
        if default == "meta":
            torch.set_default_device(default)
        else:
            torch.set_default_dtype(default)
        items = list(loader)
    finally:
        torch.set_default_device(None)
        torch.set_default_dtype(torch.float32)
    _reassemble(items, episodes, NUM_CONTEXT)


@needs_fork
def test_a_forked_process_loads_the_same_windows(decoder, tmp_path):
    """A worker that was forked after torch had been used would wait for threads it has not got."""
    # Large enough for torch to use threads for a frame.
    large = Episodes(tmp_path, [(7, 160, 176), (9, 160, 176), (30, 160, 176)])
    start_torch_threads()
    loader = _load(large.sources, decoder, window_frames=16)

    def arrays() -> list[np.ndarray]:
        # NumPy compares, because torch's own comparison of large frames hangs in a fork.
        names = ("target", "prediction", "row", "previous_row", "step", "context_row")
        windows = [item for item in loader if isinstance(item, Window)]
        return [np.asarray(getattr(window, name)) for window in windows for name in names]

    expected = arrays()

    def compare() -> None:
        for got, wanted in zip(arrays(), expected, strict=True):
            np.testing.assert_array_equal(got, wanted)

    assert len(expected) >= 18
    assert_works_in_a_fork(compare)


@pytest.mark.cuda
def test_windows_on_a_gpu_equal_those_on_the_cpu(episodes):
    """A pinned block reused before its copy has finished would corrupt frames."""
    on_gpu = list(_load(episodes.sources, window_frames=5, device="cuda"))
    on_cpu = list(_load(episodes.sources, window_frames=5))
    for gpu, cpu in zip(on_gpu, on_cpu, strict=True):
        if isinstance(cpu, Window):
            assert gpu.target.is_cuda
            assert torch.equal(gpu.target.cpu(), cpu.target)
            assert torch.equal(gpu.context.cpu(), cpu.context)
