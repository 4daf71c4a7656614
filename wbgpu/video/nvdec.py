"""NV12 frames from the GPU's video decoder (NVDEC), by the FFmpeg inside PyAV.

The same demuxer and packet logic as on the CPU, so frames agree in number and order. Thin on
purpose: everything here needs a GPU to run. :mod:`wbgpu.video.nv12_reader` is what is around it.

FFmpeg works on the legacy default stream, which is PyTorch's default stream: what is launched there
runs after the frame is ready, and before its memory is used again.
"""

from __future__ import annotations

import ctypes
from collections.abc import Generator
from pathlib import Path

import torch
from av.codec.hwaccel import HWAccel
from av.video.codeccontext import VideoCodecContext
from torch import Tensor
from torch.utils.dlpack import from_dlpack

from wbgpu.video.nvdec_rules import NvdecCapabilities
from wbgpu.video.stream import open_video_stream

# cudaVideoCodec of NVIDIA's Video Codec SDK (cuviddec.h).
_CODEC_NUMBERS = {"h264": 4, "hevc": 8, "vp9": 10, "av1": 11}
_CHROMA_420 = 1


class _Capabilities(ctypes.Structure):
    """CUVIDDECODECAPS of the Video Codec SDK; since 8.1 only reserved parts have changed."""

    _fields_ = (
        ("codec", ctypes.c_int),
        ("chroma_format", ctypes.c_int),
        ("bit_depth_minus_8", ctypes.c_uint),
        ("reserved_1", ctypes.c_uint * 3),
        ("is_supported", ctypes.c_ubyte),
        ("num_nvdecs", ctypes.c_ubyte),
        ("output_format_mask", ctypes.c_ushort),
        ("max_width", ctypes.c_uint),
        ("max_height", ctypes.c_uint),
        ("max_num_macroblocks", ctypes.c_uint),
        ("min_width", ctypes.c_ushort),
        ("min_height", ctypes.c_ushort),
        ("reserved_2", ctypes.c_uint * 11),
    )


def nvdec_capabilities(codec: str, device: torch.device) -> NvdecCapabilities:
    """Ask the driver what it decodes of a codec, 8-bit 4:2:0.

    Raises:
        OSError: the driver's video library is not there or does not answer.
    """
    library = ctypes.CDLL("libnvcuvid.so.1")
    found = _Capabilities(codec=_CODEC_NUMBERS[codec], chroma_format=_CHROMA_420)
    with torch.cuda.device(device):
        _bind_context(device)
        status = library.cuvidGetDecoderCaps(ctypes.byref(found))
    if status != 0:
        raise OSError(f"cuvidGetDecoderCaps failed with CUDA error {status}")
    return NvdecCapabilities(
        is_supported=bool(found.is_supported),
        min_height=found.min_height,
        min_width=found.min_width,
        max_height=found.max_height,
        max_width=found.max_width,
        max_num_macroblocks=found.max_num_macroblocks,
    )


def decode_on_gpu(
    path: Path, codec: str, device: torch.device
) -> Generator[tuple[Tensor, Tensor], None, None]:
    """Luma ``[H, W]`` and chroma ``[H / 2, W / 2, 2]``, uint8, of every presented frame.

    The tensors are views of FFmpeg's memory, for use on the default stream only.

    Raises:
        av.FFmpegError, OSError, RuntimeError: NVDEC does not take the stream or fails in it.
    """
    # The context that PyTorch made: FFmpeg refuses to share a primary context that it did not make
    # itself, and memory of another context would be out of reach.
    acceleration = HWAccel(
        "cuda",
        str(device.index),
        allow_software_fallback=False,
        options={"primary_ctx": "0", "current_ctx": "1"},
        is_hw_owned=True,
    )
    with torch.cuda.device(device):
        _bind_context(device)
        if codec == "av1":
            # FFmpeg's first choice for AV1, dav1d, has no way to the GPU.
            container, stream = open_video_stream(path, num_threads=1)
            context = VideoCodecContext.create("av1", "r", acceleration)
            context.extradata = stream.codec_context.extradata
            context.thread_count = 1
        else:
            container, stream = open_video_stream(path, num_threads=1, acceleration=acceleration)
            context = stream.codec_context
    with container:
        for packet in container.demux(stream):
            for frame in context.decode(packet):
                if frame.is_corrupt:
                    raise RuntimeError("the decoder marks the frame as damaged")
                if frame.format.name != "cuda":
                    raise RuntimeError(f"the frame is {frame.format.name}, not on the GPU")
                luma, chroma = frame.planes
                # The capsule itself, because torch.from_dlpack would ask for a stream, which PyAV
                # does not know.
                yield from_dlpack(luma.__dlpack__()), from_dlpack(chroma.__dlpack__())


def _bind_context(device: torch.device) -> None:
    """Make PyTorch's CUDA context current on this thread, as the driver's functions want it."""
    torch.cuda.mem_get_info(device)
