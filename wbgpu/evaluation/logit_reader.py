"""Read windows of saved logits; a file is mapped into memory, and never read as a whole."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from wbgpu.episodes.logits import REQUIRED_TENSORS, TENSORS, LogitFiles
from wbgpu.errors import InputError

WINDOW_BYTES = 32 << 20
"""Logits that are in memory at once; at least one token's."""


@dataclass(frozen=True)
class LogitWindow:
    """Some tokens of some steps.

    Attributes:
        steps: which steps, from 0.
        tokens: which tokens of each, from 0.
        tensors: ``[steps, tokens, ...]`` by name, on the CPU.
    """

    steps: slice
    tokens: slice
    tensors: dict[str, Tensor]


class LogitReader:
    """The tensors of one episode; a context manager.

    Attributes:
        shape: T, tokens, K of the logits.

    Raises:
        InputError: a file cannot be read, or its tensors do not fit together; the message names it.
    """

    def __init__(self, files: LogitFiles) -> None:
        self._files = files
        self._stack = ExitStack()
        try:
            self._tensors = self._open()
        except (OSError, EOFError, ValueError, SafetensorError) as error:
            raise InputError(f"{self._place}: cannot be read ({error})") from error
        self._shapes = {name: _shape(tensor) for name, tensor in self._tensors.items()}
        try:
            self._check()
        except InputError:
            self._stack.close()
            raise
        num_steps, num_tokens, num_classes = self._shapes["logits"]
        self.shape = num_steps, num_tokens, num_classes

    @property
    def reference(self) -> str | None:
        """Name of the reference, if there is one."""
        given = [name for name in self._tensors if name not in REQUIRED_TENSORS]
        return given[0] if given else None

    def windows(self) -> Iterator[LogitWindow]:
        """All tokens of all steps, in order."""
        num_steps, num_tokens, num_classes = self.shape
        bytes_of_token = max(1, num_classes * self._itemsize)
        num_at_once = max(1, WINDOW_BYTES // bytes_of_token)
        steps_at_once = max(1, num_at_once // max(1, num_tokens))
        tokens_at_once = min(num_tokens, num_at_once)
        for first in range(0, num_steps, steps_at_once):
            steps = slice(first, min(first + steps_at_once, num_steps))
            for token in range(0, num_tokens, tokens_at_once):
                tokens = slice(token, min(token + tokens_at_once, num_tokens))
                yield LogitWindow(
                    steps,
                    tokens,
                    {name: self._read(name, steps, tokens) for name in self._tensors},
                )

    def targets_sha256(self) -> str:
        """Digest of the targets as int64, row by row: equal for equal tokens in either format."""
        digest = hashlib.sha256(str(self._shapes["targets"]).encode())
        num_steps, num_tokens, _ = self.shape
        rows = max(1, WINDOW_BYTES // (8 * num_tokens))
        for first in range(0, num_steps, rows):
            part = self._read("targets", slice(first, first + rows), slice(None))
            digest.update(part.numpy().astype("<i8").tobytes())
        return digest.hexdigest()

    def __enter__(self) -> LogitReader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    @property
    def _place(self) -> str:
        return str(self._files.paths["logits"])

    @property
    def _itemsize(self) -> int:
        return self._read("logits", slice(0, 0), slice(0, 0)).element_size()

    def _open(self) -> dict[str, Any]:
        if self._files.safetensors is None:
            return {
                name: np.load(path, mmap_mode="r", allow_pickle=False)
                for name, path in self._files.arrays.items()
            }
        handle = self._stack.enter_context(safe_open(str(self._files.safetensors), "pt"))
        names = set(handle.keys())
        return {name: handle.get_slice(name) for name in TENSORS if name in names}

    def _check(self) -> None:
        for name in REQUIRED_TENSORS:
            if name not in self._tensors:
                raise InputError(f"{self._place}: has no tensor {name!r}")
        logits = self._shapes["logits"]
        if len(logits) != 3 or 0 in logits:
            raise InputError(f"{self._place}: logits {logits}: expected [T, tokens, K]")
        for name, shape in self._shapes.items():
            expected = logits if name in ("logits", "reference_logits") else logits[:2]
            if shape != expected:
                raise InputError(f"{self._place}: {name} {shape}: expected {expected}")
        if len(self._tensors) > len(REQUIRED_TENSORS) + 1:
            raise InputError(f"{self._place}: expected one reference, got {list(self._tensors)}")
        for name, tensor in self._tensors.items():
            if isinstance(tensor, np.ndarray) and tensor.dtype.kind not in "fiu":
                raise InputError(
                    f"{self._files.arrays[name]}: expected numbers, got {tensor.dtype}; NumPy "
                    "knows no bfloat16, which a .safetensors file can hold"
                )

    def _read(self, name: str, steps: slice, tokens: slice) -> Tensor:
        part = self._tensors[name][steps, tokens]
        if isinstance(part, Tensor):
            return part
        native = part.dtype.newbyteorder("=")
        return torch.from_numpy(np.array(part, dtype=native))


def _shape(tensor: Any) -> tuple[int, ...]:
    return tuple(tensor.shape if isinstance(tensor, np.ndarray) else tensor.get_shape())
