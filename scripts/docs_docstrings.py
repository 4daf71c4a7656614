"""Roles in docstrings, such as :func:`gate`, as code in the documentation site."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_ROLE = re.compile(r":(?:attr|class|data|func|meth|mod):`~?([^`]+)`")
_LITERAL = re.compile(r"::\n\n(?= {4,}\S)")


class PlainRoles(Extension):
    """Loaded by mkdocstrings."""

    def on_object(self, *, obj: Object, **arguments: Any) -> None:
        """Called for every object that griffe finds."""
        if obj.docstring is not None:
            text = _ROLE.sub(r"`\1`", obj.docstring.value)
            obj.docstring.value = _LITERAL.sub(":\n\n", text)
