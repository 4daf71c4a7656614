"""HTML reports: puts together what a page shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wbgpu.aggregate.horizon_curves import horizon_curves, persistence_curves
from wbgpu.aggregate.horizon_tests import horizon_tests
from wbgpu.aggregate.paired_sample import clusters_of
from wbgpu.records.film import Film
from wbgpu.reporting.film_sides import NoFilmError, film_sides, worst_and_best

if TYPE_CHECKING:
    from wbgpu.records.comparison import Comparison, Verdict
    from wbgpu.records.evidence import HorizonTest
    from wbgpu.records.suite import SuiteResult

DEFAULT_NUM_FILMS = 3
"""Worst and best episodes that are shown with frames and a video, of each."""


@dataclass(frozen=True)
class FilmSettings:
    """Which episodes are shown with pictures, and where their videos are.

    Attributes:
        count: worst and best episodes, of each; 0 for no pictures.
        folders: where recorded paths that are not found from the current folder may start.
    """

    count: int = DEFAULT_NUM_FILMS
    folders: Sequence[Path] = ()


def suite_html(
    result: SuiteResult,
    verdict: Verdict | None = None,
    *,
    incomparable: str | None = None,
    clusters: Mapping[str, str] | None = None,
    films: FilmSettings | None = None,
    configuration_file: str | None = None,
) -> str:
    """A result of videos as one HTML file that needs nothing else.

    Args:
        result: the candidate.
        verdict: on it against a baseline; ``None`` without one.
        incomparable: why a baseline that was given is not shown.
        clusters: cluster by episode id, for the tests over horizons.
        films: decoded when asked for, which needs torch and the videos.
        configuration_file: the wbgpu.yml that supplied thresholds, if any.
    """
    comparison = None if verdict is None else verdict.comparison
    curves = horizon_curves(result, "candidate")
    tests: tuple[HorizonTest, ...] = ()
    if comparison is not None:
        curves = (*horizon_curves(comparison.baseline, "baseline"), *curves)
        tests = (
            *horizon_tests(comparison, clusters=clusters),
            *horizon_tests(comparison, view="step", clusters=clusters),
        )
    from wbgpu.report.html.suite_page import SuiteReport, suite_page

    report = SuiteReport(
        result=result,
        verdict=verdict,
        incomparable=incomparable,
        curves=(*curves, *persistence_curves(result)),
        tests=tests,
        num_clusters=None if clusters is None else len({*_own(result, clusters)}),
        films=[] if films is None else _films(result, comparison, films),
        configuration_file=configuration_file,
    )
    return suite_page(report)


def _own(result: SuiteResult, clusters: Mapping[str, str]) -> list[str]:
    """Clusters of the result's episodes; a file of clusters may name others too."""
    return clusters_of([episode.episode_id for episode in result.episodes], clusters) or []


def _films(
    result: SuiteResult, comparison: Comparison | None, settings: FilmSettings
) -> list[Film]:
    changes = None
    if comparison is not None:
        changes = {item.episode_id: item.change for item in comparison.episodes}
    baseline = None if comparison is None else comparison.baseline
    found = []
    for episode_id in worst_and_best(result, changes, settings.count):
        try:
            sides = film_sides(episode_id, result, baseline, settings.folders)
        except NoFilmError as error:
            found.append(Film(episode_id, missing=str(error)))
            continue
        from wbgpu.reporting.films import film

        found.append(film(episode_id, sides))
    return found
