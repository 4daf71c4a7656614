"""The conformance suite passes our decoders and catches one that breaks a promise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from wbgpu.errors import VideoError
from wbgpu.video.check_decoder import check_decoder
from wbgpu.video.pyav import PyavDecoder


def test_our_decoders_conform(decoder, tmp_path):
    """A backend that breaks the contract would reach users."""
    check_decoder(decoder, tmp_path)


class _Reader:
    def __init__(self, reader):
        self._reader = reader
        self.info = reader.info
        self.close = reader.close

    def read(self, start, stop):
        return self._reader.read(start, stop)

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.close()


class _Decoder:
    """PyavDecoder under another name; subclasses break one promise each."""

    name = "broken"
    reader = _Reader

    def open(self, path):
        reader = PyavDecoder().open(path)
        reader._info = replace(reader.info, backend=self.name)
        return self.reader(reader)


class _OneLevelOff(_Decoder):
    class reader(_Reader):
        def read(self, start, stop):
            frames = super().read(start, stop)
            if len(frames):
                frames[-1, 0, 0, 0] ^= 1
            return frames


class _ChannelsFirst(_Decoder):
    class reader(_Reader):
        def read(self, start, stop):
            return super().read(start, stop).contiguous()


class _ClampsRanges(_Decoder):
    class reader(_Reader):
        def read(self, start, stop):
            n = self.info.num_frames
            return super().read(max(0, min(start, n)), max(start, min(stop, n)))


class _SharesMemory(_Decoder):
    class reader(_Reader):
        def __init__(self, reader):
            super().__init__(reader)
            self._buffer = torch.empty(9, reader.info.height, reader.info.width, 3).byte()

        def read(self, start, stop):
            frames = super().read(start, stop).permute(0, 2, 3, 1)
            return self._buffer[: stop - start].copy_(frames).permute(0, 3, 1, 2)


class _OneFrameTooMany(_Decoder):
    def open(self, path):
        reader = super().open(path)
        reader.info = replace(reader.info, num_frames=10)
        return reader


class _ForgetsThePath(_Decoder):
    def open(self, path):
        try:
            return super().open(path)
        except VideoError as error:
            raise VideoError("the video", error.reason) from error


class _LeaksForeignErrors(_Decoder):
    def open(self, path):
        if not Path(path).is_file():
            raise FileNotFoundError(path)
        return super().open(path)


def test_the_unbroken_wrapper_conforms(tmp_path):
    """Otherwise the tests below would pass for the wrong reason."""
    check_decoder(_Decoder(), tmp_path)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (_OneLevelOff, "differ by up to 1 levels"),
        (_ChannelsFirst, "NHWC"),
        (_ClampsRanges, "raises nothing"),
        (_SharesMemory, "changes frames read before"),
        (_OneFrameTooMany, "info says"),
        (_ForgetsThePath, "does not name the file"),
        (_LeaksForeignErrors, "not VideoError"),
    ],
)
def test_broken_decoders_are_caught(broken, message, tmp_path):
    """A suite that passes everything proves nothing."""
    with pytest.raises(AssertionError, match=message):
        check_decoder(broken(), tmp_path)
