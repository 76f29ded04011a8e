"""A generation as its reader sees it: an async iterator of events that can be stopped and closed.

Knows nothing of models: the engine gives it the coroutine that does the work. Thread: event loop.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from roteiro.engine.channel import Channel
from roteiro.engine.request import GenerationEvent
from roteiro.engine.steering import CHANNEL_CAPACITY, Steering
from roteiro.errors import ReaderTooSlow


class Generation:
    """Nothing happens before the first event is asked for. Close it: `async with`, or `aclose`."""

    def __init__(self, serve: Callable[[], Awaitable[None]], steering: Steering) -> None:
        self._serve = serve
        self._steering = steering
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    def __repr__(self) -> str:
        state = "closed" if self._closed else "running" if self._task else "new"
        return f"<Generation {state}, {self._steering.delivered} tokens delivered>"

    def __aiter__(self) -> Self:
        return self

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    def __del__(self) -> None:
        if self._task is not None and not self._task.done() and not self._closed:
            self._steering.cancel()
            warnings.warn(f"{self!r} was dropped without aclose()", ResourceWarning, stacklevel=1)

    async def __anext__(self) -> GenerationEvent:
        if self._closed:
            raise StopAsyncIteration
        if self._task is None:
            self._start()
        event = await self._steering.receive()
        if event is not None:
            return event
        assert self._task is not None
        await asyncio.wait({self._task})
        if self._steering.stalled:
            raise ReaderTooSlow(
                "The answer was not read for too long, so it was ended.",
                hint="Read the stream as it comes.",
            )
        if not self._task.cancelled():
            self._task.result()
        raise StopAsyncIteration

    def stop(self) -> None:
        """Finish early and in order: what was delivered so far is the answer."""
        self._steering.stop()

    async def aclose(self) -> None:
        """Stop the work and wait until it has let go of the engine. Idempotent.

        A caller that is itself cancelled while it waits leaves the ending to run by itself.
        """
        self._closed = True
        if self._task is None or self._task.done():
            return
        self._steering.cancel()
        self._task.cancel()
        await asyncio.wait({self._task})

    # ---------------------------------------------------------------------------------------------

    def _start(self) -> None:
        channel: Channel[GenerationEvent] = Channel(CHANNEL_CAPACITY)
        self._steering.channel = channel

        async def serve() -> None:
            try:
                await self._serve()
            finally:
                channel.end()

        self._task = asyncio.get_running_loop().create_task(serve())
        self._task.add_done_callback(_retrieve)


def _retrieve(task: asyncio.Task[None]) -> None:
    """Mark a failure as seen: the reader may have left, and then nobody asks for it."""
    if not task.cancelled():
        task.exception()
