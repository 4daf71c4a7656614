"""Matplotlib figures as SVG that takes its colours from the page, in light and in dark.

Colours in a figure are stand-ins, each for one custom property of the page's style sheet; they
become ``var(--name)`` in the markup. Text stays text, so it can be read out, searched and scaled.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
from matplotlib.figure import Figure

HEAT_LEVELS = 4
"""Steps of the heat map's scale on each side of no change."""

_NAMES = (
    "background",
    "ink",
    "muted",
    "line",
    "panel",
    "baseline",
    "candidate",
    "persistence",
    "better",
    "worse",
    *(f"heat-{'worse' if side < 0 else 'better'}-{n}" for side in (-1, 1) for n in range(1, 5)),
)
_STAND_INS = {name: f"#0a0b{index:02x}" for index, name in enumerate(_NAMES)}
_PROPERTIES = {color: f"var(--{name})" for name, color in _STAND_INS.items()}
_COLOR = re.compile("#0a0b[0-9a-f]{2}")
_REFERENCE = re.compile(r"url\(#([^)]*)\)")
_FONT_FAMILY = re.compile(r"font-family: [^;]*;? ?")
_SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"

_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "wbgpu",
    # A name may hold what looks like mathematics.
    "text.parse_math": False,
    "text.usetex": False,
    "font.size": 12,
    "axes.titlesize": 13,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.linewidth": 0.7,
    "lines.linewidth": 1.8,
    "legend.frameon": False,
}


def color(name: str) -> str:
    """The stand-in of a custom property, such as ``candidate`` or ``heat-worse-2``."""
    return _STAND_INS[name]


@contextmanager
def chart_style() -> Iterator[None]:
    """Draw within it; what the user has set for matplotlib does not count."""
    colors: dict[Any, Any] = {
        "text.color": color("ink"),
        "axes.labelcolor": color("muted"),
        "axes.edgecolor": color("line"),
        "axes.facecolor": "none",
        "figure.facecolor": "none",
        "grid.color": color("line"),
        "xtick.color": color("muted"),
        "ytick.color": color("muted"),
    }
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        mpl.rcParams.update(colors)
        yield


def svg_markup(figure: Figure, label: str, prefix: str) -> str:
    """The figure as an SVG element.

    Args:
        figure: drawn in :func:`chart_style`.
        label: what it shows, in words.
        prefix: of all ids, another for each figure of a page.
    """
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    root = ElementTree.fromstring(file.getvalue())
    # A style sheet in it would be the whole page's.
    for parent, name in ((root, "metadata"), (root.find(_tag("defs")), "style")):
        if parent is not None and (child := parent.find(_tag(name))) is not None:
            parent.remove(child)
    for element in root.iter():
        for key, value in element.attrib.items():
            element.set(key, _themed(key, value, prefix))
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    root.set("role", "img")
    root.set("aria-label", label)
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _XLINK)
    return ElementTree.tostring(root, encoding="unicode")


def _tag(name: str) -> str:
    return f"{{{_SVG}}}{name}"


def _themed(key: str, value: str, prefix: str) -> str:
    if key == "id":
        return f"{prefix}-{value}"
    if key == f"{{{_XLINK}}}href":
        return f"#{prefix}-{value.removeprefix('#')}"
    value = _REFERENCE.sub(rf"url(#{prefix}-\1)", value)
    if key == "style":
        value = _FONT_FAMILY.sub("", value)
    return _COLOR.sub(lambda match: _PROPERTIES.get(match[0], match[0]), value)
