"""One answer's events with one owner: an async iterator that can be closed at any point, more than once.

Closing it closes the turn under way, which stops the engine at the next token or prefill batch and
returns the lock. Thread: event loop.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Self

from roteiro.conversation.events import AnswerEvent


class Answer:
    """See the module's docstring.

    Args:
        events: the generator that produces the events; nothing runs before the first is asked for.
        on_close: called once, when the answer ended or was closed.
    """

    def __init__(self, events: AsyncGenerator[AnswerEvent, None], on_close: Callable[[], None]) -> None:
        self._events = events
        self._on_close: Callable[[], None] | None = on_close

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AnswerEvent:
        try:
            return await anext(self._events)
        except BaseException:
            self._closed()
            raise

    async def aclose(self) -> None:
        """Stop the work and give up everything held for it; idempotent."""
        try:
            await self._events.aclose()
        finally:
            self._closed()

    def _closed(self) -> None:
        on_close, self._on_close = self._on_close, None
        if on_close is not None:
            on_close()
