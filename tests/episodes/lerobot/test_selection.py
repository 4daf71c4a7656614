from __future__ import annotations

import pytest

from wbgpu.episodes.lerobot.selection import parse_selection
from wbgpu.errors import ConfigurationError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0:3,7,2", (0, 1, 2, 7)),
        ("5", (5,)),
        (" 3 : 5 , 1 ", (3, 4, 1)),
        ("2,2,1:3", (2, 1)),
    ],
)
def test_worldbenchs_selections(text: str, expected: tuple[int, ...]) -> None:
    """Another order or a repetition would import other episodes than worldbench."""
    assert parse_selection(text) == expected


@pytest.mark.parametrize("text", ["", "a", "1,,2", "-1", "1:", ":3", "3:3", "4:2", "1:2:3", "1.5"])
def test_anything_else_is_refused_by_its_part(text: str) -> None:
    """Reading "4:2" as nothing would evaluate nothing and say so nowhere."""
    with pytest.raises(ConfigurationError, match="episodes: "):
        parse_selection(text)
