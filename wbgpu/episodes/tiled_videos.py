"""Suites of videos whose frames show several pictures side by side.

Truth and prediction side by side (left truth, right prediction), as training scripts log them; or
grids of rollouts, in one file with their truths, or in two files of the same name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from wbgpu.episodes.pairing import Episode, EpisodePair, by_key, pairing_key
from wbgpu.episodes.predictions import ANIMATION_EXTENSIONS
from wbgpu.episodes.videos import VIDEO_EXTENSIONS, find_files
from wbgpu.errors import ConfigurationError, InputError, PairingError
from wbgpu.records.clip import Clip
from wbgpu.records.tile import Tile

TILED_EXTENSIONS = VIDEO_EXTENSIONS + ANIMATION_EXTENSIONS


class TiledVideos:
    """A `wbgpu.episodes.layout.Layout`: each file is a grid of equal pictures.

    Tiles are counted from 0, row by row. An episode is called after its file; where a file shows
    several, with ``#`` and the number of its truth's tile.

    Args:
        num_columns, num_rows: of the grid.
        truth: tiles that are ground truth; by default all.
        prediction: tiles that are their predictions, in the same order; by default the same
            tiles, of a second folder or file.
        gap: pixels between two tiles.
        border: pixels around the grid. torchvision's ``make_grid`` has a gap and a border of 2.

    Raises:
        ConfigurationError: numbers out of range, a tile twice, or not a prediction for each truth.
    """

    def __init__(
        self,
        num_columns: int,
        num_rows: int = 1,
        truth: Sequence[int] | None = None,
        prediction: Sequence[int] | None = None,
        gap: int = 0,
        border: int = 0,
    ) -> None:
        self._num_columns = _at_least("num_columns", num_columns, 1)
        self._num_rows = _at_least("num_rows", num_rows, 1)
        self._gap = _at_least("gap", gap, 0)
        self._border = _at_least("border", border, 0)
        self._truth = self._tiles("truth", truth)
        self._prediction = (
            self._truth if prediction is None else self._tiles("prediction", prediction)
        )
        if len(self._truth) != len(self._prediction):
            raise ConfigurationError(
                f"suite.layout: {len(self._truth)} tiles are truth and {len(self._prediction)} "
                "prediction; expected a prediction for each"
            )
        self._is_in_one_file = not set(self._truth) & set(self._prediction)

    def episodes(self, ground_truth: Path) -> tuple[Episode, ...]:
        """The truths of a file, or of all files below a folder."""
        return tuple(
            chain.from_iterable(
                self._of_file(name, path) for name, path in _files(ground_truth).items()
            )
        )

    def pairs(self, ground_truth: Path, predictions: Path | None) -> tuple[EpisodePair, ...]:
        """Truths and predictions: of one file, or of two of the same relative path.

        Raises:
            ConfigurationError: predictions are given where they lie beside the truth, or are not
                where they do not.
            InputError, PairingError: as `wbgpu.episodes.layout.Layout`.
        """
        if self._is_in_one_file != (predictions is None):
            raise ConfigurationError(
                f"suite.predictions: {predictions} was given, but they lie beside the truth; leave "
                "it out"
                if self._is_in_one_file
                else "suite.predictions: truth and prediction have the same tiles, so give the "
                "other grids, or say which tiles are which: suite.layout.truth, "
                "suite.layout.prediction"
            )
        truths = _files(ground_truth)
        files = truths if predictions is None else _paired(truths, ground_truth, predictions)
        return tuple(
            episode.with_prediction(Clip(files[name], tile=self._tile(index)))
            for name, path in truths.items()
            for episode, index in zip(self._of_file(name, path), self._prediction, strict=True)
        )

    def _of_file(self, name: str, path: Path) -> Iterator[Episode]:
        for index in self._truth:
            episode_id = name if len(self._truth) == 1 else f"{name}#{index}"
            yield Episode(episode_id, Clip(path, tile=self._tile(index)))

    def _tile(self, index: int) -> Tile:
        row, column = divmod(index, self._num_columns)
        return Tile(column, row, self._num_columns, self._num_rows, self._gap, self._border)

    def _tiles(self, name: str, given: Sequence[int] | None) -> tuple[int, ...]:
        num_tiles = self._num_columns * self._num_rows
        if given is None:
            return tuple(range(num_tiles))
        tiles = tuple(given) if isinstance(given, Sequence) else ()
        are_known = all(type(tile) is int and 0 <= tile < num_tiles for tile in tiles)
        if not tiles or not are_known or len(set(tiles)) < len(tiles):
            raise ConfigurationError(
                f"suite.layout.{name}: expected different tiles from 0 to {num_tiles - 1}, such as "
                f"[0], got {given!r}"
            )
        return tiles


def _files(root: Path) -> dict[str, Path]:
    """Files by name, sorted; their names differ in more than the extension."""
    if root.is_file():
        if root.suffix.lower() not in TILED_EXTENSIONS:
            raise InputError(
                f"{root}: unsupported extension; supported: {', '.join(sorted(TILED_EXTENSIONS))}"
            )
        return {root.name: root}
    files = find_files(root, "ground-truth", TILED_EXTENSIONS)
    if not files:
        raise PairingError(
            f"no videos under {root}; looked for files ending in "
            f"{', '.join(sorted(TILED_EXTENSIONS))}"
        )
    by_key(files, root)
    return files


def _paired(truths: dict[str, Path], ground_truth: Path, root: Path) -> dict[str, Path]:
    """The file of predictions by the name of that of truths."""
    if ground_truth.is_file() and root.is_file():
        return dict(zip(truths, _files(root).values(), strict=True))
    predictions = {pairing_key(name): path for name, path in _files(root).items()}
    keys = {pairing_key(name): name for name in truths}
    if missing := sorted(set(keys) ^ set(predictions)):
        raise PairingError(
            f"grids of truth and predictions do not pair up ({ground_truth} against {root}): "
            f"{len(missing)} on one side only, such as {missing[0]}"
        )
    return {name: predictions[key] for key, name in keys.items()}


def _at_least(name: str, value: int, minimum: int) -> int:
    if type(value) is not int or value < minimum:
        raise ConfigurationError(
            f"suite.layout.{name}: expected an integer >= {minimum}, got {value!r}"
        )
    return value
