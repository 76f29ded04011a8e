"""Ends work whose client has left before it got an answer. Thread: event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

T = TypeVar("T")

CLIENT_LEFT = 499
"""nginx's number for it; nobody reads the response, the log line does."""


async def unless_left(
    request: Request, work: Coroutine[Any, Any, T], render: Callable[[T], Response]
) -> Response:
    """Do the work and render it; cancel it as soon as the connection closes.

    The request's body must have been read: the next message on the connection is then its end.
    """
    doing = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_until_left(request))
    try:
        await asyncio.wait({doing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            return render(doing.result())
        return Response(status_code=CLIENT_LEFT)
    finally:
        for task in (doing, leaving):
            task.cancel()
        await asyncio.gather(doing, leaving, return_exceptions=True)


async def _until_left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
