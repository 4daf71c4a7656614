"""Pages for tests: of hostile names, of many episodes, of two real checkpoints."""

from __future__ import annotations

import numpy as np

from tests.records.results import available, episode, failed, suite, unsupported
from wbgpu.records.film import Film, FilmRow
from wbgpu.report.html.suite_page import SuiteReport, suite_page
from wbgpu.reporting.html import suite_html
from wbgpu.sdk import gate

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>.mp4',
    "{{ 7 * 7 }}{% raw %}.mp4",
    "a\nPASS\u202e.mp4",
    "$\\frac{1$ _x_.mp4",
    "</style><style>body{display:none}",
    "javascript:alert(3)",
    "_" * 200 + ".mp4",
)


def hostile_suite(shift=0.0):
    """Every name that comes from outside is hostile."""
    generator = np.random.default_rng(5)
    episodes = []
    for index, name in enumerate(HOSTILE):
        values = (70 + generator.normal(0, 3, 8) + shift * index).tolist()
        outcomes = [
            available("visual_similarity", values, issues=(HOSTILE[0],)),
            unsupported("action_consistency", HOSTILE[1]),
            available("skill_persistence", values, step=tuple(v / 100 for v in values)),
        ]
        episodes.append(episode(name, outcomes, 8))
    episodes.append(failed("z<b>.mp4", HOSTILE[1]))
    return suite(
        episodes,
        checkpoint_name=HOSTILE[0],
        ground_truth_root=HOSTILE[1],
        created_at=HOSTILE[5],
        notes=(HOSTILE[1],),
    )


def hostile_page():
    """A comparison with all sections, and a film whose names are hostile too."""
    verdict = gate(hostile_suite(), hostile_suite(-0.5), policy="noninferiority")
    films = [
        Film(HOSTILE[1], missing=HOSTILE[0]),
        Film(
            HOSTILE[0],
            (1, 3),
            (
                FilmRow("ground truth", np.full((2, 8, 12, 3), 90, np.uint8)),
                FilmRow("candidate SSIM", np.full((2, 8, 12), 200, np.uint8)),
            ),
        ),
    ]
    page = suite_html(verdict.comparison.candidate, verdict)
    with_films = suite_page(SuiteReport(verdict.comparison.candidate, verdict, films=films))
    return page, with_films


def large_page(num_episodes=1000, num_horizons=4):
    """A comparison of many episodes."""
    generator = np.random.default_rng(6)

    def made(shift):
        return suite(
            [
                episode(
                    f"episode_{i:05}.mp4",
                    [available("visual_similarity", (70 + shift * row).tolist())],
                    num_horizons,
                )
                for i, row in enumerate(generator.normal(0, 3, (num_episodes, num_horizons)))
            ]
        )

    verdict = gate(made(1.0), made(1.1))
    return suite_html(verdict.comparison.candidate, verdict)
