"""A folder of runs over HTTP: a list that stays fresh, and a report of each run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from wbgpu import sdk
from wbgpu.dashboard.runs import Run, RunFolder
from wbgpu.errors import WbgpuError
from wbgpu.gating.load import Policy
from wbgpu.report.numbers import quantity, score
from wbgpu.report.text import one_line

_HEADERS = {
    "Cache-Control": "no-cache",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; img-src data:; media-src data:; "
    "style-src 'self' 'unsafe-inline'; script-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
}
_STATIC: Mapping[str, tuple[str, str]] = {
    "report.css": ("wbgpu.report", "text/css"),
    "dashboard.js": ("wbgpu.dashboard", "text/javascript"),
}
_STATUSES = ("PASS", "FAIL", "INCONCLUSIVE")
_KEPT_REPORTS = 32
_SHOWN_CHARACTERS = 200_000
"""Of a verdict's report, which is for reading."""


def create_app(
    folder: RunFolder,
    *,
    hosts: tuple[str, ...],
    num_films: int = 1,
    policy: str | Policy = "worldbench",
    configuration_file: str | None = None,
) -> Starlette:
    """The application, for uvicorn or any other ASGI server.

    Args:
        folder: what is served.
        hosts: names by which the server may be called, ``*`` for any; others are refused, so that a
            web page elsewhere cannot read runs through a name of its own.
        num_films: worst and best episodes that reports show with frames and a video, of each.
        policy: of verdicts on comparisons.
        configuration_file: the wbgpu.yml that supplied the policy's settings, which reports name.
    """
    report_page = partial(
        sdk.report_page, num_films=num_films, policy=policy, configuration_file=configuration_file
    )
    pages = _Pages(folder, report_page)
    return Starlette(
        routes=[
            Route("/", pages.dashboard),
            Route("/runs", pages.runs),
            Route("/report", pages.report),
            Route("/verdict", pages.verdict),
            Route("/static/{name}", pages.static),
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))],
    )


class _Pages:
    def __init__(self, folder: RunFolder, report_page: Callable[[Path, Path | None], str]) -> None:
        self._folder = folder
        self._report_page = report_page
        self._report = lru_cache(_KEPT_REPORTS)(self._made_report)
        self._templates = Environment(
            loader=PackageLoader("wbgpu.dashboard", "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=lambda value: one_line(value) if type(value) is str else value,
        )

    async def dashboard(self, request: Request) -> Response:
        content = await self._content(request)
        return self._html("dashboard.html", content)

    async def runs(self, request: Request) -> Response:
        content = await self._content(request)
        response = self._html("runs.html", content)
        tag = f'"{hashlib.sha256(response.body).hexdigest()[:32]}"'
        if request.headers.get("If-None-Match") == tag:
            return Response(status_code=304, headers={**_HEADERS, "ETag": tag})
        response.headers["ETag"] = tag
        return response

    async def report(self, request: Request) -> Response:
        names = [request.query_params.get(key) for key in ("run", "against")]
        make = partial(self._found_report, names[0] or "", names[1])
        try:
            page = await run_in_threadpool(make)
        except (WbgpuError, OSError) as error:
            message = {"title": "No report", "text": str(error)}
            return self._html("message.html", message, status_code=422)
        if page is None:
            text = "There is no such run in this folder; it may have been removed."
            return self._html("message.html", {"title": "Not found", "text": text}, 404)
        return HTMLResponse(page, headers=_HEADERS)

    async def verdict(self, request: Request) -> Response:
        path = request.query_params.get("run") or ""
        content = await run_in_threadpool(self._found_verdict, path)
        if content is None:
            text = "There is no such verdict in this folder; it may have been removed."
            return self._html("message.html", {"title": "Not found", "text": text}, 404)
        return self._html("verdict.html", content)

    async def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _STATIC:
            return self._html("message.html", {"title": "Not found", "text": name}, 404)
        package, media_type = _STATIC[name]
        content = (files(package) / "templates" / name).read_bytes()
        return Response(content, media_type=media_type, headers=_HEADERS)

    async def _content(self, request: Request) -> dict[str, Any]:
        found = await run_in_threadpool(self._folder.runs)
        wanted = request.query_params.get("baseline")
        baseline = next((run for run in found if run.path == wanted and run.is_result), None)
        query = "" if baseline is None else f"?{urlencode({'baseline': baseline.path})}"
        return {
            "folder": str(self._folder.target),
            "baseline": "" if baseline is None else baseline.headline.name,
            "source": f"/runs{query}",
            "runs": [_row(run, baseline) for run in found],
        }

    def _found_report(self, path: str, against: str | None) -> str | None:
        run = self._folder.find(path)
        baseline = None if against is None else self._folder.find(against)
        if run is None or (against is not None and baseline is None):
            return None
        if not run.is_result or (baseline is not None and not baseline.is_result):
            return None
        return self._report(run, baseline)

    def _found_verdict(self, path: str) -> dict[str, Any] | None:
        """The report that wbgpu gate wrote beside it, or the verdict's own file."""
        run = self._folder.find(path)
        if run is None or run.is_result:
            return None
        file = self._folder.file(run)
        report = file.with_suffix(".md")
        shown = report if report.is_file() and not report.is_symlink() else file
        with shown.open(encoding="utf-8", errors="replace") as text:
            content = text.read(_SHOWN_CHARACTERS)
        return {
            "name": run.headline.name,
            "status": run.headline.status,
            "badge": _badge(run),
            "file": shown.name,
            "lines": content.splitlines(),
        }

    def _made_report(self, run: Run, baseline: Run | None) -> str:
        """Of the runs as they are: another content has another time, and so another report."""
        return self._report_page(
            self._folder.file(run), None if baseline is None else self._folder.file(baseline)
        )

    def _html(self, name: str, content: Mapping[str, Any], status_code: int = 200) -> Response:
        text = self._templates.get_template(name).render(content)
        return HTMLResponse(text, status_code, headers=_HEADERS)


def _badge(run: Run) -> str:
    """A class of the style sheet, and no other text from a file."""
    return run.headline.status if run.headline.status in _STATUSES else ""


def _row(run: Run, baseline: Run | None) -> dict[str, Any]:
    head = run.headline
    report = against = choose = ""
    if run.is_result:
        report = f"/report?{urlencode({'run': run.path})}"
        choose = "" if run.refusal else f"/?{urlencode({'baseline': run.path})}"
    else:
        report = f"/verdict?{urlencode({'run': run.path})}"
    if baseline is not None:
        choose = ""
        is_other = run.path != baseline.path and head.kind == baseline.headline.kind
        if run.is_result and is_other and not run.refusal:
            against = f"/report?{urlencode({'run': run.path, 'against': baseline.path})}"
    return {
        "name": head.name,
        "kind": head.kind,
        "status": head.status,
        "badge": _badge(run),
        "value": quantity(head.value, "nats") if head.kind == "regret" else score(head.value),
        "created_at": head.created_at.partition(".")[0].replace("T", " "),
        "path": run.path,
        "report": report,
        "against": against,
        "choose": choose,
        "refusal": run.refusal,
        "is_baseline": baseline is not None and run.path == baseline.path,
    }
