"""The kernel has the bits of the readable conversion."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

triton = pytest.importorskip("triton")

from tests.conftest import REPOSITORY  # noqa: E402

SHAPES = ((1, 2, 2), (2, 34, 18), (3, 16, 64), (2, 13, 17), (1, 64, 66), (0, 4, 4))


def check(device: str) -> int:
    """Compare on tensors of a device; a program of its own, since Triton reads its mode once."""
    from wbgpu.video.yuv import nv12_to_rgb, yuv_to_rgb_coefficients
    from wbgpu.video.yuv_triton import nv12_to_rgb_triton

    num_compared = 0
    generator = torch.Generator().manual_seed(0)
    for num_frames, height, width in SHAPES:
        luma = (num_frames, height, width)
        chroma = (num_frames, (height + 1) // 2, (width + 1) // 2, 2)
        planes = [
            torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8).to(device)
            for shape in (luma, chroma)
        ]
        for tags in (("bt709", "full"), ("bt709", None), (None, "full"), (None, None)):
            coefficients = yuv_to_rgb_coefficients(*tags)
            assert coefficients is not None
            found = nv12_to_rgb_triton(*planes, coefficients)
            assert torch.equal(found, nv12_to_rgb(*planes, coefficients)), (luma, tags)
            num_compared += 1
    return num_compared


def test_interpreted():
    """On any machine, by Triton's interpreter."""
    program = "from tests.video.test_yuv_triton import check; print(check('cpu'))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=REPOSITORY,
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(4 * len(SHAPES))


@pytest.mark.cuda
def test_compiled():
    """On the GPU."""
    assert check("cuda") == 4 * len(SHAPES)


@pytest.mark.parametrize("architecture", [80, 90, 100])
def test_compiles_without_a_gpu(architecture):
    """A kernel that only the interpreter takes would be found by the first user with a GPU."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from wbgpu.video.yuv_triton import _convert

    pointers = dict.fromkeys(("luma", "chroma", "rgb"), "*u8")
    numbers = ("height", "width", "offset", "luma_factor", "red_v", "green_u", "green_v", "blue_u")
    signature = {**pointers, **dict.fromkeys(numbers, "i32"), "BLOCK": "constexpr"}
    compiled = triton.compile(
        ASTSource(_convert, signature=signature, constexprs={"BLOCK": 1024}),
        target=GPUTarget("cuda", architecture, 32),
    )
    assert compiled.metadata.shared == 0
    assert compiled.asm["cubin"]
