"""The requests that are open, so that a stop can end those that nobody else ends.

What is in the engine ends by itself when the engine says so. What is not there yet (a body that is still
being sent, a model that is being looked at) or does not come out (a client that does not read) is ended here.
Thread: event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from roteiro.errors import EngineClosed
from roteiro.server.errors import encode, problem

# A client that reads takes its last event at once.
_LAST_EVENT_SECONDS = 0.3


class _Open:
    """One request and how far its answer is."""

    def __init__(self, scope: Scope, limit: asyncio.Timeout) -> None:
        self.scope = scope
        self.limit = limit
        self.started = False
        self.complete = False
        self.streams = False

    @property
    def listens(self) -> bool:
        """True for a stream that only waits for news."""
        return self.streams and self.scope["method"] == "GET"

    def see(self, message: Message) -> None:
        """Note what is sent."""
        if message["type"] == "http.response.start":
            self.started = True
            media = Headers(raw=message.get("headers", [])).get("content-type", "")
            self.streams = media.startswith("text/event-stream")
        elif message["type"] == "http.response.body":
            self.complete = not message.get("more_body", False)


class OpenRequests:
    """All open requests of an application; filled by `EndsAtStop`."""

    def __init__(self) -> None:
        self._open: set[_Open] = set()

    def __len__(self) -> int:
        return len(self._open)

    def end_listeners(self) -> None:
        """End the streams that would stay open for as long as the server is up."""
        self._end([one for one in self._open if one.listens])

    def end_all(self) -> None:
        """End every request: with a 503, or its stream with an error event."""
        self._end(self._open)

    def add(self, one: _Open) -> None:
        """A request has begun."""
        self._open.add(one)

    def remove(self, one: _Open) -> None:
        """A request is over."""
        self._open.discard(one)

    def _end(self, some: Collection[_Open]) -> None:
        now = asyncio.get_running_loop().time()
        for one in list(some):
            if one.limit.when() is None:
                one.limit.reschedule(now)


class EndsAtStop:
    """Middleware: lets `OpenRequests` end what runs below it.

    Args:
        app: what runs below.
        requests: where the requests are noted.
        foreign: paths whose streams do not carry our events.
    """

    def __init__(self, app: ASGIApp, *, requests: OpenRequests, foreign: Collection[str] = ()) -> None:
        self.app = app
        self._requests = requests
        self._foreign = frozenset(foreign)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request.

        Raises:
            EngineClosed: it was ended before its answer began.
        """
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = asyncio.timeout(None)
        one = _Open(scope, limit)

        async def sending(message: Message) -> None:
            one.see(message)
            await send(message)

        self._requests.add(one)
        try:
            async with limit:
                await self.app(scope, receive, sending)
        except TimeoutError:
            if not limit.expired():
                raise
            await self._last_words(one, send)
        finally:
            self._requests.remove(one)

    async def _last_words(self, one: _Open, send: Send) -> None:
        if one.complete:
            return
        if not one.started:
            raise EngineClosed
        body = b""
        if one.streams and one.scope["path"] not in self._foreign:
            told = problem(EngineClosed(), request_id=one.scope["state"]["request_id"])
            body = b"data: " + encode({"error": told.body}) + b"\n\n"
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_EVENT_SECONDS):
                await send({"type": "http.response.body", "body": body, "more_body": False})
