"""Talk to a bench from Python, with tries that never predict a step twice.

`BenchClient` waits, `AsyncBenchClient` is awaited; both have the same methods.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import httpx

from wbgpu.bench.problems import PROBLEM_MEDIA_TYPE, RefusedError, UnreachableError, problem_from
from wbgpu.bench.protocol import parse_schema, prediction_document
from wbgpu.errors import ConfigurationError
from wbgpu.records.world import Schema

NUM_TRIES = 10
"""With the waits between them, half a minute: a server that is restarted is back by then."""

_FIRST_WAIT_SECONDS = 0.1
_LONGEST_WAIT_SECONDS = 5.0
_TRY_AGAIN = (429, 502, 503, 504)
_NOT_ARRIVED = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)

_Answer = httpx.Response | httpx.TransportError


@dataclass(frozen=True)
class _Call:
    """A request, and the step it predicts if it does.

    Each may be sent again when nobody knows whether it had arrived: a repeated step is refused by
    the server, and a repeated session is the one that has been begun.
    """

    method: str
    path: str
    body: Any = None
    step: int | None = None


class BenchClient:
    """A bench over HTTP.

    Args:
        url: of the server, such as ``http://127.0.0.1:8088``.
        num_tries: how often a request is sent at most, when the server does not answer or says
            that it is busy.
        timeout_seconds: of one try.
        transport: of httpx, for tests.

    Every method raises :class:`RefusedError` when the server refuses, and
    :class:`UnreachableError` when it does not answer.
    """

    def __init__(
        self,
        url: str,
        *,
        num_tries: int = NUM_TRIES,
        timeout_seconds: float = 30.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._num_tries = _checked_tries(num_tries)
        self._http = httpx.Client(base_url=url, timeout=timeout_seconds, transport=transport)

    def __enter__(self) -> BenchClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def worlds(self) -> dict[str, Any]:
        """Description of each world that the server has, by name."""
        return _by_name(self._done(_Call("GET", "/bench/worlds")))

    def schema(self, env: str) -> Schema:
        """Variables, outcomes and actions of a world."""
        return _schema_of(self.worlds(), env)

    def create_session(
        self,
        env: str,
        seed: int,
        *,
        max_steps: int | None = None,
        practice: bool = False,
        name: str | None = None,
    ) -> dict[str, Any]:
        """Begin a session.

        Args:
            env: name of a world.
            seed: 0 ... 2**64 - 1; which episode it is, the server's secret decides as well.
            max_steps: steps to forecast; the world's own number by default.
            practice: outcomes are told at once, and nothing counts.
            name: who forecasts, for the leaderboard.

        Returns:
            ``session_id``, which opens the session, ``max_steps`` and more.
        """
        return self._done(_creation(env, seed, max_steps, practice, name))

    def observe(self, session_id: str) -> dict[str, Any]:
        """Which state and action is to be forecast: ``done``, ``step``, ``observation`` ..."""
        return self._done(_Call("GET", f"/bench/sessions/{session_id}/observe"))

    def predict(
        self, session_id: str, step: int, schema: Schema, probabilities: Sequence[Sequence[float]]
    ) -> dict[str, Any]:
        """Forecast one step.

        Args:
            session_id: of the session.
            step: the one that was observed. It is sent along, so that a second try after a lost
                answer cannot count for the next step.
            schema: of the world.
            probabilities: for each variable K probabilities.

        Returns:
            ``acknowledged`` and, in practice, what happened; after a lost answer
            ``acknowledged`` only.
        """
        return self._done(_prediction(session_id, step, schema, probabilities))

    def result(self, session_id: str) -> dict[str, Any]:
        """The score, once all steps have been forecast."""
        return self._done(_Call("GET", f"/bench/sessions/{session_id}/result"))

    def _done(self, call: _Call) -> dict[str, Any]:
        tries = _tries(call, self._num_tries)
        wait = next(tries)
        while True:
            time.sleep(wait)
            answer: _Answer
            try:
                answer = self._http.request(call.method, call.path, **_content(call))
            except httpx.TransportError as error:
                answer = error
            try:
                wait = tries.send(answer)
            except StopIteration as done:
                document: dict[str, Any] = done.value
                return document


class AsyncBenchClient:
    """As :class:`BenchClient`, to be awaited; many sessions can be played side by side."""

    def __init__(
        self,
        url: str,
        *,
        num_tries: int = NUM_TRIES,
        timeout_seconds: float = 30.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._num_tries = _checked_tries(num_tries)
        self._http = httpx.AsyncClient(base_url=url, timeout=timeout_seconds, transport=transport)

    async def __aenter__(self) -> AsyncBenchClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def worlds(self) -> dict[str, Any]:
        """See :meth:`BenchClient.worlds`."""
        return _by_name(await self._done(_Call("GET", "/bench/worlds")))

    async def schema(self, env: str) -> Schema:
        """See :meth:`BenchClient.schema`."""
        return _schema_of(await self.worlds(), env)

    async def create_session(
        self,
        env: str,
        seed: int,
        *,
        max_steps: int | None = None,
        practice: bool = False,
        name: str | None = None,
    ) -> dict[str, Any]:
        """See :meth:`BenchClient.create_session`."""
        return await self._done(_creation(env, seed, max_steps, practice, name))

    async def observe(self, session_id: str) -> dict[str, Any]:
        """See :meth:`BenchClient.observe`."""
        return await self._done(_Call("GET", f"/bench/sessions/{session_id}/observe"))

    async def predict(
        self, session_id: str, step: int, schema: Schema, probabilities: Sequence[Sequence[float]]
    ) -> dict[str, Any]:
        """See :meth:`BenchClient.predict`."""
        return await self._done(_prediction(session_id, step, schema, probabilities))

    async def result(self, session_id: str) -> dict[str, Any]:
        """See :meth:`BenchClient.result`."""
        return await self._done(_Call("GET", f"/bench/sessions/{session_id}/result"))

    async def _done(self, call: _Call) -> dict[str, Any]:
        tries = _tries(call, self._num_tries)
        wait = next(tries)
        while True:
            await asyncio.sleep(wait)
            answer: _Answer
            try:
                answer = await self._http.request(call.method, call.path, **_content(call))
            except httpx.TransportError as error:
                answer = error
            try:
                wait = tries.send(answer)
            except StopIteration as done:
                document: dict[str, Any] = done.value
                return document


def _tries(call: _Call, num_tries: int) -> Generator[float, _Answer, dict[str, Any]]:
    """Yields how long to wait before each try, is sent its answer, and returns the document."""
    wait, may_have_arrived = 0.0, False
    for number in range(1, num_tries + 1):
        answer = yield wait
        wait = min(_FIRST_WAIT_SECONDS * 2 ** (number - 1), _LONGEST_WAIT_SECONDS)
        if isinstance(answer, httpx.TransportError):
            may_have_arrived |= not isinstance(answer, _NOT_ARRIVED)
            if number == num_tries:
                raise UnreachableError(
                    f"{call.method} {call.path}: the server does not answer: "
                    f"{type(answer).__name__} {answer}"
                ) from answer
            continue
        is_refused = answer.status_code == 429
        may_have_arrived |= not is_refused and answer.status_code in _TRY_AGAIN
        # Where waiting does not help, the server does not say how long.
        helps = "retry-after" in answer.headers if is_refused else answer.status_code in _TRY_AGAIN
        if helps and number < num_tries:
            wait = max(wait, _retry_after(answer))
            continue
        try:
            return _document(answer)
        except RefusedError as problem:
            # An earlier try had arrived, and its answer was lost on the way.
            if may_have_arrived and problem.kind == "step-already-predicted":
                return {"acknowledged": True, "step": call.step}
            raise
    raise AssertionError("unreachable")


def _document(answer: httpx.Response) -> dict[str, Any]:
    try:
        document = json.loads(answer.content)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise UnreachableError(
            f"{answer.request.url}: expected a JSON object of a bench, got status "
            f"{answer.status_code} with {answer.headers.get('content-type', 'no type')}"
        )
    if answer.headers.get("content-type", "").startswith(PROBLEM_MEDIA_TYPE):
        raise problem_from(document, answer.status_code)
    if not answer.is_success:
        raise UnreachableError(f"{answer.request.url}: status {answer.status_code}")
    return document


def _retry_after(answer: httpx.Response) -> float:
    text = answer.headers.get("retry-after", "")
    return min(float(text), _LONGEST_WAIT_SECONDS) if text.isascii() and text.isdigit() else 0.0


def _content(call: _Call) -> dict[str, Any]:
    if call.body is None:
        return {}
    # Not httpx's own JSON, which would send NaN.
    try:
        text = json.dumps(call.body, allow_nan=False)
    except ValueError:
        raise ConfigurationError("probabilities: expected finite numbers") from None
    return {"content": text, "headers": {"Content-Type": "application/json"}}


def _creation(
    env: str, seed: int, max_steps: int | None, practice: bool, name: str | None
) -> _Call:
    body = {
        "env": env,
        "seed": seed,
        "max_steps": max_steps,
        "practice": practice,
        "name": name,
        "idempotency_key": secrets.token_urlsafe(24),
    }
    return _Call("POST", "/bench/sessions", body)


def _prediction(
    session_id: str, step: int, schema: Schema, probabilities: Sequence[Sequence[float]]
) -> _Call:
    body = prediction_document(schema, probabilities, step)
    return _Call("POST", f"/bench/sessions/{session_id}/predict", body, step)


def _by_name(document: dict[str, Any]) -> dict[str, Any]:
    return {world["name"]: world for world in document["worlds"]}


def _schema_of(worlds: dict[str, Any], env: str) -> Schema:
    if env not in worlds:
        raise ConfigurationError(
            f"env: the server has no world {env!r}; it has {', '.join(worlds)}"
        )
    return parse_schema(worlds[env])


def _checked_tries(num_tries: int) -> int:
    if num_tries < 1:
        raise ConfigurationError(f"num_tries: expected at least 1, got {num_tries}")
    return num_tries
