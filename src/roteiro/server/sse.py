"""A reply as server-sent events, over sse-starlette: framing, comments on a wall clock, one error at most.

Framing is `data: JSON` and a blank line; the end is `data: [DONE]`. A failure after the headers is one
`error` event and the end, without `[DONE]`. When the client leaves, the source is closed. Thread: event
loop.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import anyio
from sse_starlette import EventSourceResponse, ServerSentEvent
from sse_starlette.sse import AppStatus
from starlette.types import Message, Receive, Scope, Send

from roteiro.conversation.events import AnswerEvent, RoundFinished
from roteiro.engine.request import Loading, Queued
from roteiro.server.answers import Numbered, Primed
from roteiro.server.errors import Problem, encode

DONE = b"data: [DONE]\n\n"

# Streams have the server's own grace period at shutdown; the library would end them at once.
AppStatus.enable_automatic_graceful_drain = False

Fold = Callable[[int, AnswerEvent], Iterator[dict[str, Any]]]


class ReplyStream(EventSourceResponse):
    """Streams the events of a primed answer through a fold.

    Args:
        source: the events; closed when the response is over, however it ends.
        fold: the objects owed for one event.
        describe: turns an exception into what the client may see of it.
        ping_s: seconds between comments; 0 sends none.
        headers: extra response headers.
    """

    def __init__(
        self,
        source: Primed,
        fold: Fold,
        *,
        describe: Callable[[Exception], Problem],
        ping_s: float,
        headers: dict[str, str] | None = None,
    ) -> None:
        self._source = source
        super().__init__(
            _frames(source, fold, describe),
            ping=ping_s,
            ping_message_factory=_ping,
            sep="\n",
            headers=headers,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream; stop the answer when it is over or the client has left."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            with anyio.CancelScope(shield=True):
                await self._source.aclose()

    async def _send_with_timeout(self, send: Send, message: Message) -> None:
        """As the library's, without the cancel scope that it opens for every chunk also where no time is set.

        A client that does not read is the channel's to notice. A fifth of what a token costs the loop.
        """
        if self.send_timeout is None:
            await send(message)
        else:
            await super()._send_with_timeout(send, message)


def comment(text: str) -> bytes:
    """A comment line, which clients skip; `text` is one line of ours."""
    return f": {text}\n\n".encode()


def data(value: Any) -> bytes:
    """One event."""
    return b"data: " + encode(value) + b"\n\n"


# ---------------------------------------------------------------------------------------------------


async def _frames(
    source: Primed, fold: Fold, describe: Callable[[Exception], Problem]
) -> AsyncIterator[bytes]:
    try:
        async for numbered in source:
            frame = _frame(numbered, fold)
            if frame:
                yield frame
    except Exception as error:
        yield data({"error": describe(error).body})
        return
    yield DONE


def _frame(numbered: Numbered, fold: Fold) -> bytes:
    """All that one event puts on the wire, in one write."""
    index, event = numbered
    remark = b""
    if isinstance(event, Queued):
        remark = comment(f"queued position={event.position}")
    elif isinstance(event, Loading):
        remark = comment("loading the model")
    elif isinstance(event, RoundFinished):
        remark = comment(f"round {event.number} of the graph's tools is over")
    return remark + b"".join(data(chunk) for chunk in fold(index, event))


def _ping() -> ServerSentEvent:
    return ServerSentEvent(comment="", sep="\n")
