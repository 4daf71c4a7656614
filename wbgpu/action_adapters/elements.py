"""Which numbers of an action are meant: by name, or by place where a dataset has no names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from wbgpu.errors import ConfigurationError

Element = str | int


def check_elements(elements: Sequence[Element]) -> tuple[Element, ...]:
    """``elements`` as they were declared.

    Raises:
        ConfigurationError: none, one twice, or one that is neither a name nor a place.
    """
    chosen = tuple(elements)
    if not chosen or len(set(chosen)) != len(chosen):
        raise ConfigurationError(
            f"elements: expected one or more names or places of numbers in an action, all "
            f"different, got {list(chosen)}"
        )
    for element in chosen:
        if isinstance(element, bool) or not isinstance(element, (str, int)):
            raise ConfigurationError(f"elements: expected names or integers, got {element!r}")
        if isinstance(element, int) and element < 0:
            raise ConfigurationError(f"elements: expected places from 0 on, got {element}")
    return chosen


def find_elements(
    actions: npt.NDArray[np.float64], names: tuple[str, ...] | None, elements: Sequence[Element]
) -> npt.NDArray[np.float64] | str:
    """The columns ``[N, E]`` of ``actions [N, A]``, or the reason why they are not there."""
    columns = []
    for element in elements:
        if isinstance(element, int):
            if element >= actions.shape[1]:
                return f"The actions have {actions.shape[1]} number(s), and none at {element}."
            columns.append(element)
        elif names is None:
            return f"The actions have no names, so {element!r} cannot be found."
        elif names.count(element) != 1:
            found = "twice or more" if element in names else "not"
            return f"{element!r} is {found} among the names of the actions: {', '.join(names)}."
        else:
            columns.append(names.index(element))
    return actions[:, columns]
