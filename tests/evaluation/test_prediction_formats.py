"""The same predictions in every format have the same scores, and the result can be verified."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from tests.corruptions.videos import textured_video
from wbgpu.errors import ConfigurationError, NothingScoredError
from wbgpu.evaluation.configuration import compose, request_from
from wbgpu.evaluation.run import run
from wbgpu.video.encode import write_video

NAMES = ("a", "nested/b")


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    for seed, name in enumerate(NAMES):
        truth, prediction = textured_video(9, seed), textured_video(9, seed + 5)
        write_video(tmp_path / f"gt/{name}.mp4", truth, 5, lossless=True)
        write_video(tmp_path / f"mp4/{name}.mp4", prediction, 5, lossless=True)
        both = torch.cat((truth, prediction), dim=3)
        write_video(tmp_path / f"side/{name}.mp4", both, 5, lossless=True)
        array = prediction.permute(0, 2, 3, 1).numpy()
        for kind in ("npy", "npz", "safetensors", "float", "png"):
            (tmp_path / kind / name).parent.mkdir(parents=True, exist_ok=True)
        np.save(tmp_path / f"npy/{name}.npy", array)
        np.savez_compressed(tmp_path / f"npz/{name}.npz", array)
        save_file({"frames": prediction.contiguous()}, tmp_path / f"safetensors/{name}.safetensors")
        np.save(tmp_path / f"float/{name}.npy", (array / 127.5 - 1).astype(np.float32))
        for index, frame in enumerate(array):
            folder = tmp_path / "png" / name
            folder.mkdir(parents=True, exist_ok=True)
            Image.fromarray(frame).save(folder / f"{index}.png")
    return tmp_path


def scores(*overrides: str):
    result = run(request_from(compose([*overrides, "suite.num_context=1"])))
    return {
        e.episode_id: {name: outcome.value for name, outcome in e.metrics.items()}
        for e in result.episodes
    }


def test_every_format_has_the_same_scores(suite):
    truth = f"suite.ground_truth={suite}/gt"
    expected = scores(truth, f"suite.predictions={suite}/mp4")
    assert set(expected) == {"a.mp4", "nested/b.mp4"}
    for kind in ("npy", "npz", "safetensors", "png"):
        assert scores(truth, f"suite.predictions={suite}/{kind}") == expected, kind
    floats = [truth, f"suite.predictions={suite}/float", "suite.float_range=[-1,1]"]
    assert scores(*floats) == expected
    assert scores("suite=side_by_side", f"suite.ground_truth={suite}/side") == expected


def test_a_grid_of_rollouts_has_the_scores_of_its_episodes(suite):
    grids = {}
    for kind, first in (("truths", 0), ("predictions", 5)):
        rows = [torch.nn.functional.pad(textured_video(9, first + i), (0, 2, 0, 2)) for i in (0, 1)]
        grid = torch.nn.functional.pad(torch.cat(rows, dim=3), (2, 0, 2, 0))
        grids[kind] = suite / kind / "g.mp4"
        write_video(grids[kind], grid, 5, lossless=True)
    found = scores(
        "suite=rollout_grid",
        "suite.layout.num_columns=2",
        "suite.layout.num_rows=1",
        f"suite.ground_truth={suite}/truths",
        f"suite.predictions={suite}/predictions",
    )
    expected = scores(f"suite.ground_truth={suite}/gt", f"suite.predictions={suite}/mp4")
    assert list(found.values()) == list(expected.values())


def test_floats_without_a_range_are_refused_with_advice(suite):
    with pytest.raises(NothingScoredError, match=r"suite\.float_range=\[0,1\]"):
        scores(f"suite.ground_truth={suite}/gt", f"suite.predictions={suite}/float")


@pytest.mark.parametrize("bounds", ["[1,0]", "[0]", "3", "[0,a]"])
def test_a_range_that_is_none_is_named(suite, bounds):
    with pytest.raises(ConfigurationError, match=r"suite\.float_range: expected two finite"):
        scores(
            f"suite.ground_truth={suite}/gt",
            f"suite.predictions={suite}/npy",
            f"suite.float_range={bounds}",
        )
