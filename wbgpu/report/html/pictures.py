"""Films as pictures and videos that stand in the page itself."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.colors import to_hex
from PIL import Image

from wbgpu.records.film import Film, FilmRow
from wbgpu.records.worldbench import horizon_label

_MAP_COLORS = "inferno"
_WIDTH = 304
"""Pixels of a picture at most: twice its width on the page, for sharp screens."""
_QUALITY = 82


@dataclass(frozen=True)
class Picture:
    """One cell of a filmstrip."""

    url: str
    width: int
    height: int


@dataclass(frozen=True)
class PictureRow:
    """One row of a filmstrip."""

    label: str
    is_map: bool
    pictures: tuple[Picture, ...]


@dataclass(frozen=True)
class PictureFilm:
    """A film as a page shows it; ``video`` is a data URL, empty for none."""

    title: str
    missing: str | None
    labels: tuple[str, ...]
    rows: tuple[PictureRow, ...]
    video: str
    panels: tuple[str, ...]
    video_note: str


def picture_film(film: Film, title: str) -> PictureFilm:
    """Encode a film's pictures as WebP, and its video as it is."""
    last = max(film.horizons, default=0)
    note = ""
    if film.video and film.num_video_steps < last:
        note = f"The first {film.num_video_steps} scored steps."
    return PictureFilm(
        title=title,
        missing=film.missing,
        labels=tuple(map(horizon_label, film.horizons)),
        rows=tuple(map(_row, film.rows)),
        video=_data_url("video/mp4", film.video) if film.video else "",
        panels=film.panels,
        video_note=note,
    )


def scale_colors() -> str:
    """The colours of maps from 0 to 1, for a gradient."""
    colors = mpl.colormaps[_MAP_COLORS]
    return ", ".join(to_hex(colors(value)) for value in np.linspace(0, 1, 9))


def _row(row: FilmRow) -> PictureRow:
    pictures = _colored(row.pictures) if row.is_map else row.pictures
    return PictureRow(row.label, row.is_map, tuple(map(_picture, pictures)))


def _colored(maps: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    table = (mpl.colormaps[_MAP_COLORS](np.arange(256))[:, :3] * 255).round().astype(np.uint8)
    colored: npt.NDArray[np.uint8] = table[maps]
    return colored


def _picture(pixels: npt.NDArray[np.uint8]) -> Picture:
    image = Image.fromarray(np.ascontiguousarray(pixels))
    if image.width > _WIDTH:
        height = max(1, round(image.height * _WIDTH / image.width))
        image = image.resize((_WIDTH, height), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    image.save(file, format="WEBP", quality=_QUALITY, method=4)
    return Picture(_data_url("image/webp", file.getvalue()), image.width, image.height)


def _data_url(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"
