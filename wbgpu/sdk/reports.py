"""Reports, and whether a result can be believed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wbgpu.errors import ConfigurationError, IncompatibleResultsError
from wbgpu.gating.load import Policy
from wbgpu.gating.noninferiority import Noninferiority
from wbgpu.records.regret import RegretResult
from wbgpu.records.strict_json import write_text
from wbgpu.report.markdown import result_report
from wbgpu.report.regret_markdown import regret_report
from wbgpu.report.told_apart import told_apart
from wbgpu.reporting.html import DEFAULT_NUM_FILMS, FilmSettings, suite_html
from wbgpu.sdk.deciding import _policy, compare_regret, gate, gate_regret
from wbgpu.sdk.results import AnyResult, _result_file, regret_of, result_of
from wbgpu.verification.files import InputRoots
from wbgpu.verification.verify import verify

if TYPE_CHECKING:
    from wbgpu.records.verification import Verification

PAGE_SUFFIXES = (".html", ".htm")
"""Reports of other names are Markdown."""


def write_report(
    result: AnyResult | str | Path,
    path: str | Path,
    baseline: AnyResult | str | Path | None = None,
    **page_settings: Any,
) -> Path:
    """Write a report of a result, with its changes against a baseline if given.

    Args:
        result: a result, its file or its run folder.
        path: ``.html`` for a page (:func:`report_page`); any other name for Markdown.
        baseline: the same of the baseline.
        **page_settings: as :func:`report_page`, of a page only.

    Raises:
        ConfigurationError: settings of a page for Markdown, or they are wrong.
        IncompatibleResultsError: one is of regret and the other of videos, or regret was measured
            on other episodes.
        ResultFileError: as :func:`load_result`.
    """
    if Path(path).suffix.lower() in PAGE_SUFFIXES:
        return write_text(path, report_page(result, baseline, **page_settings))
    if page_settings:
        raise ConfigurationError(
            f"{sorted(page_settings)[0]} needs a page: a path that ends in .html"
        )
    after = result_of(result)
    before = None if baseline is None else result_of(baseline)
    if before is not None and (files := _files(baseline, result)) is not None:
        before, after = told_apart(before, after, files)
    if isinstance(after, RegretResult) or isinstance(before, RegretResult):
        change = None if before is None else compare_regret(before, after)
        return write_text(path, regret_report(regret_of(after), change))
    return write_text(path, result_report(after, before))


def report_page(
    result: AnyResult | str | Path,
    baseline: AnyResult | str | Path | None = None,
    *,
    policy: str | Path | Policy = "worldbench",
    clusters: Mapping[str, str] | None = None,
    num_films: int = DEFAULT_NUM_FILMS,
    video_folders: Sequence[str | Path] = (),
    configuration_file: str | None = None,
    **settings: Any,
) -> str:
    """A report as one HTML page that needs nothing else: charts, frames and videos are in it.

    Args:
        result, baseline: results, their files or their run folders.
        policy, **settings: as :func:`gate`, for the verdict against the baseline.
        clusters: cluster by episode id, such as scenes; for the tests over horizons, and for the
            verdict where the policy weighs evidence. Not for regret.
        num_films: worst and best episodes that are shown with frames and a video, of each; 0 for
            none. The page says why where videos are not there or have changed.
        video_folders: where recorded paths of videos may start; the current folder and those of
            result files are always tried.
        configuration_file: the wbgpu.yml that supplied settings, which a page of videos names.

    Raises:
        ConfigurationError, IncompatibleResultsError, ResultFileError: as :func:`write_report`.
    """
    after = result_of(result)
    before = None if baseline is None else result_of(baseline)
    if before is not None and (files := _files(baseline, result)) is not None:
        before, after = told_apart(before, after, files)
    limits = _policy(policy, settings)
    if isinstance(after, RegretResult) or isinstance(before, RegretResult):
        if clusters is not None:
            raise ConfigurationError("clusters: regret is paired by seed and has none")
        from wbgpu.report.html.regret_page import regret_page

        if before is None:
            return regret_page(regret_of(after))
        weighing = limits if isinstance(limits, Noninferiority) else None
        verdict = gate_regret(before, after, policy=weighing)
        return regret_page(verdict.comparison.candidate, verdict.comparison, verdict)
    places = [Path(side) for side in (result, baseline) if isinstance(side, (str, Path))]
    folders = [place if place.is_dir() else place.parent for place in places]
    incomparable = decided = None
    if before is not None:
        try:
            weighed = clusters if isinstance(limits, Noninferiority) else None
            decided = gate(before, after, policy=limits, clusters=weighed)
        except IncompatibleResultsError as error:
            incomparable = str(error)
    return suite_html(
        after,
        decided,
        incomparable=incomparable,
        clusters=clusters,
        films=FilmSettings(num_films, [*map(Path, video_folders), *folders]),
        configuration_file=configuration_file,
    )


def _files(
    baseline: AnyResult | str | Path | None, result: AnyResult | str | Path
) -> tuple[Path, Path] | None:
    """Where both are from, if both are from files."""
    if isinstance(baseline, (str, Path)) and isinstance(result, (str, Path)):
        return Path(baseline), Path(result)
    return None


def verify_run(
    path: str | Path,
    *,
    ground_truth: str | Path | None = None,
    predictions: str | Path | None = None,
    logits: str | Path | None = None,
    actions: str | Path | None = None,
    num_recomputed: int = 0,
    seed: int = 0,
) -> Verification:
    """Check that a result agrees with itself, its settings, its videos and a fresh computation.

    Args:
        path: a result file or a run folder.
        ground_truth, predictions, logits, actions: where the videos, saved logits and saved actions
            lie now; ``None`` takes what the file says.
        num_recomputed: random episodes to score again from their videos; imports torch if not 0.
            It runs the code that the file names: only for results that you trust.
        seed: which ones.
    """
    given = (ground_truth, predictions, logits, actions)
    roots = InputRoots(*(None if root is None else Path(root) for root in given))
    return verify(_result_file(Path(path)), roots=roots, num_recomputed=num_recomputed, seed=seed)
