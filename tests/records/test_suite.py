from __future__ import annotations

from tests.records.regret_results import regret_result
from tests.records.results import failed, simple_suite, suite


def test_a_result_is_shown_in_one_line() -> None:
    """In a notebook its last line would else be half a megabyte."""
    scored = simple_suite({"a": [50.0], "b": [60.0]}, checkpoint_name="step")
    assert repr(scored) == "SuiteResult('step', 2 episodes, score=55.0)"
    assert repr(scored.episodes[0]) == "EpisodeResult('a', num_steps=1, score=50.0)"
    partial = suite([*scored.episodes, failed("c")], checkpoint_name="step")
    assert repr(partial) == "SuiteResult('step', 3 episodes (1 failed), score=55.0)"
    assert repr(failed("c")) == ("EpisodeResult('c', num_steps=0, score=None, failure=VideoError)")
    regret = regret_result("kt", seeds=range(4))
    assert repr(regret).startswith(f"RegretResult('kt' in {regret.world!r}, 4 episodes of ")


def test_results_stay_comparable_by_value() -> None:
    """Only what is shown is shorter."""
    one, same = (simple_suite({"a": [50.0]}) for _ in range(2))
    assert one == same
    assert one != simple_suite({"a": [51.0]})
    assert vars(one)["episodes"] == one.episodes
