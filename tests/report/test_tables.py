from __future__ import annotations

from wbgpu.report.tables import aligned, escape, table


def test_an_id_cannot_break_a_table() -> None:
    """Ids are paths, and paths may hold anything."""
    assert escape("a|b\n c`<i>* < 0") == "a\\|b\\\\n c\\`&lt;i>\\* < 0"


def test_an_id_is_no_formatting() -> None:
    """A sweep over names would put a link, or bold text without underscores, into its report."""
    assert escape("name=[x](http://y) [a][b]") == "name=[x\\](http://y) [a\\][b]"
    assert escape("__init__ _a ~~b~~") == "\\_\\_init\\_\\_ \\_a \\~\\~b\\~\\~"
    assert escape("suite.num_context=[1,2]") == "suite.num_context=[1,2]"


def test_columns_are_aligned_as_asked() -> None:
    """Numbers of different length are compared by eye only when right-aligned."""
    assert table("lr", ["Name", "Value"], [["a", "1"]]) == [
        "| Name | Value |",
        "| --- | ---: |",
        "| a | 1 |",
        "",
    ]


def test_plain_columns_are_aligned_as_asked() -> None:
    """A text column to the right of numbers would otherwise be ragged."""
    rows = [["a", "10", "x"], ["bcd", "2", "yz"]]
    assert aligned(rows) == ["a    10   x", "bcd   2  yz"]
    assert aligned(rows, "rll") == ["  a  10  x", "bcd  2   yz"]
