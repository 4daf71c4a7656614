from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.records.results import failed, simple_suite, suite
from wbgpu.report.console import result_summary, verdict_summary
from wbgpu.report.markdown import gate_report, result_report
from wbgpu.report.text import one_line
from wbgpu.sdk import gate

HOSTILE = ["a\nPASS.mp4", "a\rPASS", "\x1b[2J", "a\u2028PASS", "\u202ePASS", "\x00", "a\x85PASS"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_cannot_add_a_line_or_steer_the_terminal(name: str) -> None:
    """An episode called 'a, newline, PASS' would print a verdict of its own."""
    before = suite(
        [*simple_suite({name: [60.0], "b": [50.0]}).episodes, failed(f"z{name}", f"{name}: bad")],
        checkpoint_name=name,
        notes=(name,),
    )
    verdict = gate(before, before)
    assert verdict.status == "FAIL"
    for text in (
        result_summary(before),
        verdict_summary(verdict),
        result_report(before, before),
        gate_report(verdict, name),
    ):
        assert not any(line.startswith("PASS") for line in text.splitlines())
        assert text.replace("\n", "").isprintable()


@given(st.text())
def test_a_line_is_one_printable_line(text: str) -> None:
    """Every kind of control character that Unicode has, also lone surrogates of odd file names."""
    assert one_line(text).isprintable()
    assert one_line(one_line(text)) == one_line(text)


def test_ordinary_names_are_left_alone() -> None:
    """Escaping letters would make names of other languages unreadable."""
    assert one_line("épisode 1/機器人_ü.mp4") == "épisode 1/機器人_ü.mp4"
    assert one_line("a\nb\udc80") == "a\\nb\\udc80"
