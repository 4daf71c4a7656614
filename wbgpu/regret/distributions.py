"""Rows of probabilities: what is one, and its logarithm."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
import numpy.typing as npt

from wbgpu.errors import ConfigurationError
from wbgpu.records.regret import MAX_LOSS_NATS

SUM_TOLERANCE = 1e-6
"""How far from 1 the probabilities of a row may sum; the rest is normalised away."""

Floats = npt.NDArray[np.float64]


def check_distributions(
    probabilities: npt.ArrayLike,
    name: str,
    *,
    num_outcomes: int | None = None,
    num_rows: int | None = None,
) -> Floats:
    """Probabilities as contiguous float64 ``[..., K]``, checked and normalised.

    Args:
        probabilities: ``[..., K]``.
        name: what they are of, named in errors, such as ``forecast of 'block'``.
        num_outcomes: the K that is expected; any from 1 when ``None``.
        num_rows: the B of ``[B, K]`` that is expected; any shape when ``None``.

    Raises:
        ConfigurationError: no numbers, a wrong shape, or a row that is no distribution: NaN, a
            negative number, or a sum that is off 1 by more than :data:`SUM_TOLERANCE`. The
            message names the row. It is a :class:`ValueError`.
    """
    array = _as_floats(probabilities, name)
    _check_shape(array, name, num_outcomes, num_rows)
    for is_bad, expected in (
        (np.isnan(array), "a number"),
        (array < 0, "a probability >= 0"),
        (np.isinf(array), "a probability"),
    ):
        if is_bad.any():
            where = tuple(np.argwhere(is_bad)[0].tolist())
            _refuse(
                name, where[:-1], f"outcome {where[-1]}: expected {expected}, got {array[where]}"
            )
    return array / _checked_sums(array, name)[..., None]


def log_probabilities(probabilities: Floats) -> Floats:
    """Natural logarithm of checked probabilities; -inf where one is 0."""
    with np.errstate(divide="ignore"):
        logs: Floats = np.log(np.ascontiguousarray(probabilities))
    return logs


def check_log_distributions(
    logs: npt.ArrayLike,
    name: str,
    *,
    num_outcomes: int | None = None,
    num_rows: int | None = None,
) -> Floats:
    """Log-probabilities as contiguous float64 ``[..., K]``, checked as `check_distributions` does.

    Raises:
        ConfigurationError: as there, or a finite one below ``-MAX_LOSS_NATS`` of
            :mod:`wbgpu.records.regret`; ``-inf`` is legal, NaN is not.
    """
    array = _as_floats(logs, name)
    _check_shape(array, name, num_outcomes, num_rows)
    if np.isnan(array).any():
        where = tuple(np.argwhere(np.isnan(array))[0].tolist())
        _refuse(name, where[:-1], f"outcome {where[-1]}: expected a log-probability, got nan")
    is_far = (array < -MAX_LOSS_NATS) & (array != -np.inf)
    _refuse_far(array, is_far, name, f"at least {-MAX_LOSS_NATS:g} nats")
    with np.errstate(over="ignore"):
        probabilities = np.exp(array)
    return array - np.log(_checked_sums(probabilities, name))[..., None]


def log_softmax(logits: npt.ArrayLike, name: str = "logits") -> Floats:
    """Log-probabilities of logits in float64, also over gaps that probabilities cannot hold.

    Args:
        logits: ``[..., K]``; ``-inf`` rules an outcome out.
        name: named in errors.

    Raises:
        ConfigurationError: a NaN or ``+inf``, a finite logit beyond ``MAX_LOSS_NATS / 2`` of
            :mod:`wbgpu.records.regret` in magnitude, or a row that rules everything out; the
            message names the row.
    """
    array = _as_floats(logits, name)
    _check_shape(array, name, None, None)
    is_bad = np.isnan(array) | (array == np.inf)
    if is_bad.any():
        where = tuple(np.argwhere(is_bad)[0].tolist())
        _refuse(name, where[:-1], f"outcome {where[-1]}: expected a logit, got {array[where]}")
    is_far = np.isfinite(array) & (np.abs(array) > MAX_LOSS_NATS / 2)
    _refuse_far(array, is_far, name, f"a logit of at most {MAX_LOSS_NATS / 2:g} in magnitude")
    largest = array.max(axis=-1, keepdims=True)
    if np.isneginf(largest).any():
        row = tuple(np.argwhere(np.isneginf(largest[..., 0]))[0].tolist())
        _refuse(name, row, "rules every outcome out: all logits are -inf")
    shifted = array - largest
    logs: Floats = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return logs


def _as_floats(values: npt.ArrayLike, name: str) -> Floats:
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "fiu":
            raise ValueError(f"type {array.dtype}")
        return np.asarray(array, dtype=np.float64, order="C")
    # RuntimeError: a tensor that requires grad.
    except (TypeError, ValueError, RuntimeError) as error:
        raise ConfigurationError(f"{name}: expected an array of numbers ({error})") from None


def _check_shape(array: Floats, name: str, num_outcomes: int | None, num_rows: int | None) -> None:
    if num_rows is not None and (array.ndim != 2 or len(array) != num_rows):
        wanted = "K" if num_outcomes is None else num_outcomes
        raise ConfigurationError(
            f"{name}: expected the shape [{num_rows}, {wanted}], got {[*array.shape]}"
        )
    if array.ndim == 0 or array.shape[-1] == 0:
        raise ConfigurationError(f"{name}: expected at least one outcome in the last dimension")
    if num_outcomes is not None and array.shape[-1] != num_outcomes:
        raise ConfigurationError(f"{name}: expected {num_outcomes} outcomes, got {array.shape[-1]}")


def _checked_sums(probabilities: Floats, name: str) -> Floats:
    sums: Floats = np.asarray(probabilities.sum(axis=-1))
    # Written so that a sum that is not a number is refused too.
    is_bad = ~(np.abs(sums - 1.0) <= SUM_TOLERANCE)
    if is_bad.any():
        row = tuple(np.argwhere(is_bad)[0].tolist())
        _refuse(
            name,
            row,
            f"the probabilities sum to {sums[row]:.9g}, expected 1 within {SUM_TOLERANCE:g}; "
            "normalise them",
        )
    return sums


def _refuse_far(array: Floats, is_far: npt.NDArray[np.bool_], name: str, expected: str) -> None:
    if is_far.any():
        where = tuple(np.argwhere(is_far)[0].tolist())
        _refuse(
            name,
            where[:-1],
            f"outcome {where[-1]}: expected {expected}, or -inf, got {array[where]:g}",
        )


def _refuse(name: str, row: tuple[int, ...], reason: str) -> NoReturn:
    place = f", row {row[0] if len(row) == 1 else [*row]}" if row else ""
    raise ConfigurationError(f"{name}{place}: {reason}")
