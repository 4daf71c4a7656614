from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.video.awkward_files import pictures
from wbgpu.errors import VideoError
from wbgpu.records.clip import Clip
from wbgpu.records.timeline import NO_TIMELINE, Timeline
from wbgpu.video.encode import write_video
from wbgpu.video.pair_reader import PairReader
from wbgpu.video.pyav import PyavDecoder
from wbgpu.video.resize import resize_frames
from wbgpu.video.windows import EpisodeSource

both = pytest.mark.parametrize("on_two_threads", [False, True])


@pytest.fixture
def source(tmp_path: Path) -> EpisodeSource:
    source = EpisodeSource(0, Clip(tmp_path / "gt.mp4"), Clip(tmp_path / "pred.mp4"))
    write_video(source.target.path, pictures(9, 48, 64, seed=1), 5, lossless=True)
    write_video(source.prediction.path, pictures(9, 32, 40, seed=2), 5, lossless=True)
    return source


class _Watched:
    """PyavDecoder that remembers which thread used which file, and what is open."""

    name = "pyav"

    def __init__(self) -> None:
        self.threads: dict[str, set[str]] = {}
        self.num_open = 0

    def open(self, path):
        self._saw(path)
        reader = PyavDecoder().open(path)
        read, close = reader.read, reader.close
        self.num_open += 1

        def watched_read(start, stop):
            self._saw(path)
            return read(start, stop)

        def watched_close():
            self.num_open -= 1
            close()

        reader.read, reader.close = watched_read, watched_close
        return reader

    def _saw(self, path) -> None:
        self.threads.setdefault(Path(path).stem, set()).add(threading.current_thread().name)


def _frames(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(array).permute(0, 3, 1, 2)


@both
def test_frames_are_those_of_the_files_in_the_targets_size(source, on_two_threads):
    """Swapped or unresized sides would be scored without a word."""
    truth, guess = _frames(pictures(9, 48, 64, seed=1)), _frames(pictures(9, 32, 40, seed=2))
    with PairReader(source, PyavDecoder(), NO_TIMELINE, on_two_threads=on_two_threads) as pair:
        for start, stop in ((1, 4), (4, 9)):
            target, prediction, _ = pair.read(start, stop)
            assert torch.equal(target, truth[start:stop])
            assert torch.equal(prediction, resize_frames(guess[start:stop], height=48, width=64))
        assert torch.equal(pair.read_target(0, 1), truth[:1])


@both
def test_a_reader_belongs_to_one_thread(source, on_two_threads):
    """Readers are not thread-safe."""
    decoder = _Watched()
    with PairReader(source, decoder, NO_TIMELINE, on_two_threads=on_two_threads) as pair:
        pair.read(0, 3)
        pair.read(3, 6)
    here = threading.current_thread().name
    assert decoder.threads["gt"] == {here}
    assert len(decoder.threads["pred"]) == 1
    assert (decoder.threads["pred"] == {here}) is not on_two_threads
    assert decoder.num_open == 0
    assert not [t for t in threading.enumerate() if t.name.startswith("wbgpu-decode")]


@both
@pytest.mark.parametrize("missing", [("gt",), ("pred",), ("gt", "pred")], ids="-".join)
def test_the_targets_error_comes_first_and_nothing_stays_open(
    source, tmp_path, on_two_threads, missing
):
    """Which of two errors is reported must not depend on which thread was faster."""
    for name in missing:
        (tmp_path / f"{name}.mp4").unlink()
    decoder = _Watched()
    with pytest.raises(VideoError, match=rf"{missing[0]}\.mp4"):
        PairReader(source, decoder, NO_TIMELINE, on_two_threads=on_two_threads)
    assert decoder.num_open == 0


@both
def test_every_stage_is_measured(source, on_two_threads):
    """Resizing is slower than decoding, so it must not hide in it."""
    timeline = Timeline()
    with PairReader(source, PyavDecoder(), timeline, on_two_threads=on_two_threads) as pair:
        pair.read(0, 5)
    counts = sorted((span.stage, span.num_frames, span.num_bytes) for span in timeline.spans)
    assert counts == [
        ("decode", 5, 5 * 3 * 32 * 40),
        ("decode", 5, 5 * 3 * 48 * 64),
        ("open and check", 9, 0),
        ("open and check", 9, 0),
        ("resize", 5, 5 * 3 * 32 * 40),
    ]
