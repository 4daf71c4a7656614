"""Frames on the GPU: decoded there (NVDEC) where that gives the CPU's bytes and is faster.

NVDEC conceals damage without a sign, so it is used only where files need not be looked through
(``verify=False``). Then the rules of :mod:`wbgpu.video.nvdec_rules` decide, and the first frame of
NVDEC is compared with the CPU's. A file that any of this refuses is decoded on the CPU, and
``VideoInfo.device`` and ``fallback_reason`` say so.
"""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

import av
import numpy as np
import torch
from av.video.frame import VideoFrame
from torch import Tensor

from wbgpu.errors import ConfigurationError
from wbgpu.records.video import VideoInfo
from wbgpu.video.decoder import Decoder, VideoReader
from wbgpu.video.nv12_reader import Nv12Reader
from wbgpu.video.nvdec import decode_on_gpu, nvdec_capabilities
from wbgpu.video.nvdec_rules import (
    NvdecCapabilities,
    capability_refusal,
    nvdec_refusal,
    slower_on_gpu,
)
from wbgpu.video.probe import probe
from wbgpu.video.pyav import KeptFrames, PyavDecoder, open_on_cpu
from wbgpu.video.stream import open_video_stream
from wbgpu.video.yuv import yuv_to_rgb_coefficients

_VERIFIED = (
    "damage is looked for, which the GPU's decoder conceals; for files known to be whole, "
    "decoder.verify=false lets the GPU decode"
)
_is_forked = False


def _mark_forked() -> None:
    global _is_forked
    _is_forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_mark_forked)


class CudaDecoder:
    """Decodes on the GPU, or on the CPU with the reason recorded; the bytes are the same.

    Args:
        device: ``cuda``, ``cuda:N``, or ``auto`` for the current CUDA device.
        verify: look for concealed damage, which only the CPU's decoder reports; so the CPU decodes.
            Without it the packets are still looked at, see :func:`wbgpu.video.probe.probe`, but a
            file damaged otherwise may be scored as if it were whole.

    Raises:
        ConfigurationError: there is no such CUDA device.
    """

    def __init__(self, *, device: str = "cuda", verify: bool = True) -> None:
        self.verify = verify
        self._device = _cuda_device(device)
        self._capabilities: dict[str, NvdecCapabilities | str] = {}
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """``pyav_cuda``."""
        return "pyav_cuda"

    def open(self, path: str | Path) -> VideoReader:
        """Check a video and open it.

        Raises:
            ConfigurationError: in a forked process, where CUDA does not work.
            VideoError: missing, empty, not a video, damaged or incomplete.
        """
        _refuse_fork()
        if self.verify:
            return open_on_cpu(path, backend=self.name, fallback_reason=_VERIFIED)
        kept = KeptFrames()
        info = replace(probe(path, verify=False, on_frame=kept.add), backend=self.name)
        reason = self._refusal(info)
        if reason is None:
            assert kept.first is not None, "probe gives at least one frame"
            reader = self._open_on_gpu(info, kept.first)
            if isinstance(reader, Nv12Reader):
                return reader
            reason = reader
        return open_on_cpu(path, backend=self.name, fallback_reason=reason)

    def _refusal(self, info: VideoInfo) -> str | None:
        # The speed last: if the others refuse, the reader learns what stands in the way for good.
        reason = nvdec_refusal(info, _profile(info.path))
        if reason is not None:
            return reason
        capabilities = self._ask_driver(info.codec)
        if isinstance(capabilities, str):
            return capabilities
        return capability_refusal(info, capabilities) or slower_on_gpu(info)

    def _ask_driver(self, codec: str) -> NvdecCapabilities | str:
        with self._lock:
            if codec not in self._capabilities:
                try:
                    self._capabilities[codec] = nvdec_capabilities(codec, self._device)
                except OSError as error:
                    self._capabilities[codec] = (
                        f"the driver's video decoder cannot be used: {error}. In a container, set "
                        "NVIDIA_DRIVER_CAPABILITIES=compute,utility,video"
                    )
            return self._capabilities[codec]

    def _open_on_gpu(self, info: VideoInfo, first_frame: VideoFrame) -> Nv12Reader | str:
        """The reader, or why there is none."""
        coefficients = yuv_to_rgb_coefficients(info.color_space, info.color_range)
        assert coefficients is not None, "refused before"
        try:
            reader = Nv12Reader(
                replace(info, device=str(self._device)),
                coefficients,
                partial(decode_on_gpu, Path(info.path), info.codec, self._device),
            )
            found = reader.peek()
        except (av.FFmpegError, OSError, RuntimeError) as error:
            return f"the GPU's decoder does not take it: {error}"
        # What no rule foresees: cropping on the left or top, film grain, a fault in a driver.
        wanted = nv12_planes(first_frame)
        if found and all(torch.equal(f.cpu(), w) for f, w in zip(found, wanted, strict=True)):
            return reader
        reader.close()
        return "the GPU's decoder gives another first frame than the CPU"


def decoder_for_device(device: str) -> Decoder:
    """PyAV for the CPU, or :class:`CudaDecoder` for a GPU.

    Args:
        device: ``auto`` (a GPU if there is one), ``cpu``, ``cuda`` or ``cuda:N``.

    Raises:
        ConfigurationError: there is no such CUDA device.
    """
    if device == "cpu" or (device == "auto" and not torch.cuda.is_available()):
        return PyavDecoder()
    return CudaDecoder(device=device)


def nv12_planes(frame: VideoFrame) -> tuple[Tensor, Tensor]:
    """Luma ``[H, W]`` and chroma ``[ceil(H / 2), ceil(W / 2), 2]`` of an 8-bit 4:2:0 frame.

    Args:
        frame: decoded on the CPU: yuv420p or yuvj420p.
    """
    y, u, v = (
        np.frombuffer(memoryview(plane), np.uint8).reshape(plane.height, plane.line_size)[
            :, : plane.width
        ]
        for plane in frame.planes
    )
    return torch.from_numpy(y.copy()), torch.from_numpy(np.stack((u, v), -1))


def _profile(path: str) -> str | None:
    container, stream = open_video_stream(Path(path), num_threads=1)
    with container:
        return stream.profile


def _cuda_device(device: str) -> torch.device:
    advice = "Use decoder=pyav to decode on the CPU."
    if not torch.cuda.is_available():
        raise ConfigurationError(f"decoding on the GPU: PyTorch finds no CUDA device. {advice}")
    try:
        found = torch.device("cuda" if device == "auto" else device)
    except RuntimeError:
        found = torch.device("cpu")
    if found.type != "cuda" or (found.index or 0) >= torch.cuda.device_count():
        raise ConfigurationError(
            f"decoding on the GPU: {device!r} is not a CUDA device here; there are "
            f"{torch.cuda.device_count()}. {advice}"
        )
    return torch.device("cuda", torch.cuda.current_device() if found.index is None else found.index)


def _refuse_fork() -> None:
    if _is_forked:
        raise ConfigurationError(
            "decoding on the GPU does not work in a forked process. Start workers with the 'spawn' "
            "method, decode in the main process (num_workers=0), or use decoder=pyav."
        )
