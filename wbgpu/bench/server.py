"""The bench over HTTP: routes, limits, and one shape for everything that is refused."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

from sqlalchemy.exc import OperationalError, TimeoutError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from wbgpu.bench.leaderboard import leaderboard
from wbgpu.bench.limits import RateLimiter
from wbgpu.bench.openapi import openapi_document
from wbgpu.bench.pages import STATIC, leaderboard_page, refused_page, replay_page, static_file
from wbgpu.bench.problems import PROBLEM_MEDIA_TYPE, RefusedError
from wbgpu.bench.replay import frame, replay
from wbgpu.bench.sessions import Bench

_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_KEPT = {"Cache-Control": "max-age=3600", "X-Content-Type-Options": "nosniff"}
_PAGE = {
    **_HEADERS,
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; img-src 'self' data:; style-src 'self'; "
    "script-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}
_JSON = "application/json"
# ASCII: names may hold what UTF-8 cannot encode.
_encode = json.JSONEncoder(allow_nan=False).encode


def create_app(bench: Bench) -> Starlette:
    """The application, for uvicorn or any other ASGI server.

    Args:
        bench: does the work; its store is closed when the application ends.
    """
    routes = _Routes(bench)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        del app
        yield
        routes.close()

    session = "/bench/sessions/{session_id}"
    app = Starlette(
        # In the order of how often they are asked for: they are tried one after another.
        routes=[
            Route(f"{session}/observe", routes.observe),
            Route(f"{session}/predict", routes.predict, methods=["POST"]),
            Route("/healthz", routes.healthz),
            Route("/openapi.json", routes.openapi),
            Route("/bench/worlds", routes.worlds),
            Route("/bench/sessions", routes.create, methods=["POST"]),
            Route(f"{session}/result", routes.result),
            Route("/bench/leaderboard", routes.leaderboard),
            Route("/bench/replay", routes.replay),
            Route("/bench/frames/{env}/{state}.png", routes.frame),
            Route("/", routes.leaderboard_page),
            Route("/leaderboard", routes.leaderboard_page),
            Route("/replay", routes.replay_page),
            Route("/static/{name}", routes.static),
        ],
        exception_handlers={
            RefusedError: _refused,
            HTTPException: _refused_by_routing,
            OperationalError: _store_unavailable,
            TimeoutError: _store_unavailable,
            ClientDisconnect: _client_gone,
            Exception: _failed,
        },
        lifespan=lifespan,
    )
    # Its target would come from the Host header, and hold what opens a session.
    app.router.redirect_slashes = False
    return app


class _Routes:
    """Endpoints. What takes long runs in threads, so that it does not stop the others."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._limiter = RateLimiter(bench.limits.max_requests_per_second)
        self._threads = ThreadPoolExecutor(bench.store.num_connections, "wbgpu-bench")

    def close(self) -> None:
        """Finish what is being done, and close the store."""
        self._threads.shutdown(wait=True)
        self._bench.store.close()

    async def healthz(self, request: Request) -> Response:
        del request
        await self._in_thread(self._bench.store.ping)
        return _json({"status": "ok"})

    async def openapi(self, request: Request) -> Response:
        self._admit(request)
        names = [world.schema.world for world in self._bench.key.worlds]
        return _json(openapi_document(self._bench.limits, names))

    async def worlds(self, request: Request) -> Response:
        self._admit(request)
        return _json({"worlds": self._bench.worlds()})

    async def create(self, request: Request) -> Response:
        client = self._admit(request)
        raw = await self._body(request)
        return _json(await self._in_thread(lambda: self._bench.create(raw, client)), 201)

    async def observe(self, request: Request) -> Response:
        self._admit(request)
        session_id = request.path_params["session_id"]
        return _json(await self._briefly(lambda: self._bench.observe(session_id)))

    async def predict(self, request: Request) -> Response:
        self._admit(request)
        session_id, raw = request.path_params["session_id"], await self._body(request)
        return _json(await self._briefly(lambda: self._bench.predict(session_id, raw)))

    async def result(self, request: Request) -> Response:
        self._admit(request)
        session_id = request.path_params["session_id"]
        return _json(await self._in_thread(lambda: self._bench.result(session_id)))

    async def leaderboard(self, request: Request) -> Response:
        self._admit(request)
        return _json(await self._in_thread(lambda: leaderboard(self._bench)))

    async def replay(self, request: Request) -> Response:
        return _json(await self._replay(request))

    async def frame(self, request: Request) -> Response:
        self._admit(request)
        env, state = request.path_params["env"], request.path_params["state"]
        png = await self._in_thread(lambda: frame(self._bench, env, state))
        return Response(png, headers=_KEPT, media_type="image/png")

    async def leaderboard_page(self, request: Request) -> Response:
        self._admit(request)
        page = await self._in_thread(lambda: leaderboard_page(leaderboard(self._bench)))
        return Response(page, headers=_PAGE, media_type="text/html")

    async def replay_page(self, request: Request) -> Response:
        try:
            document = await self._replay(request)
        except RefusedError as error:
            headers = {**_PAGE, **_retry_after(error)}
            return Response(refused_page(error), error.status, headers, "text/html")
        page = await self._in_thread(lambda: replay_page(document))
        return Response(page, headers=_PAGE, media_type="text/html")

    async def static(self, request: Request) -> Response:
        self._admit(request)
        name = request.path_params["name"]
        if name not in STATIC:
            raise HTTPException(404)
        return Response(static_file(name), headers=_KEPT, media_type=STATIC[name])

    async def _replay(self, request: Request) -> dict[str, Any]:
        self._admit(request)
        run_ids = request.query_params.getlist("run")
        if not 1 <= len(run_ids) <= 2:
            detail = f"expected one or two runs, got {len(run_ids)}"
            raise RefusedError(422, "invalid-field", detail, field="run")
        document: dict[str, Any] = await self._in_thread(lambda: replay(self._bench, run_ids))
        return document

    def _admit(self, request: Request) -> str:
        """The client's address, if it may ask."""
        client = request.client.host if request.client else "unknown"
        if not self._limiter.admits(client):
            raise RefusedError(
                429,
                "too-many-requests",
                f"more than {self._bench.limits.max_requests_per_second:g} requests per second",
                retry_after_seconds=1,
            )
        return client

    async def _body(self, request: Request) -> bytes:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        # Also keeps web pages out: without asking first, browsers send other types only.
        if kind != _JSON:
            raise RefusedError(415, "not-json", f"expected {_JSON}", field="Content-Type")
        limit = self._bench.limits.max_body_bytes
        too_large = RefusedError(
            413, "body-too-large", f"expected at most {limit} bytes", field="body"
        )
        if int(request.headers.get("content-length", "0")) > limit:
            raise too_large
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > limit:
                raise too_large
        return bytes(body)

    async def _briefly(self, work: Callable[[], Any]) -> Any:
        # SQLite has one writer, and a thread's turn costs more than its transaction of 0.1 ms.
        return work() if self._bench.store.num_connections == 1 else await self._in_thread(work)

    async def _in_thread(self, work: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


def _json(document: Any, status: int = 200) -> Response:
    return Response(_encode(document), status, _HEADERS, _JSON)


def _retry_after(problem: RefusedError) -> dict[str, str]:
    seconds = problem.retry_after_seconds
    return {} if seconds is None else {"Retry-After": str(seconds)}


def _problem(problem: RefusedError, headers: dict[str, str] | None = None) -> Response:
    extra = {**_HEADERS, **(headers or {}), **_retry_after(problem)}
    return Response(_encode(problem.document()), problem.status, extra, PROBLEM_MEDIA_TYPE)


async def _refused(request: Request, error: Exception) -> Response:
    del request
    assert isinstance(error, RefusedError)
    return _problem(error)


async def _refused_by_routing(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kinds = {404: "unknown-path", 405: "method-not-allowed"}
    detail = f"{request.method} {request.url.path}: {error.detail}"
    problem = RefusedError(error.status_code, kinds.get(error.status_code, "refused"), detail)
    return _problem(problem, dict(error.headers or {}))


async def _store_unavailable(request: Request, error: Exception) -> Response:
    del request, error
    detail = "the store does not answer; try again"
    return _problem(RefusedError(503, "store-unavailable", detail, retry_after_seconds=1))


async def _client_gone(request: Request, error: Exception) -> Response:
    del request, error
    return Response(status_code=400)


async def _failed(request: Request, error: Exception) -> Response:
    # The error itself goes to the log: it may hold the truth.
    del request, error
    return _problem(RefusedError(500, "fault", "this is a fault in the server; it has been logged"))
