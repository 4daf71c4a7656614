"""Options that mean nothing beside the others are refused, not ignored."""

from __future__ import annotations

from collections.abc import Sequence

import click
from click.core import ParameterSource

from wbgpu.errors import ConfigurationError


def refuse_given(names: Sequence[str], why: str) -> None:
    """Refuse parameters of the running command that stand on its command line.

    Args:
        names: of parameters.
        why: follows the option in the message, such as ``does not apply to results of regret``.

    Raises:
        ConfigurationError: names the first one that was given.
    """
    context = click.get_current_context()
    flags = {p.name: p.opts[0] for p in context.command.params}
    for name in names:
        if context.get_parameter_source(name) == ParameterSource.COMMANDLINE:
            raise ConfigurationError(f"{flags[name]} {why}")
