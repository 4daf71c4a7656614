"""What ``wbgpu gate`` writes besides its own folder: a page, and files for CI."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import click

from wbgpu.cli.artifacts import check_folder, check_report
from wbgpu.errors import ConfigurationError
from wbgpu.records.comparison import Verdict
from wbgpu.records.regret_comparison import RegretVerdict
from wbgpu.records.strict_json import write_text
from wbgpu.report.github_summary import github_summary
from wbgpu.report.junit import junit_xml
from wbgpu.reporting.html import FilmSettings, suite_html

SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"
"""Holds the path of the summary in a step of GitHub Actions."""

PAGE_PROGRESS = "Writing {}: frames and videos of episodes take most of the time"
"""Said on standard error, since nothing else is for half a minute on a busy machine."""

_START_BYTES = 200


@dataclass(frozen=True)
class ExtraFiles:
    """Files that were asked for; ``None`` for those that were not.

    Attributes:
        html: the page.
        junit: the XML file.
        summary: GitHub's file, which text is added to.
        folders: where paths of videos may start.
    """

    html: Path | None
    junit: Path | None
    summary: Path | None
    folders: Sequence[Path] = ()

    @staticmethod
    def checked(
        html: Path | None, junit: Path | None, with_summary: bool, results: Sequence[Path]
    ) -> ExtraFiles:
        """Refuse what cannot be written before the work is done.

        Raises:
            ConfigurationError: a file cannot be written.
        """
        if html is not None:
            check_report(html, "--html")
            if html.suffix.lower() not in (".html", ".htm"):
                raise ConfigurationError(f"--html: expected a .html file, got {html}")
        if junit is not None:
            _check_junit(junit)
            if html is not None and html.absolute() == junit.absolute():
                raise ConfigurationError(f"--html and --junit: both are {html}; name two files")
        summary = os.environ.get(SUMMARY_VARIABLE) if with_summary else None
        if with_summary and not summary:
            # The same command line is tried at home, where the verdict is what is wanted.
            click.echo(
                f"Warning: --github-summary: {SUMMARY_VARIABLE} is not set, so no summary is "
                "written; only steps of GitHub Actions have one",
                err=True,
            )
        folders = [path if path.is_dir() else path.parent for path in results]
        return ExtraFiles(html, junit, Path(summary) if summary else None, folders)

    def write(
        self,
        verdict: Verdict | RegretVerdict,
        report: str,
        configuration_file: str | None,
        clusters: Mapping[str, str] | None = None,
    ) -> Mapping[str, Path]:
        """Write them; returns their paths by what they are.

        Args:
            verdict: what the gate said.
            report: the same in Markdown.
            configuration_file: the wbgpu.yml that supplied thresholds, if any.
            clusters: cluster by episode id, where some belong together.
        """
        written = {}
        if self.junit is not None:
            now = datetime.now(timezone.utc).isoformat(timespec="seconds")
            written["JUnit XML"] = write_text(self.junit, junit_xml(verdict, now))
        if self.summary is not None:
            with self.summary.open("a", encoding="utf-8") as file:
                file.write(github_summary(verdict.status, report))
            written["GitHub summary"] = self.summary
        if self.html is not None:
            click.echo(PAGE_PROGRESS.format(self.html), err=True)
            page = self._page(verdict, configuration_file, clusters)
            written["HTML report"] = write_text(self.html, page)
        return written

    def _page(
        self,
        verdict: Verdict | RegretVerdict,
        configuration_file: str | None,
        clusters: Mapping[str, str] | None,
    ) -> str:
        if isinstance(verdict, Verdict):
            return suite_html(
                verdict.comparison.candidate,
                verdict,
                clusters=clusters,
                films=FilmSettings(folders=self.folders),
                configuration_file=configuration_file,
            )
        from wbgpu.report.html.regret_page import regret_page

        return regret_page(verdict.comparison.candidate, verdict.comparison, verdict)


def _check_junit(path: Path) -> None:
    check_folder(path.absolute().parent, "--junit")
    if path.is_dir():
        raise ConfigurationError(f"--junit: expected a file name, {path} is a directory")
    if path.is_file() and path.stat().st_size:
        with path.open("rb") as file:
            if b"<testsuites" not in file.read(_START_BYTES):
                raise ConfigurationError(
                    f"--junit: {path} exists and is not JUnit XML, so it is not overwritten; "
                    "choose another name or remove it"
                )
