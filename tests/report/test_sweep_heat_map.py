from __future__ import annotations

import io

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from tests.aggregate.sweeps import flat, scored
from wbgpu.aggregate.sweep import rank_sweep
from wbgpu.records.sweep import SweepEntry
from wbgpu.report.sweep_heat_map import MAX_JOBS, heat_map


def pixels(png):
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)


def num_pixels(picture, red, blue):
    """Pixels that are clearly more red than blue, or the other way round."""
    difference = picture[..., 0] - picture[..., 2]
    return int((difference > 60).sum() if red > blue else (difference < -60).sum())


def test_worse_is_red_and_better_is_blue():
    """A picture with the colours swapped says the opposite."""
    good = scored(0, {"a": [60, 50], "b": [60.5, 50.5]})
    bad = scored(1, {"a": [50, 40], "b": [50.2, 41]})
    without_bar = slice(0, 500)
    worse = pixels(heat_map(rank_sweep([good, bad])))[:, without_bar]
    better = pixels(heat_map(rank_sweep([good, bad], baseline=1)))[:, without_bar]
    assert num_pixels(worse, 1, 0) > 1000
    assert num_pixels(worse, 0, 1) == 0
    assert num_pixels(better, 0, 1) > 1000
    assert num_pixels(better, 1, 0) == 0


def test_the_same_ranking_is_the_same_file():
    """Reports are committed, and a picture that changes by itself is noise."""
    ranking = rank_sweep([flat(0, 50, 60), flat(1, 41, 50)])
    assert heat_map(ranking) == heat_map(ranking)


def test_no_more_panels_than_can_be_looked_at():
    """Two hundred jobs would make a picture that no viewer opens."""
    few, many = (
        pixels(heat_map(rank_sweep([flat(job, 50 - job, 60) for job in range(count)]))).shape[0]
        for count in (MAX_JOBS + 1, MAX_JOBS + 5)
    )
    assert few == many


def test_a_label_is_no_formula():
    """matplotlib would typeset what stands between two dollars, or fail."""
    other = flat(1, 41, 50)
    odd = SweepEntry(1, r"path=$x_{$\frac" + "y" * 200, "f", other.result)
    assert heat_map(rank_sweep([flat(0, 50, 60), odd])) is not None


def test_the_picture_names_its_reference_and_its_grey(monkeypatch):
    """Pictures are pasted into chats without the text around them."""
    titles = []
    monkeypatch.setattr(Figure, "suptitle", lambda self, text, **style: titles.append(text))
    heat_map(rank_sweep([flat(0, 50, 60), flat(1, 41, 50)], baseline=1))
    assert titles[0].startswith(
        "Change to job 1: x=1\nin standard errors; blue: better, red: worse"
    )
    assert "grey: fewer than two episodes" in titles[0]


def test_nothing_to_compare_is_no_picture():
    assert heat_map(rank_sweep([flat(0, 50, 60)])) is None
