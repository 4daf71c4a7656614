from __future__ import annotations

import pytest

from wbgpu.records.comparison import Failure
from wbgpu.report.failures import failure_line, failure_lines

DROP = {"baseline": 97.516, "candidate": 94.639, "change": -2.877, "allowed_drop": 0.0}


@pytest.mark.parametrize(
    ("failure", "line"),
    [
        (Failure("overall", DROP), "Composite Score: 97.52 -> 94.64 (-2.88); threshold 0"),
        (
            Failure("metric", {"metric": "temporal_stability", **DROP}),
            "Metric temporal_stability: 97.52 -> 94.64 (-2.88); threshold 0",
        ),
        (
            Failure("horizon", {"horizon": 16, "metric": "visual_similarity", **DROP}),
            "Horizon t+16 visual_similarity: 97.52 -> 94.64 (-2.88); threshold 0",
        ),
        (
            Failure(
                "composite_improvement",
                {"baseline": 1.0, "candidate": 2.0, "change": 1.0, "required_improvement": 5.0},
            ),
            "Composite Score improvement: 1.00 -> 2.00 (+1.00); threshold 5",
        ),
        (
            Failure("metric_coverage", {"actual": 0.4, "minimum": 0.41}),
            "Metric Coverage: 0.4; at least 0.41 required",
        ),
        (
            Failure("episode_regressions", {"actual": 3, "allowed": 1}),
            "Episode Regressions: 3; at most 1 required",
        ),
        (
            Failure("metric_disappeared", {"metrics": ["a", "b"]}),
            "Metric Disappeared: a; b",
        ),
        (
            Failure("configuration_mismatch", {"details": ["hashes differ"]}),
            "Configuration Mismatch: hashes differ",
        ),
        (
            Failure("episode_error", {"result": "candidate", "episodes": ["a.mp4"]}),
            "Episode Error: not scored in the candidate: a.mp4",
        ),
        (
            Failure(
                "metric_error",
                {"result": "candidate", "metrics": ["psnr", "ssim"], "episodes": ["a", "b"]},
            ),
            "Metric Error: psnr; ssim in the candidate on: a; b",
        ),
        (
            Failure("no_score", {"results": ["baseline", "candidate"]}),
            "No Score: no composite at all in the baseline and the candidate",
        ),
        (
            Failure("no_score", {"result": "candidate", "episodes": ["a"]}),
            "No Score: no composite in the candidate alone: a",
        ),
    ],
)
def test_lines(failure: Failure, line: str) -> None:
    """Scripts grep for them, and a limit without its number explains nothing."""
    assert failure_line(failure) == line


def test_horizons_of_one_metric_share_a_line_that_names_the_worst() -> None:
    """One drop over 16 horizons is one fact and not sixteen."""
    failures = [
        Failure("horizon", {**DROP, "horizon": t, "metric": "m", "change": c})
        for t, c in ((3, -1.0), (4, -7.5), (6, -2.0))
    ]
    other = Failure("horizon", {**DROP, "horizon": 4, "metric": "n"})
    assert failure_lines([*failures, other]) == [
        "Horizon t+4 m: 97.52 -> 94.64 (-7.50); threshold 0; "
        "largest of 3 drops, at t+3 to t+4, t+6",
        "Horizon t+4 n: 97.52 -> 94.64 (-2.88); threshold 0",
    ]


def test_scattered_horizons_are_not_all_listed() -> None:
    """Twenty spans of one horizon are a line that nobody reads."""
    failures = [Failure("horizon", {**DROP, "horizon": t, "metric": "m"}) for t in range(2, 20, 2)]
    (line,) = failure_lines(failures)
    assert line.endswith("; largest of 9 drops, between t+2 and t+18")
