"""How an error looks over HTTP: one table from error class to status and OpenAI error object.

Domain errors know no HTTP; this is the only place that does. An unknown exception is logged with its
request id and the client sees only that id. Thread: event loop.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from roteiro import errors

logger = logging.getLogger("roteiro.server")

INVALID = "invalid_request_error"
PERMISSION = "permission_error"
NOT_FOUND = "not_found_error"
OVERFLOW = "exceed_context_size_error"
SERVER = "server_error"
UNSUPPORTED = "not_supported_error"
UNAVAILABLE = "unavailable_error"
AUTHENTICATION = "authentication_error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one class of error means over HTTP. `retry` False tells SDKs that trying again is useless."""

    status: int
    type: str
    retry: bool = True


# Keyed by class; the nearest class in an error's own line of ancestors decides. A model that cannot be
# loaded or cannot fit is 422 and not 5xx, because SDKs repeat a 5xx and would load it again each time.
ROWS: dict[type[errors.RoteiroError], Row] = {
    errors.UsageError: Row(status=400, type=INVALID),
    errors.ConfigError: Row(status=500, type=SERVER, retry=False),
    errors.ConsentRefused: Row(status=403, type=PERMISSION),
    errors.DownloadFailed: Row(status=500, type=SERVER, retry=False),
    errors.ModelNotFound: Row(status=404, type=INVALID),
    errors.ModelFileInvalid: Row(status=422, type=INVALID),
    errors.ModelUnusable: Row(status=422, type=INVALID),
    errors.MissingExtra: Row(status=501, type=UNSUPPORTED, retry=False),
    errors.InvalidRequest: Row(status=400, type=INVALID),
    errors.UnsupportedParameter: Row(status=400, type=INVALID),
    errors.ContextOverflow: Row(status=400, type=OVERFLOW),
    errors.TemplateError: Row(status=400, type=INVALID),
    errors.ModelTooLarge: Row(status=422, type=INVALID),
    errors.Busy: Row(status=503, type=UNAVAILABLE),
    errors.RequestTimeout: Row(status=504, type=UNAVAILABLE, retry=False),
    errors.NoGraph: Row(status=404, type=NOT_FOUND),
    errors.StoreTooNew: Row(status=409, type=INVALID, retry=False),
    errors.StoreLocked: Row(status=503, type=UNAVAILABLE),
    errors.RootRefused: Row(status=403, type=PERMISSION),
    errors.NodeNotFound: Row(status=404, type=NOT_FOUND),
    errors.AmbiguousName: Row(status=400, type=INVALID),
    errors.LoadFailed: Row(status=422, type=INVALID),
    errors.DecodeFailed: Row(status=500, type=SERVER),
    errors.EngineClosed: Row(status=503, type=UNAVAILABLE),
    errors.ReaderTooSlow: Row(status=408, type=INVALID),
}

# Where nothing is known better: about what a server takes to be there again.
_RETRY_SECONDS = 3
_UNKNOWN = Row(status=500, type=SERVER)
_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))

# For what the HTTP shell itself refuses: status to (type, code).
_SHELL: dict[int, tuple[str, str]] = {
    400: (INVALID, "bad_request"),
    401: (AUTHENTICATION, "invalid_api_key"),
    403: (PERMISSION, "forbidden"),
    404: (NOT_FOUND, "not_found"),
    405: (INVALID, "method_not_allowed"),
    408: (INVALID, "request_timeout"),
    413: (INVALID, "request_too_large"),
    415: (INVALID, "unsupported_media_type"),
    501: (UNSUPPORTED, "not_supported"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """An error ready for the wire: status, the `error` object and extra headers."""

    status: int
    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)

    def response(self) -> Response:
        """The whole HTTP response."""
        return Response(
            encode({"error": self.body}),
            status_code=self.status,
            headers=self.headers,
            media_type="application/json; charset=utf-8",
        )


def encode(value: Any) -> bytes:
    """Compact UTF-8 JSON; refuses NaN and infinity, which no JSON parser has to accept."""
    return _JSON.encode(value).encode()


def row_of(kind: type[errors.RoteiroError]) -> Row:
    """The row of the class itself or of its nearest ancestor that has one."""
    return next((ROWS[c] for c in kind.__mro__ if c in ROWS), _UNKNOWN)


def problem(error: BaseException, *, request_id: str) -> Problem:
    """Translate any exception. Unknown ones are logged here, and only their id is told."""
    if isinstance(error, errors.RoteiroError):
        return _of_ours(error, request_id)
    if isinstance(error, HTTPException):
        return shell_problem(error.status_code, str(error.detail), headers=error.headers)
    logger.error("unexpected_error request=%s", request_id, exc_info=error)
    return Problem(status=500, body=_internal(request_id), headers={"x-should-retry": "false"})


def shell_problem(status: int, message: str, *, code: str | None = None, headers: Any = None) -> Problem:
    """An error of the HTTP shell itself: a path, method, origin, key, size or media type."""
    fallback = (SERVER, "server_error") if status >= 500 else (INVALID, "bad_request")
    kind, default_code = _SHELL.get(status, fallback)
    if message == HTTPStatus(status).phrase:
        message = f"{message}."
    body = {"message": message, "type": kind, "param": None, "code": code or default_code}
    return Problem(status=status, body=body, headers=dict(headers or {}))


def respond(request: Request, error: Exception) -> Response:
    """Starlette's exception handler for everything that a route raises."""
    return problem(error, request_id=request_id(request)).response()


def request_id(request: Request) -> str:
    """The id that the outermost middleware gave this request."""
    return str(request.scope.get("state", {}).get("request_id", ""))


# ---------------------------------------------------------------------------------------------------


def _of_ours(error: errors.RoteiroError, request_id: str) -> Problem:
    row = row_of(type(error))
    if row.status >= 500 and row.type == SERVER:
        logger.error("request_failed request=%s code=%s", request_id, error.code, exc_info=error)
    body: dict[str, Any] = {
        "message": error.sentence(),
        "type": row.type,
        "param": error.param,
        "code": error.code,
    }
    for key, value in error.details.items():
        body.setdefault(key, value)
    headers = {}
    if row.status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers["Retry-After"] = str(getattr(error, "retry_after_s", _RETRY_SECONDS))
    if not row.retry:
        headers["x-should-retry"] = "false"  # the OpenAI SDKs obey it
    return Problem(status=row.status, body=body, headers=headers)


def _internal(request_id: str) -> dict[str, Any]:
    return {
        "message": f"An unexpected error occurred. The server's log has it under {request_id}.",
        "type": SERVER,
        "param": None,
        "code": "internal_error",
        "request_id": request_id,
    }
