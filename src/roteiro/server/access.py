"""Gives each request an id and writes one line about it when it is over.

The line is what authors of agents read, so routes add facts to it (tokens cached, evaluated, generated,
times, why a prefix was not reused) through `note`. Outermost of the stack. Thread: event loop.
"""

from __future__ import annotations

import logging
import re
import secrets
import time

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from roteiro.server.errors import problem

logger = logging.getLogger("roteiro.access")

_USABLE_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}")
# Polled by agents several times a second; their lines would bury the others.
_QUIET_PATHS = frozenset({"/health", "/v1/health", "/slots", "/metrics"})


class AccessLog:
    """Assigns `X-Request-Id` (a usable one of the client is kept), catches what nobody else caught."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request and write its line."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        request_id = state["request_id"] = _request_id(Headers(scope=scope))
        state["facts"] = {}
        started, status = time.perf_counter(), 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["X-Request-Id"] = request_id
            await send(message)

        try:
            await self.app(scope, receive, sending)
        except Exception as error:
            refusal = problem(error, request_id=request_id)
            if status:  # too late for a status; the server closes the connection
                raise
            await refusal.response()(scope, receive, sending)
        finally:
            _write(scope, status, time.perf_counter() - started)


def note(request: Request, **facts: object) -> None:
    """Add facts to the request's log line; None values are left out."""
    known = request.scope.setdefault("state", {}).setdefault("facts", {})
    known.update({key: value for key, value in facts.items() if value is not None})


# ---------------------------------------------------------------------------------------------------


def _request_id(headers: Headers) -> str:
    given = headers.get("x-request-id", "")
    return given if _USABLE_ID.fullmatch(given) else f"req-{secrets.token_hex(8)}"


def _write(scope: Scope, status: int, seconds: float) -> None:
    level = logging.DEBUG if scope["path"] in _QUIET_PATHS else logging.INFO
    if not logger.isEnabledFor(level):
        return
    state = scope["state"]
    facts = " ".join(f"{key}={_value(value)}" for key, value in state["facts"].items())
    # A client can put anything into a path; control characters must not reach a terminal.
    path = ascii(scope["path"])[1:-1]
    logger.log(
        level,
        "%s %s status=%s ms=%.0f request=%s%s",
        scope["method"],
        path[:200],
        status or "left",
        seconds * 1000,
        state["request_id"],
        f" {facts}" if facts else "",
    )


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.1f}"
    text = str(value)
    return text if re.fullmatch(r"[\w.:/+-]+", text) else ascii(text)
