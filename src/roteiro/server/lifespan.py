"""What lives as long as the application: the runtime, closed when the server stops."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Protocol

from fastapi import FastAPI

logger = logging.getLogger("roteiro.server")


class Mounted(Protocol):
    """An ASGI application beside the routes, with a life of its own."""

    def run(self) -> AbstractAsyncContextManager[None]:
        """Its life; entered once."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request."""


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Start what is mounted; free everything at the end. Weights wait for their first use.

    `app.state.warming` is the task that gets ready what the first request would wait for.
    """
    logger.debug("application_started")
    app.state.warming = warming = asyncio.get_running_loop().create_task(app.state.runtime.warm())
    try:
        async with AsyncExitStack() as stack:
            for mounted in app.state.mounts.values():
                await stack.enter_async_context(mounted.run())
            yield
    finally:
        warming.cancel()
        await asyncio.wait({warming})
        await app.state.runtime.aclose()
        logger.debug("application_stopped")
