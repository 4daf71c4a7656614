"""The images of a folder, in the order of their frames."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from wbgpu.errors import InputError
from wbgpu.records.clip import Clip

IMAGE_EXTENSIONS = (".bmp", ".jpeg", ".jpg", ".png", ".webp")
"""worldbench's, compared without case."""

_INDEX = re.compile(r"(.*?)(\d+)(\D*)", re.DOTALL | re.ASCII)
_MAX_NAMES = 5


def find_images(folder: Path) -> tuple[Path, ...]:
    """Images of ``folder``, ordered by the last number in their names; no hidden files.

    Raises:
        InputError: the folder cannot be read; a name is no file; the names are not of one series,
            such as ``frame_000.png``, ``frame_001.png``; or an index is missing or there twice.
    """
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise InputError(f"{folder}: the folder cannot be read ({error.strerror})") from error
    images = [
        folder / name
        for name in names
        if not name.startswith(".") and Path(name).suffix.lower() in IMAGE_EXTENSIONS
    ]
    if other := [image for image in images if not image.is_file()]:
        raise InputError(f"{other[0]}: not a file; a folder or a link that leads nowhere")
    if len(images) < 2:
        return tuple(images)
    return _in_order(folder, images)


def has_images(folder: Path) -> bool:
    """Whether there is an image directly in ``folder``, which need not exist."""
    if not folder.is_dir():
        return False
    return any(
        path.suffix.lower() in IMAGE_EXTENSIONS and not path.name.startswith(".")
        for path in folder.iterdir()
    )


def image_clip(folder: Path, fps: float | None = None) -> Clip:
    """The frames whose images lie in a folder.

    Raises:
        InputError: as `find_images`, or there is none.
    """
    images = find_images(folder)
    if not images:
        raise InputError(
            f"{folder}: no images; looked for files ending in {', '.join(IMAGE_EXTENSIONS)}"
        )
    return Clip(folder, images=images, fps=fps)


def _in_order(folder: Path, images: Sequence[Path]) -> tuple[Path, ...]:
    series: dict[tuple[str, str], Path] = {}
    by_index: dict[int, Path] = {}
    for image in images:
        match = _INDEX.fullmatch(image.stem)
        if match is None:
            raise InputError(
                f"{image}: the name has no number, so nothing says which frame it is; expected "
                "names like frame_000.png, frame_001.png"
            )
        series.setdefault((match[1], match[3]), image)
        index = int(match[2])
        if index in by_index:
            raise InputError(
                f"{folder}: {by_index[index].name} and {image.name} are both frame {index}; "
                "keep one"
            )
        by_index[index] = image
    if len(series) > 1:
        one, other = list(series.values())[:2]
        raise InputError(
            f"{folder}: {one.name} and {other.name} are not of one series; their names may differ "
            "in the frame's number only. Move other images elsewhere"
        )
    indices = sorted(by_index)
    first, last, num_images = indices[0], indices[-1], len(indices)
    if num_missing := last - first + 1 - num_images:
        # As many numbers as there are images, from the first on, cannot all be there.
        missing = [index for index in range(first, first + num_images) if index not in by_index]
        shown = ", ".join(map(str, missing[:_MAX_NAMES]))
        more = ", ..." if num_missing > len(missing[:_MAX_NAMES]) else ""
        raise InputError(
            f"{folder}: {num_images} images are numbered {first} to {last}; missing: "
            f"{shown}{more}. Restore them, or number the images without gaps"
        )
    return tuple(by_index[index] for index in indices)
