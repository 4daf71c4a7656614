from __future__ import annotations

from dataclasses import replace

import pytest

from tests.records.results import simple_suite
from tests.report.skills import with_skill
from wbgpu.records.suite import SuiteResult
from wbgpu.report.markdown import result_report
from wbgpu.report.skill import is_worse, label_spans, skill_sentences, worse_than_copying


def _texts(result: SuiteResult) -> list[str]:
    return [sentence.text for sentence in skill_sentences(result)]


def test_horizons_worse_than_copying_are_named_as_spans() -> None:
    """The sentence is grepped for, so its words are fixed."""
    result = with_skill([[-0.1, -0.2, 0.3, -0.1, 0.2]] * 3)
    assert worse_than_copying(result) == (1, 2, 4)
    assert (
        "Worse than copying the last frame (whole frame) at t+1 to t+2, t+4 "
        "(median step skill < -0.005), each step judged alone." in _texts(result)
    )


def test_one_still_episode_does_not_decide() -> None:
    """Its skill is -90 because copying is perfect there; the mean would call all others bad."""
    assert worse_than_copying(with_skill([[0.5], [0.4], [-90.0]])) == ()


def test_coding_noise_is_not_called_worse() -> None:
    """Compressed copies of the last frame score up to 0.0024 below 0."""
    sentences = _texts(with_skill([[-0.0024, -0.0003]] * 3))
    assert "level with copying the last frame, skill -0.0003 in the median episode" in sentences[0]
    assert "worse in 0 of 3 episodes" in sentences[0]
    assert sentences[1].endswith("at no horizon, each step judged alone.")


@pytest.mark.parametrize(("skill", "worse"), [(-0.0051, True), (-0.005, False), (-0.001, False)])
def test_verdict_count_sentence_and_table_follow_one_rule(skill: float, worse: bool) -> None:
    """Two rules on one page contradict each other: worse in 8 of 10 and yet at no horizon."""
    result = with_skill([[skill]] * 4)
    whole, steps = _texts(result)[:2]
    assert is_worse(skill) == worse
    assert ("worse than copying the last frame," in whole) == worse
    assert f"worse in {4 if worse else 0} of 4 episodes." in whole
    assert ("at t+1 (median step skill < -0.005)" in steps) == worse
    report = result_report(result)
    assert f"| {4 if worse else 0}/4 |" in report
    assert ("Worse than copying the last frame (skill" in report) == worse


def test_the_whole_is_said_with_the_number_of_episodes() -> None:
    """A median of three is little; the reader sees that."""
    sentences = _texts(with_skill([[-0.02], [-0.04], [0.5]]))
    assert sentences[0] == (
        "Over all steps (whole frame): worse than copying the last frame, skill -0.020 in the "
        "median episode, worse in 2 of 3 episodes."
    )
    assert "better than copying" in _texts(with_skill([[0.5]]))[0]


def test_a_good_checkpoint_is_said_to_be_nowhere_worse() -> None:
    """Silence could also mean that nobody looked."""
    assert _texts(with_skill([[0.5, 0.1]]))[1].endswith("at no horizon, each step judged alone.")
    assert not any(sentence.is_warning for sentence in skill_sentences(with_skill([[0.5]])))


def test_a_skill_that_could_not_be_measured_says_why() -> None:
    """Not known must not read as not worse."""
    assert _texts(with_skill([[0.5]]))[-1] == (
        "Skill against copying the last frame (moving region) is not known: nothing moves"
    )


@pytest.mark.parametrize(("num_context", "hinted"), [(0, True), (4, False)])
def test_without_context_frames_the_forgotten_option_is_named(
    num_context: int, hinted: bool
) -> None:
    """The skill is what most users come for, and the default leaves it out."""
    texts = _texts(replace(with_skill([[0.5]]), num_context=num_context))
    assert texts[-1].endswith("(no context frame: was --skip-context forgotten?)") == hinted


def test_the_rule_stands_under_the_horizons() -> None:
    """A median over single steps and a mean over all steps else seem to contradict each other."""
    rule = "median episode's skill at that single step is below -0.005; within 0.005 of 0"
    text = result_report(with_skill([[0.5, -0.1]]))
    assert rule in text.split("## Horizons")[1].split("##")[0]
    assert rule not in result_report(simple_suite({"a": [50.0]}))


def test_horizons_that_few_episodes_reach_say_how_many() -> None:
    """Two long episodes else read as the whole suite."""
    short, long = [[0.5, 0.5]] * 3, [[0.5, 0.5, -0.2]]
    text = _texts(with_skill(short + long))[1]
    assert text.endswith("each step judged alone (1 of 4 episodes reach t+3).")
    assert _texts(with_skill(long * 4))[1].endswith("each step judged alone.")
    assert _texts(with_skill([[-0.2, 0.5], [-0.2]]))[1].endswith("each step judged alone.")


def test_nothing_is_said_when_no_skill_was_asked_for() -> None:
    """A line for what was never measured is noise."""
    assert skill_sentences(simple_suite({"a": [50.0]})) == []


@pytest.mark.parametrize(
    ("horizons", "text"),
    [((1,), "t+1"), ((1, 2, 3), "t+1 to t+3"), ((2, 4, 5), "t+2, t+4 to t+5"), ((), "")],
)
def test_spans(horizons: tuple[int, ...], text: str) -> None:
    """An end that is off by one names a horizon that is not worse."""
    assert ", ".join(label_spans(horizons)) == text
