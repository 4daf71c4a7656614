"""How the CPU kernels are compiled, and integer arithmetic that keeps its type.

Numba widens every integer operation to 64 bits, which leaves a vector register with an eighth of
the bytes it could hold. `add`, `subtract` and `multiply` stay in the type of their operands and
wrap around like C's unsigned integers; the kernels say why their values fit.

Nothing here allows the compiler to reorder or fuse float operations, so a kernel gives the same
bits with vector registers of any width. Nothing uses Numba's threads, which do not survive a fork.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import TypingError
from numba.extending import intrinsic

if hasattr(os, "register_at_fork"):
    # A child of a process in which another thread compiles would wait for that thread for ever.
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )

Function = TypeVar("Function", bound=Callable[..., Any])


# "numpy": without it each division asks whether it should raise, which no vector loop can do.
_OPTIONS = {"nogil": True, "error_model": "numpy"}
# What only compiled functions call needs no way in from Python, which would be a third of the time
# to compile.
_INNER_OPTIONS = {**_OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def compiled(function: Function) -> Function:
    """Compile for use by other compiled functions only."""
    return njit(**_INNER_OPTIONS)(function)  # type: ignore[no-any-return]


def compiled_inline(function: Function) -> Function:
    """Like `compiled`, for what a loop calls by element: a call would stop its being vectorised."""
    return njit(forceinline=True, **_INNER_OPTIONS)(function)  # type: ignore[no-any-return]


def compiled_entry(function: Function) -> Function:
    """Compile on the first call from Python and keep the machine code on disk.

    The cache is Numba's: beside the module or, where that cannot be written, in the user's cache
    folder; without either each process compiles. It is renewed when *this* function's file
    changes, so what the function calls, and the constants it reads, belong in the same file.
    """
    try:
        cached = njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:  # no folder can be written
        return njit(**_OPTIONS)(function)  # type: ignore[no-any-return]

    @functools.cache
    def uncached() -> Any:
        return njit(**_OPTIONS)(function)

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        try:
            return cached(*arguments)
        except Exception:
            # A cache that is damaged, somebody else's, or on a full disk raises what it likes.
            return uncached()(*arguments)

    call.dispatcher = cached  # type: ignore[attr-defined]
    return cast(Function, call)


def _same_type_operation(name: str) -> Any:
    def operation(_context: Any, first: Any, second: Any) -> Any:
        if first != second:
            raise TypingError(f"{name}: expected two of one type, got {first} and {second}")

        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return getattr(builder, name)(*arguments)

        return first(first, second), generate

    return intrinsic(operation)


add = _same_type_operation("add")
subtract = _same_type_operation("sub")
multiply = _same_type_operation("mul")
