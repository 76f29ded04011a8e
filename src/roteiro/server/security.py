"""Who may ask and how much: Host, Origin, key, media type and size, checked before routing.

Loopback is no protection from a web page: a page can send requests to it, and DNS rebinding gives the
page our address under its own name. So Host is an allow-list, a foreign Origin is refused, and a body
must call itself JSON, which a page cannot do without a preflight. Plain ASGI; thread: event loop.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import re
from collections.abc import Sequence

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from roteiro.errors import ConfigError
from roteiro.server.errors import shell_problem

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
MAX_BODY_BYTES = 32 * 1024 * 1024
"""Several times the text of the largest window in use (a million tokens is about 4 MB)."""
BODY_STALL_SECONDS = 60.0
"""A body of which nothing arrives for so long is given up, so that idle senders hold no memory."""
PUBLIC_PATHS = frozenset({"/health", "/v1/health"})
ALLOWED_METHODS = "GET, POST, DELETE, OPTIONS"
PREFLIGHT_SECONDS = "600"

_HOST = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<name>[^:\[\]/@\s]+))(?::(?P<port>\d{1,5}))?")


class HostGuard:
    """Refuses a Host that is not ours: loopback names, the address connected to, or a configured name.

    A browser cannot reach a Unix socket, so there any Host is taken.
    """

    def __init__(self, app: ASGIApp, *, allowed: Sequence[str] = ()) -> None:
        self.app = app
        self.allowed = LOOPBACK_NAMES | {check_host(name) for name in allowed}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 403."""
        if scope["type"] != "http" or self._is_ours(scope):
            await self.app(scope, receive, send)
            return
        host = Headers(scope=scope).get("host", "")
        refusal = shell_problem(
            403,
            f"The Host {host[:100]!r} is not one this server answers to. "
            "Add it to [serve] allowed_hosts in your own configuration if it is meant to be.",
            code="host_not_allowed",
        )
        await refusal.response()(scope, receive, send)

    def _is_ours(self, scope: Scope) -> bool:
        server = scope.get("server")
        if server is not None and server[1] is None:
            return True
        hosts = Headers(scope=scope).getlist("host")
        if len(hosts) != 1:
            return False
        try:
            name, _ = split_host(hosts[0])
        except ValueError:
            return False
        name = _canonical(name)
        return name in self.allowed or (server is not None and name == _literal(server[0]))


class OriginGuard:
    """Refuses foreign origins; answers preflights and adds CORS headers for the configured ones.

    The page that this server itself serves has an Origin equal to the Host it was loaded from, which
    `HostGuard` has already accepted.
    """

    def __init__(self, app: ASGIApp, *, allowed: Sequence[str] = ()) -> None:
        self.app = app
        self.allowed = frozenset(check_origin(origin) for origin in allowed)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, answer a preflight, or refuse with 403."""
        origin = Headers(scope=scope).get("origin") if scope["type"] == "http" else None
        if origin is None or self._is_own(scope, origin):
            await self.app(scope, receive, send)
        elif not self.allows(origin):
            refusal = shell_problem(
                403,
                f"The Origin {origin[:100]!r} may not use this server. "
                "Add it to [serve] allowed_origins in your own configuration if it is meant to.",
                code="origin_not_allowed",
            )
            await refusal.response()(scope, receive, send)
        elif scope["method"] == "OPTIONS":
            await _preflight(Headers(scope=scope), origin)(scope, receive, send)
        else:
            await self.app(scope, receive, _with_cors(send, origin))

    def allows(self, origin: str) -> bool:
        """Whether a configured entry covers the origin: exactly, or by its scheme (`name://*`)."""
        origin = origin.lower()
        return origin in self.allowed or f"{origin.partition('://')[0]}://*" in self.allowed

    @staticmethod
    def _is_own(scope: Scope, origin: str) -> bool:
        host = Headers(scope=scope).get("host", "")
        return origin.lower() == f"{scope.get('scheme', 'http')}://{host}".lower()


class KeyGuard:
    """Wants one of the keys, as `Authorization: Bearer` or `X-Api-Key`, where keys are configured."""

    def __init__(self, app: ASGIApp, *, keys: Sequence[str] = ()) -> None:
        self.app = app
        self.keys = tuple(key.encode() for key in keys)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 401."""
        if scope["type"] != "http" or not self.keys or scope["path"] in PUBLIC_PATHS:
            await self.app(scope, receive, send)
            return
        given = _given_key(Headers(scope=scope))
        # Every key is compared, so that the time says nothing about which one was nearly right.
        if sum(hmac.compare_digest(given, key) for key in self.keys):
            digest = hashlib.sha256(given).hexdigest()[:12]
            scope.setdefault("state", {})["client"] = f"key:{digest}"
            await self.app(scope, receive, send)
            return
        refusal = shell_problem(
            401,
            "This server wants an API key, as `Authorization: Bearer KEY` or `X-Api-Key: KEY`; "
            + ("the one sent is not valid." if given else "none was sent."),
            headers={"WWW-Authenticate": "Bearer"},
        )
        await refusal.response()(scope, receive, send)


class BodyGuard:
    """Bounds the body, declared and as it arrives, and wants it to be JSON."""

    def __init__(
        self, app: ASGIApp, *, limit: int = MAX_BODY_BYTES, stall_s: float = BODY_STALL_SECONDS
    ) -> None:
        self.app = app
        self.limit = limit
        self.stall_s = stall_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body within its bound and hand it on whole, or answer 408, 413 or 415."""
        if scope["type"] != "http" or scope["method"] not in {"POST", "PUT", "PATCH"}:
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(headers)
        if refusal is None:
            body = await self._read(receive)
            if isinstance(body, bytes):
                await self.app(scope, _replay(body, receive), send)
                return
            refusal = body
        refusal.headers["Connection"] = "close"  # the rest of the body is not read
        await refusal(scope, receive, send)

    def _refusal(self, headers: Headers) -> Response | None:
        declared = headers.get("content-length")
        if declared is not None and (not declared.isdigit() or int(declared) > self.limit):
            return self._too_large()
        if declared == "0" or (declared is None and "transfer-encoding" not in headers):
            return None
        media = headers.get("content-type", "").partition(";")[0].strip().lower()
        if media == "application/json" or (media.startswith("application/") and media.endswith("+json")):
            return None
        return shell_problem(
            415,
            f"The body's Content-Type is {media[:60] or 'missing'!r}; send application/json.",
        ).response()

    async def _read(self, receive: Receive) -> bytes | Response:
        chunks: list[bytes] = []
        size = 0
        while True:
            try:
                async with asyncio.timeout(self.stall_s):
                    message = await receive()
            except TimeoutError:
                text = f"Nothing of the body arrived for {self.stall_s:g} s."
                return shell_problem(408, text).response()
            if message["type"] == "http.disconnect":
                return shell_problem(400, "The client left before its body was complete.").response()
            chunk = message.get("body", b"")
            size += len(chunk)
            if size > self.limit:
                return self._too_large()
            chunks.append(chunk)
            if not message.get("more_body", False):
                return b"".join(chunks)

    def _too_large(self) -> Response:
        text = f"The body is larger than the {self.limit} bytes this server takes."
        return shell_problem(413, text).response()


def split_host(value: str) -> tuple[str, int | None]:
    """A Host header as (name without brackets, port).

    Raises:
        ValueError: when it is neither `name[:port]` nor `[ipv6][:port]`.
    """
    match = _HOST.fullmatch(value.strip())
    if match is None:
        raise ValueError(f"not a host: {value!r}")
    port = int(match["port"]) if match["port"] else None
    if port is not None and port > 65535:
        raise ValueError(f"not a port: {port}")
    return match["v6"] or match["name"], port


def check_host(name: str) -> str:
    """A configured host name in its compared form.

    Raises:
        ConfigError: it is neither a name nor an address.
    """
    try:
        return _literal(name) or _canonical(split_host(name)[0])
    except ValueError as error:
        raise ConfigError(
            [f"[serve] allowed_hosts: {name!r} is not a host name"],
            hint="Write a name or address, without scheme or path.",
            param="serve.allowed_hosts",
        ) from error


def check_origin(origin: str) -> str:
    """A configured origin in its compared form.

    Raises:
        ConfigError: for wildcards over the web and for what is no origin.
    """
    text = origin.strip().lower().rstrip("/")
    scheme, separator, rest = text.partition("://")
    if rest == "*" and scheme not in {"http", "https"}:
        return text
    if not separator or not scheme or not rest or "*" in rest or "/" in rest:
        raise ConfigError(
            [f"[serve] allowed_origins: {origin!r} is not an origin"],
            hint="Write scheme://host[:port], or name://* for an application's own scheme.",
            param="serve.allowed_origins",
        )
    return text


# ---------------------------------------------------------------------------------------------------


def _canonical(name: str) -> str:
    literal = _literal(name)
    return literal or name.lower().removesuffix(".")


def _literal(name: str) -> str | None:
    try:
        return ipaddress.ip_address(name.partition("%")[0]).compressed
    except ValueError:
        return None


def _given_key(headers: Headers) -> bytes:
    text = headers.get("authorization", "") or headers.get("x-api-key", "")
    scheme, _, rest = text.strip().partition(" ")
    return (rest if scheme.lower() == "bearer" else text).strip().encode()


def _preflight(headers: Headers, origin: str) -> Response:
    asked = headers.get("access-control-request-headers", "*")
    response = Response(status_code=200)
    response.headers["Access-Control-Allow-Methods"] = ALLOWED_METHODS
    response.headers["Access-Control-Allow-Headers"] = asked
    response.headers["Access-Control-Max-Age"] = PREFLIGHT_SECONDS
    if headers.get("access-control-request-private-network") == "true":
        response.headers["Access-Control-Allow-Private-Network"] = "true"
    _add_cors(response.headers, origin)
    return response


def _add_cors(headers: MutableHeaders, origin: str) -> None:
    headers["Access-Control-Allow-Origin"] = origin
    headers["Access-Control-Allow-Credentials"] = "true"
    headers["Access-Control-Expose-Headers"] = "X-Request-Id, Retry-After, X-Roteiro-Ignored-Fields"
    headers.add_vary_header("Origin")


def _with_cors(send: Send, origin: str) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            _add_cors(MutableHeaders(scope=message), origin)
        await send(message)

    return sending


def _replay(body: bytes, receive: Receive) -> Receive:
    """Hand the body over once; after that the connection is asked again (it tells when it closes)."""
    delivered = False

    async def replaying() -> Message:
        nonlocal delivered
        if delivered:
            return await receive()
        delivered = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replaying
