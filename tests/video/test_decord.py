"""decord beside other FFmpegs, quiet, and honest about what it cannot see."""

from __future__ import annotations

import importlib.util
import itertools
import subprocess
import sys

import numpy as np
import pytest

from tests.video.awkward_files import (
    decode,
    encode,
    pictures,
    with_overwritten_bytes,
    with_zeroed_bytes,
)
from wbgpu.errors import ConfigurationError, VideoError
from wbgpu.video.decord import DecordDecoder

_SUBPROCESS = """
import hashlib, sys
path, order = sys.argv[1], sys.argv[2].split(",")

def ours():
    from wbgpu.video.decord import DecordDecoder
    with DecordDecoder(verify=False).open(path) as reader:
        return reader.read(0, 10).permute(0, 2, 3, 1).contiguous().numpy().tobytes()

def foreign_decord():
    import decord
    decord.bridge.set_bridge("torch")
    return decord.VideoReader(path, num_threads=1).get_batch(range(10)).numpy().tobytes()

def pyav():
    import av
    with av.open(path) as container:
        frames = [f.to_ndarray(format="rgb24") for f in container.decode(video=0)][:10]
    return b"".join(frame.tobytes() for frame in frames)

def torchcodec():
    from torchcodec.decoders import VideoDecoder
    frames = VideoDecoder(path)[:10]
    return frames.permute(0, 2, 3, 1).contiguous().numpy().tobytes()

for name in order:
    print(name, hashlib.md5(globals()[name]()).hexdigest())
"""


def _orders() -> list[str]:
    names = ["ours", "pyav"]
    if importlib.util.find_spec("torchcodec"):
        names.append("torchcodec")
    orders = [",".join(order) for order in itertools.permutations(names)]
    return [*orders, "foreign_decord,ours,pyav", "ours,foreign_decord,pyav"]


@pytest.mark.parametrize("order", _orders())
def test_any_order_of_libraries_decodes_av1_equally(shared, order):
    """decord's FFmpeg and dav1d taking over would crash a training job that decodes AV1."""
    path = shared / "data" / "decode_corpus" / "av1_video.mkv"
    done = subprocess.run(
        [sys.executable, "-c", _SUBPROCESS, str(path), order], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [name for name, _ in lines] == order.split(",")
    assert len({digest for _, digest in lines}) == 1
    assert done.stderr == ""


def test_import_is_local_and_loads_no_cuda(tmp_path):
    """RTLD_GLOBAL and 400 MB of CUDA libraries must not come with a CPU decoder."""
    path = encode(tmp_path / "a.mp4", pictures(2, 48, 64))
    code = f"""
import ctypes, sys
from wbgpu.video.decord import DecordDecoder
before = {{line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}}
DecordDecoder(verify=False).open({str(path)!r}).close()
after = {{line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}}
assert any("libdecord" in name for name in after), "decord was not loaded"
assert not [name for name in after - before if "/nvidia/" in name]
assert not hasattr(ctypes.CDLL(None), "avcodec_version"), "decord's FFmpeg is visible to all"
assert ctypes.RTLD_GLOBAL != ctypes.RTLD_LOCAL
assert sys.modules.get("nvidia", 0) is not None
"""
    if not sys.platform.startswith("linux"):
        pytest.skip("reads /proc")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_verify_finds_what_decord_conceals(shared, tmp_path):
    """Without verification decord invents pixels and says nothing; so it is the default."""
    whole = shared / "data" / "bridge_suite" / "gt" / "000000000.mp4"
    path = with_overwritten_bytes(whole, tmp_path / "damaged.mp4", b"\xff" * 100)
    with DecordDecoder(verify=False).open(path) as reader:
        frames = reader.read(0, reader.info.num_frames).permute(0, 2, 3, 1).numpy()
    assert frames.shape == (20, 256, 256, 3)
    assert np.any(frames != decode(whole))
    with pytest.raises(VideoError, match="damaged"):
        DecordDecoder().open(path)


def test_what_decord_cannot_decode_is_a_video_error(tmp_path, capfd):
    """The error must name the file and what to do, and decord and FFmpeg must not chatter."""
    whole = encode(tmp_path / "whole.mp4", pictures(30, 48, 64), codec="libvpx-vp9")
    path = with_zeroed_bytes(whole, tmp_path / "damaged.mp4")
    capfd.readouterr()
    with (
        DecordDecoder(verify=False).open(path) as reader,
        pytest.raises(VideoError, match=r"damaged\.mp4: unreadable by decord at frame \d+ of 30"),
    ):
        reader.read(0, 30)
    assert capfd.readouterr().err == ""


def test_negative_threads():
    """A typo in a configuration must not reach FFmpeg."""
    with pytest.raises(ConfigurationError, match="num_threads"):
        DecordDecoder(num_threads=-1)
