"""Frames for the GPU: the CPU's bytes, whoever decodes, and the reason where the GPU does not.

Without a GPU the CPU plays NVDEC; the tests marked ``cuda`` run the real one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import torch

from tests.conftest import REPOSITORY
from tests.video.awkward_files import (
    encode,
    pictures,
    with_overwritten_bytes,
    with_zeroed_bytes,
)
from tests.video.tagged_files import encode_tagged, nv12_frames
from tests.video.test_nvdec_rules import H264
from wbgpu.errors import ConfigurationError, VideoError
from wbgpu.video import cuda, nvdec_rules
from wbgpu.video.check_decoder import check_decoder
from wbgpu.video.cuda import CudaDecoder, decoder_for_device
from wbgpu.video.nv12_reader import Nv12Reader
from wbgpu.video.pyav import PyavDecoder


@pytest.fixture
def fake(monkeypatch):
    """NVDEC as it should be, on the CPU, and no size too small to be worth it."""
    monkeypatch.setattr(cuda, "_cuda_device", lambda device: torch.device("cpu"))
    monkeypatch.setattr(cuda, "nvdec_capabilities", lambda codec, device: H264)
    monkeypatch.setattr(cuda, "decode_on_gpu", lambda path, codec, device: nv12_frames(path))
    monkeypatch.setattr(nvdec_rules, "MIN_PIXELS", 0)


def _read(decoder, path):
    with decoder.open(path) as reader:
        frames = reader.read(0, reader.info.num_frames)
        assert str(frames.device) == reader.info.device
        return reader, frames.cpu()


def _reason(path):
    """Why the CPU decoded, after its frames were compared."""
    reader, frames = _read(CudaDecoder(verify=False), path)
    assert torch.equal(frames, _read(PyavDecoder(), path)[1])
    assert isinstance(reader, Nv12Reader) == (reader.info.fallback_reason is None)
    assert reader.info.backend == "pyav_cuda"
    return reader.info.fallback_reason


def test_conformance(fake, tmp_path):
    """Every promise of a decoder, on files that the GPU must not take."""
    check_decoder(CudaDecoder(verify=False), tmp_path)


# What keeps each file of the corpus from the GPU.
CORPUS = {
    "animated.gif": "gif is not decoded",
    "av1_video.mkv": None,
    "bt601_full_range.mp4": None,
    "bt601_limited_range.mp4": None,
    "discard_first_keyframe.mp4": None,
    "h264_10bits.mp4": "yuv420p10le",
    "h265_video.mp4": None,
    "nasa_13013_rotated.mp4": None,
    "test_non_zero_start.mp4": None,
    "testsrc2_444_8bit_hevc.mp4": "yuv444p",
    "testsrc2_av1_10bit.mp4": "yuv420p10le",
    "testsrc2_mpeg4.mp4": "mpeg4 is not decoded",
    "testsrc2_odd_height_and_width_444.mp4": "yuv444p",
    "testsrc2_odd_height_and_width_vp9.mp4": "321x241: odd sizes",
    "testsrc2_vp9.webm": None,
}


def test_corpus(fake, shared):
    """Rotation, edit lists, full range, 4:4:4, 10 bit: the CPU's bytes, and the right reasons."""
    folder = shared / "data" / "decode_corpus"
    assert set(CORPUS) == set(json.loads((folder / "expected.json").read_text()))
    for name, words in CORPUS.items():
        reason = _reason(folder / name)
        assert (reason is None) == (words is None), (name, reason)
        assert words is None or words in (reason or ""), (name, reason)


def test_short_videos_stay_on_the_cpu(fake, monkeypatch, tmp_path):
    """The rule is used, with its own limit, and the result says so."""
    monkeypatch.undo()
    monkeypatch.setattr(cuda, "_cuda_device", lambda device: torch.device("cpu"))
    monkeypatch.setattr(cuda, "nvdec_capabilities", lambda codec, device: H264)
    reason = _reason(encode(tmp_path / "a.mp4", pictures(5, 64, 64)))
    assert "5 frames of 64x64 are decoded faster on the CPU" in (reason or "")


def test_the_cpu_decodes_what_must_be_looked_through(fake, monkeypatch, tmp_path):
    """NVDEC conceals damage, so by default it may not give frames; the reason says what to do."""
    monkeypatch.setattr(cuda, "decode_on_gpu", None)
    path = encode(tmp_path / "a.mp4", pictures(5, 64, 64))
    reader, frames = _read(CudaDecoder(), path)
    assert torch.equal(frames, _read(PyavDecoder(), path)[1])
    assert "decoder.verify=false lets the GPU decode" in reader.info.fallback_reason
    assert reader.info.backend == "pyav_cuda"


def test_too_small_for_the_hardware(fake, tmp_path):
    """32x32 (VideoProcessingFramework #421)."""
    reason = _reason(encode(tmp_path / "a.mp4", pictures(5, 32, 32)))
    assert reason == "32x32 is too small: this GPU decodes h264 from 48x16"


@pytest.mark.parametrize("verify", [True, False])
def test_lost_blocks_are_found(fake, tmp_path, verify):
    """NVDEC conceals them without a sign; neither setting may score them."""
    whole = encode(tmp_path / "whole.mp4", pictures(30, 48, 96))
    with pytest.raises(VideoError, match=r"holed\.mp4: unreadable in part: damaged"):
        CudaDecoder(verify=verify).open(with_zeroed_bytes(whole, tmp_path / "holed.mp4"))


def test_other_damage(fake, monkeypatch, shared, tmp_path):
    """Found by default; without verifying only where the CPU gives the frames after all."""
    whole = shared / "data" / "bridge_suite" / "gt" / "000000000.mp4"
    path = with_overwritten_bytes(whole, tmp_path / "changed.mp4", b"\xff" * 100)
    with pytest.raises(VideoError, match="damaged"):
        CudaDecoder().open(path)
    CudaDecoder(verify=False).open(path).close()
    monkeypatch.setattr(nvdec_rules, "MIN_PIXELS", 2**40)
    with pytest.raises(VideoError, match="damaged"):
        CudaDecoder(verify=False).open(path)


def test_another_first_frame(fake, monkeypatch, tmp_path):
    """Two videos of one coded size and different crops (torchcodec #1704), film grain, a fault."""
    path = encode(tmp_path / "a.mp4", pictures(5, 64, 64))
    for other in (pictures(5, 64, 64, seed=1), pictures(5, 62, 64)):
        wrong = encode(tmp_path / "b.mp4", other)
        monkeypatch.setattr(cuda, "decode_on_gpu", lambda *_, wrong=wrong: nv12_frames(wrong))
        assert _reason(path) == "the GPU's decoder gives another first frame than the CPU"
    monkeypatch.setattr(cuda, "decode_on_gpu", lambda *_: (planes for planes in ()))
    assert "another first frame" in (_reason(path) or "")


def test_decoder_that_fails_at_once(fake, monkeypatch, tmp_path):
    """The CPU decodes it, and the decoder's words are kept."""

    def fail(*_):
        raise RuntimeError("no decoding session left")
        yield

    monkeypatch.setattr(cuda, "decode_on_gpu", fail)
    reason = _reason(encode(tmp_path / "a.mp4", pictures(5, 64, 64)))
    assert reason == "the GPU's decoder does not take it: no decoding session left"


def test_driver_without_video(fake, monkeypatch, tmp_path):
    """A container without the video capability: told once, with what to do, and decoded anyway."""
    asked = []

    def missing(codec, device):
        asked.append(codec)
        raise OSError("libnvcuvid.so.1: cannot open shared object file")

    monkeypatch.setattr(cuda, "nvdec_capabilities", missing)
    path = encode(tmp_path / "a.mp4", pictures(5, 64, 64))
    decoder = CudaDecoder(verify=False)
    for _ in range(2):
        reason = _read(decoder, path)[0].info.fallback_reason
        assert "libnvcuvid.so.1" in reason
        assert "NVIDIA_DRIVER_CAPABILITIES" in reason
    assert asked == ["h264"]


def test_no_gpu(monkeypatch):
    """The message must lead to a run that works."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigurationError, match=r"finds no CUDA device.*decoder=pyav"):
        CudaDecoder()


@pytest.mark.parametrize("device", ["cuda:1", "cpu", "gpu"])
def test_no_such_gpu(monkeypatch, device):
    """A typo or a device that is not there must not fall back in silence."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(ConfigurationError, match=f"'{device}' is not a CUDA device here"):
        CudaDecoder(device=device)


def test_decoder_for_device(fake, monkeypatch):
    """A CPU run must stay as it was; a GPU run gets the GPU's decoder."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert decoder_for_device("cpu").name == "pyav"
    assert decoder_for_device("auto").name == "pyav"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert decoder_for_device("cpu").name == "pyav"
    assert decoder_for_device("auto").name == "pyav_cuda"
    assert decoder_for_device("cuda:0").name == "pyav_cuda"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_workers_are_refused():
    """CUDA in a forked process hangs or crashes (torchcodec #566)."""
    program = """
import os, torch
from wbgpu.errors import ConfigurationError
from wbgpu.video import cuda
cuda._cuda_device = lambda device: torch.device("cpu")
decoder = cuda.CudaDecoder()
if os.fork() == 0:
    try:
        decoder.open("a.mp4")
    except ConfigurationError as error:
        print(error, flush=True)
    os._exit(0)
os.wait()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "does not work in a forked process" in done.stdout
    assert "spawn" in done.stdout
    assert "decoder=pyav" in done.stdout


@pytest.mark.cuda
def test_conformance_on_the_gpu(tmp_path):
    """Fallbacks among readers on several threads."""
    check_decoder(CudaDecoder(verify=False), tmp_path)


@pytest.mark.cuda
def test_corpus_on_the_gpu(monkeypatch, shared):
    """The real NVDEC: what it takes has the CPU's bytes, and it takes what it should."""
    monkeypatch.setattr(nvdec_rules, "MIN_PIXELS", 0)
    folder = shared / "data" / "decode_corpus"
    for name, words in CORPUS.items():
        reason = _reason(folder / name)
        assert words is None or words in (reason or ""), (name, reason)
    assert _reason(folder / "nasa_13013_rotated.mp4") is None
    assert _reason(folder / "bt601_full_range.mp4") is None


@pytest.mark.cuda
def test_one_coded_size_two_shown_sizes_on_the_gpu(monkeypatch, tmp_path):
    """1280x532 then 1280x530, both coded as 1280x544 (torchcodec #1704)."""
    monkeypatch.setattr(nvdec_rules, "MIN_PIXELS", 0)
    for height in (532, 530, 532):
        path = encode(tmp_path / f"{height}.mp4", pictures(20, height, 1280))
        assert _reason(path) is None


@pytest.mark.cuda
@pytest.mark.parametrize("color_range", ["limited", "full"])
@pytest.mark.parametrize("space", ["bt709", None, "smpte170m", "bt470bg"])
def test_tags_on_the_gpu(monkeypatch, tmp_path, space, color_range):
    """Every covered tag, through the real kernel."""
    monkeypatch.setattr(nvdec_rules, "MIN_PIXELS", 0)
    path = encode_tagged(
        tmp_path / "a.mp4", space, color_range, height=128, width=192, num_frames=40
    )
    assert _reason(path) is None


@pytest.mark.cuda
def test_small_and_other_formats_on_the_gpu(monkeypatch, tmp_path):
    """32x32, 17x13 in 4:4:4 (torchcodec #1414): refused with a reason, never wrong."""
    monkeypatch.setattr(nvdec_rules, "MIN_PIXELS", 0)
    assert "too small" in (_reason(encode(tmp_path / "a.mp4", pictures(5, 32, 32))) or "")
    odd = encode(tmp_path / "b.mp4", pictures(7, 13, 17), pixel_format="yuv444p")
    assert "yuv444p" in (_reason(odd) or "")


@pytest.mark.cuda
def test_long_video_on_the_gpu(tmp_path):
    """The rule lets a long video through, and reading in pieces streams it."""
    path = encode(tmp_path / "a.mp4", pictures(60, 480, 640))
    expected = _read(PyavDecoder(), path)[1]
    with CudaDecoder(verify=False).open(path) as reader:
        assert reader.info.device.startswith("cuda:")
        for start in range(0, 60, 7):
            stop = min(start + 7, 60)
            assert torch.equal(reader.read(start, stop).cpu(), expected[start:stop])
