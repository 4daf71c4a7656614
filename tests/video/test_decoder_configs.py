"""Every decoder that can be chosen can be built, and is described."""

from __future__ import annotations

import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf

from tests.conftest import REPOSITORY
from wbgpu.errors import ConfigurationError

FILES = sorted((REPOSITORY / "configs" / "decoder").glob("*.yaml"))
GPU_FILE = REPOSITORY / "configs" / "decoder" / "pyav_cuda.yaml"


def _build(path, device):
    return instantiate(
        OmegaConf.create({"device": device, "decoder": OmegaConf.load(path)}).decoder
    )


@pytest.mark.parametrize("path", sorted({*FILES} - {GPU_FILE}), ids=lambda path: path.stem)
def test_is_built_and_named(path):
    """A result must name the option that repeats it."""
    assert _build(path, "cpu").name == {"auto": "pyav"}.get(path.stem, path.stem)


@pytest.mark.cuda
@pytest.mark.parametrize("name", ["auto", "pyav_cuda"])
def test_is_built_and_named_on_a_gpu(name):
    """Likewise, for what ``device=cuda`` chooses."""
    assert _build(GPU_FILE.with_stem(name), "cuda").name == "pyav_cuda"


def test_gpu_decoder_on_the_cpu():
    """device=cpu decoder=pyav_cuda contradicts itself."""
    with pytest.raises(Exception, match="decoding on the GPU") as raised:
        _build(GPU_FILE, "cpu")
    assert isinstance(raised.value.__cause__, ConfigurationError)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_is_described(path):
    """A reader must find each option, and what it does, in one place."""
    assert f"`{path.stem}`" in (REPOSITORY / "docs" / "decoders.md").read_text()
