"""Columns of Parquet files as NumPy arrays, with errors that name file, column and row."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from wbgpu.errors import ConfigurationError, InputError


class ParquetColumns:
    """Some columns of one file, in memory.

    Args:
        path: the file.
        columns: those to read. One that the file lacks is refused where it is asked for.

    Raises:
        ConfigurationError: pyarrow is not installed.
        InputError: the file is missing or damaged.
    """

    def __init__(self, path: Path, columns: Iterable[str]) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError as error:
            raise ConfigurationError(
                "LeRobot datasets are read with pyarrow, which is not installed: "
                "pip install 'wbgpu[lerobot]'"
            ) from error
        self.path = path
        self._types = pyarrow.types
        try:
            if not path.is_file():
                raise InputError(f"{path}: the file is missing; is the dataset complete?")
            with pyarrow.parquet.ParquetFile(path) as file:
                self._names = frozenset(file.schema_arrow.names)
                self._table = file.read(columns=[name for name in columns if name in self._names])
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: cannot be read as Parquet ({error})") from error

    @property
    def num_rows(self) -> int:
        """Rows of the file."""
        return int(self._table.num_rows)

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def integers(self, name: str) -> npt.NDArray[np.int64]:
        """Whole numbers, int64 ``[rows]``."""
        return self._flat(name, self._column(name), "iu").astype(np.int64)

    def numbers(self, name: str) -> npt.NDArray[np.float64]:
        """Finite numbers, float64 ``[rows]``."""
        return self._flat(name, self._column(name), "iuf").astype(np.float64)

    def vectors(self, name: str, size: int) -> npt.NDArray[Any]:
        """Numbers that float32 can hold ``[rows, size]``, in the type they are stored in."""
        column = self._column(name)
        kind = column.type
        is_fixed = self._types.is_fixed_size_list(kind)
        if not (is_fixed or self._types.is_list(kind) or self._types.is_large_list(kind)):
            if size != 1:
                self._fail(name, f"expected lists of {size} numbers, got {kind}")
            return self._small(name, self._flat(name, column, "iuf")[:, None])
        lengths = np.full(len(column), kind.list_size if is_fixed else 0)
        if not is_fixed:
            lengths = column.value_lengths().to_numpy(zero_copy_only=False)
        if (wrong := np.flatnonzero(lengths != size)).size:
            self._fail(
                name,
                f"expected {size} numbers, as its feature's shape says, got {lengths[wrong[0]]}",
                row=wrong[0],
            )
        values = self._flat(name, column.flatten(), "iuf", per_row=size)
        return self._small(name, values.reshape(len(column), size))

    def strings(self, name: str) -> list[tuple[str, ...]]:
        """Lists of strings; one string by itself is a list of one."""
        found = []
        try:
            values = self._column(name).to_pylist()
        except UnicodeDecodeError as error:
            self._fail(name, f"expected text in UTF-8 ({error.reason})")
        for row, value in enumerate(values):
            entries = [value] if isinstance(value, str) else value
            if not all(isinstance(entry, str) for entry in entries):
                self._fail(name, f"expected strings, got {value!r}", row=row)
            found.append(tuple(entries))
        return found

    def _column(self, name: str) -> Any:
        if name not in self._names:
            self._fail(name, "the column is missing")
        column = self._table.column(name).combine_chunks()
        if column.null_count:
            row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
            self._fail(name, "there is no value", row=row)
        return column

    def _flat(self, name: str, column: Any, kinds: str, per_row: int = 1) -> npt.NDArray[Any]:
        if column.null_count:
            row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0]) // per_row
            self._fail(name, "a number is missing", row=row)
        values: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
        if values.dtype.kind not in kinds:
            expected = "numbers" if "f" in kinds else "integers"
            self._fail(name, f"expected {expected}, got {column.type}")
        if values.dtype.kind == "f" and not (finite := np.isfinite(values)).all():
            first = int(np.flatnonzero(~finite)[0])
            self._fail(
                name, f"expected finite numbers, got {values[first]:g}", row=first // per_row
            )
        return values

    def _small(self, name: str, vectors: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if (large := np.abs(vectors) > np.finfo(np.float32).max).any():
            row, element = np.argwhere(large)[0].tolist()
            self._fail(name, f"{vectors[row, element]:g} is too large for float32", row=row)
        return vectors

    def _fail(self, name: str, reason: str, row: int | None = None) -> NoReturn:
        place = "" if row is None else f", row {row}"
        raise InputError(f"{self.path}: column {name!r}{place}: {reason}")
