"""What a session may do, and when: nothing about HTTP, nothing about databases."""

from __future__ import annotations

import json
import logging
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import astuple, replace
from typing import Any

from wbgpu.bench.answer_key import (
    BY_SEED,
    AnswerKey,
    Question,
    ScoredStep,
    indices,
    packed,
    score,
    step_regret,
)
from wbgpu.bench.limits import Limits
from wbgpu.bench.problems import RefusedError
from wbgpu.bench.protocol import (
    SessionRequest,
    parse_predict_request,
    parse_session_request,
    schema_document,
)
from wbgpu.bench.store import Prediction, Store
from wbgpu.records.world import Schema
from wbgpu.worlds import WorldDefinition

_LOG = logging.getLogger("wbgpu.bench")
_ID = re.compile(r"[A-Za-z0-9_-]{16,40}")
_NUM_REMEMBERED = 4096
_Row = Mapping[str, Any]


class Bench:
    """Sessions on top of a store and an answer key; safe to be used by threads side by side.

    Args:
        store: keeps everything.
        key: knows the truth.
        limits: of clients.
        paired_episodes: whether scored sessions with one seed play one episode. Contestants can be
            compared in pairs then, but who plays a seed twice has seen it: for contestants that
            are trusted.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        store: Store,
        key: AnswerKey,
        limits: Limits,
        *,
        paired_episodes: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.store = store
        self.key = key
        self.limits = limits
        self._paired_episodes = paired_episodes
        self._clock = clock
        # Rows that have been observed, so that the prediction that follows need not read them.
        self._asked: dict[str, _Row] = {}

    def worlds(self) -> list[dict[str, Any]]:
        """Names, budgets and digests of the worlds."""
        return [
            {
                **schema_document(world.schema),
                "description": world.description,
                "max_steps": world.max_steps,
                "sha256": world.sha256,
            }
            for world in self.key.worlds
        ]

    def create(self, raw: bytes, client: str) -> dict[str, Any]:
        """Begin a session.

        Args:
            raw: body of the request.
            client: address, whose sessions are counted.

        Raises:
            RefusedError: the body is wrong, there is no such world, or the client has too many
                sessions.
        """
        request = parse_session_request(raw)
        world = self.key.world(request.env)
        max_steps = world.max_steps if request.max_steps is None else request.max_steps
        least = 1 if request.practice else self.limits.min_steps
        if not least <= max_steps <= world.max_steps:
            raise RefusedError(
                422,
                "invalid-field",
                f"expected {least} to {world.max_steps} steps, got {max_steps}",
                field="max_steps",
            )
        draws = self.key.new_draws(practice=request.practice, by_seed=self._paired_episodes)
        first = self.key.begin(world, request.seed, draws)
        now = self._clock()
        row = {
            "session_id": self.key.session_id(_identity(request, client)),
            "run_id": secrets.token_urlsafe(12),
            "world": world.schema.world,
            "world_sha256": world.sha256,
            "seed": str(request.seed),
            "draws": draws,
            "max_steps": max_steps,
            "practice": request.practice,
            "name": request.name,
            "client": client,
            "created_at": now,
            "expires_at": now + self.limits.session_seconds,
            "finished_at": None,
            "step": 0,
            "observed_step": -1,
            "state": json.dumps(first.state),
            "action": first.action,
        }
        stored = self.store.add_session(row, self.limits.max_open_sessions)
        if stored is None:
            raise RefusedError(
                429,
                "too-many-sessions",
                f"this client has {self.limits.max_open_sessions} open sessions; finish one first",
            )
        if stored["run_id"] == row["run_id"]:
            _log("session begun", row)
        return {
            **{k: stored[k] for k in ("session_id", "run_id", "max_steps", "practice", "name")},
            "env": stored["world"],
            "world_sha256": stored["world_sha256"],
            "seed": request.seed,
            "expires_at": stored["expires_at"],
            "prediction_schema": _prediction_schema(world.schema),
        }

    def observe(self, session_id: str) -> dict[str, Any]:
        """What the session is asked, or that it is done.

        Raises:
            RefusedError: there is no such session, it has expired, or its world has been changed.
        """
        row = _existing(self.store.observe(_shaped(session_id), self._clock()))
        world = self._going_on(row)
        is_done = row["step"] >= row["max_steps"]
        if len(self._asked) >= _NUM_REMEMBERED:
            self._asked.clear()
        self._asked[session_id] = row
        return {
            "done": is_done,
            "step": row["step"],
            "max_steps": row["max_steps"],
            "practice": row["practice"],
            "observation": _named(indices(row["state"]), world.schema),
            "action": None if is_done else world.schema.actions[row["action"]],
            "prediction_schema": _prediction_schema(world.schema),
        }

    def predict(self, session_id: str, raw: bytes) -> dict[str, Any]:
        """Count a forecast; answers that it was, and in practice also what happened.

        Raises:
            RefusedError: there is no such session, it is over, the body is wrong, or the step is
                not the one that is due. Nothing has been counted then.
        """
        asked = self._asked.pop(session_id, None)
        if asked is not None:
            try:
                return self._predict(asked, raw)
            except RefusedError as error:
                # Another server on this store may have gone on with the session.
                if error.status != 409:
                    raise
        return self._predict(self._row(session_id), raw)

    def _predict(self, row: _Row, raw: bytes) -> dict[str, Any]:
        world = self._going_on(row)
        request = parse_predict_request(raw, world.schema)
        step = row["step"]
        if request.step is not None and request.step != step:
            raise _wrong_step(request.step, step)
        if step >= row["max_steps"]:
            raise RefusedError(409, "session-finished", f"all {step} steps have been predicted")
        asked = Question(indices(row["state"]), row["action"])
        after = self.key.step(world, int(row["seed"]), row["draws"], asked, step)
        forecast = packed(request.probabilities)
        counted = self.store.add_prediction(
            Prediction(
                session_id=row["session_id"],
                step=step,
                state=row["state"],
                action=asked.action,
                forecast=forecast,
                outcome=json.dumps(after.state),
                next_action=after.action,
                at=self._clock(),
                is_last=step + 1 == row["max_steps"],
                must_be_observed=request.step is None,
            )
        )
        if not counted:
            raise self._not_counted(row["session_id"], request.step, step)
        if step + 1 == row["max_steps"]:
            _log("session finished", row)
        answer = {"acknowledged": True, "step": step, "practice": row["practice"]}
        if not row["practice"]:
            return answer
        scored = ScoredStep(asked.state, asked.action, after.state, forecast)
        outcome = _named(after.state, world.schema)
        return {**answer, "outcome": outcome, **step_regret(world, scored)}

    def result(self, session_id: str) -> dict[str, Any]:
        """The score of a finished session.

        Raises:
            RefusedError: there is no such session, or it is not finished.
        """
        row = self._row(session_id)
        if row["finished_at"] is None:
            raise RefusedError(
                409,
                "session-not-finished",
                f"{row['step']} of {row['max_steps']} steps have been predicted; the result is "
                "told after the last",
            )
        return self.scored(row)

    def scored(self, row: _Row) -> dict[str, Any]:
        """The score of a finished session, computed once and kept.

        Raises:
            RefusedError: its world has been changed before it was scored.
        """
        known = self.store.result(row["session_id"])
        if known is None:
            world = self.key.world(row["world"], row["world_sha256"])
            steps = self.steps(row)
            document = {
                "run_id": row["run_id"],
                "name": row["name"],
                "practice": row["practice"],
                "env": row["world"],
                "world_sha256": row["world_sha256"],
                "seed": int(row["seed"]),
                "paired_episodes": row["draws"] == BY_SEED,
                "finished_at": row["finished_at"],
                **score(world, steps),
            }
            known = json.dumps(document, allow_nan=False)
            self.store.add_result(row["session_id"], known)
        scored: dict[str, Any] = json.loads(known)
        return scored

    def run(self, run_id: str) -> _Row:
        """A session by its public id.

        Raises:
            RefusedError: there is none.
        """
        row = self.store.run(run_id) if _ID.fullmatch(run_id) else None
        if row is None:
            raise RefusedError(404, "unknown-run", "there is no such run", field="run")
        return row

    def steps(self, row: _Row) -> list[ScoredStep]:
        """All predictions of a session."""
        return [
            ScoredStep(
                indices(p["state"]), p["action"], indices(p["outcome"]), bytes(p["forecast"])
            )
            for p in self.store.predictions(row["session_id"])
        ]

    def _row(self, session_id: str) -> _Row:
        return _existing(self.store.session(_shaped(session_id)))

    def _going_on(self, row: _Row) -> WorldDefinition:
        if row["finished_at"] is None and self._clock() >= row["expires_at"]:
            raise RefusedError(
                410, "session-expired", "the session has expired unfinished; begin another"
            )
        return self.key.world(row["world"], row["world_sha256"])

    def _not_counted(self, session_id: str, named: int | None, step: int) -> RefusedError:
        row = self._row(session_id)
        if row["step"] == step and named is None:
            return RefusedError(
                409,
                "step-not-observed",
                f"step {step} has not been observed; observe it first, or name it as `step`",
            )
        return _wrong_step(step, row["step"])


def _identity(request: SessionRequest, client: str) -> str:
    """What tells a session from all others: the request, if it can be repeated, or chance."""
    key = request.idempotency_key or secrets.token_urlsafe(24)
    return json.dumps([client, *astuple(replace(request, idempotency_key=key))])


def _shaped(session_id: str) -> str:
    # Checked first: databases refuse some texts with errors of their own.
    if not _ID.fullmatch(session_id):
        raise _unknown()
    return session_id


def _existing(row: _Row | None) -> _Row:
    if row is None:
        raise _unknown()
    return row


def _unknown() -> RefusedError:
    return RefusedError(404, "unknown-session", "there is no such session", field="session_id")


def _wrong_step(named: int, due: int) -> RefusedError:
    if named < due:
        return RefusedError(
            409, "step-already-predicted", f"step {named} has been predicted", field="step"
        )
    return RefusedError(
        409, "step-not-due", f"step {due} is due, and not yet step {named}", field="step"
    )


def _prediction_schema(schema: Schema) -> list[list[Any]]:
    return [[variable.name, variable.num_outcomes] for variable in schema.variables]


def _named(state: tuple[int, ...], schema: Schema) -> dict[str, int]:
    return {v.name: index for v, index in zip(schema.variables, state, strict=True)}


def _log(what: str, row: _Row) -> None:
    # Not the session's id, which opens it; not states, which are the truth.
    keys = ("run_id", "world", "name", "practice", "max_steps")
    _LOG.info(what, extra={"fields": {key: row[key] for key in keys}})
