"""The events of a reply's choices as one stream with one owner, one deadline and one way to close.

`n` choices are answered in turn. A stream that is closed closes the answer under way, and that is what
stops the engine; so whoever holds one wraps it in `contextlib.aclosing`. Thread: event loop.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from typing import Protocol

import anyio

from roteiro.conversation.events import AnswerEvent, AnswerFinished
from roteiro.conversation.request import ChatRequest
from roteiro.engine.request import Loading, Queued
from roteiro.errors import RequestTimeout

PRIME_SECONDS = 0.8
"""How long the first sign of work is awaited before a stream's headers go out: within it an error is a
status, and a client that is queued still learns within a second that it is."""

SIZED_SECONDS = 5.0
"""The same for a prompt so long that it may not fit: whether it does is known once the engine's thread has
counted its tokens between two batches of what it is at, and a client must learn that as a status."""

Numbered = tuple[int, AnswerEvent]


class Answer(Protocol):
    """One answer's events; closing it stops the work at the next token or batch."""

    def __aiter__(self) -> AsyncIterator[AnswerEvent]: ...

    async def __anext__(self) -> AnswerEvent: ...

    async def aclose(self) -> None:
        """Stop; idempotent."""


class Answers(Protocol):
    """What makes answers: the conversation."""

    def answer(self, request: ChatRequest) -> Answer:
        """Begin an answer; nothing happens before its first event is awaited."""


class Choices:
    """The events of every choice, each with its index.

    Args:
        conversation: makes the answers.
        request: what is asked; a seed counts up with the choice's index.
        count: how many choices.
        timeout_s: seconds after which the whole reply is given up, or None.
    """

    def __init__(
        self,
        conversation: Answers,
        request: ChatRequest,
        *,
        count: int = 1,
        timeout_s: float | None = None,
    ) -> None:
        self._conversation = conversation
        self._request = request
        self._count = count
        self._timeout_s = timeout_s
        self._deadline = None if timeout_s is None else asyncio.get_running_loop().time() + timeout_s
        self._index = 0
        self._answer: Answer | None = None
        self.finished: list[AnswerFinished] = []

    def __aiter__(self) -> Choices:
        return self

    async def __anext__(self) -> Numbered:
        """The next event.

        Raises:
            RequestTimeout: the configured hard stop was reached.
        """
        while True:
            if len(self.finished) == self._count:
                raise StopAsyncIteration
            if self._answer is None:
                self._answer = self._conversation.answer(self._numbered())
            # A deadline for each event costs more than the event; most servers set none.
            event = await (anext(self._answer) if self._deadline is None else self._in_time(self._answer))
            index = self._index
            if isinstance(event, AnswerFinished):
                self.finished.append(event)
                await self.aclose()
                self._index += 1
            return index, event

    async def _in_time(self, answer: Answer) -> AnswerEvent:
        try:
            async with asyncio.timeout_at(self._deadline) as limit:
                return await anext(answer)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise RequestTimeout(
                f"The request took longer than the {self._timeout_s:g} s that "
                "[serve] request_timeout_s allows."
            ) from error

    async def aclose(self) -> None:
        """Stop the answer under way; idempotent."""
        answer, self._answer = self._answer, None
        if answer is not None:
            with anyio.CancelScope(shield=True):
                await answer.aclose()

    def _numbered(self) -> ChatRequest:
        sampling = self._request.sampling
        if self._index == 0:
            return self._request
        seed = None if sampling.seed is None else (sampling.seed + self._index) % (2**32 - 1)
        # The id stays the client's; a control call reaches whichever choice is under way.
        return dataclasses.replace(self._request, sampling=dataclasses.replace(sampling, seed=seed))


class Primed:
    """A stream whose beginning has been awaited, so that early errors are still statuses."""

    def __init__(self, choices: Choices) -> None:
        self._choices = choices
        self._early: list[Numbered] = []
        self._pending: asyncio.Task[Numbered] | None = None

    async def prime(self, patience_s: float = PRIME_SECONDS, *, first_s: float = 0.0) -> None:
        """Await the first event that is more than waiting, for a bounded time.

        Args:
            patience_s: that time.
            first_s: the time for the first event of any kind, where that is longer.

        Raises:
            RoteiroError: what the answer raised before it began.
        """
        loop = asyncio.get_running_loop()
        begun = loop.time()
        while not self._early or isinstance(self._early[-1][1], Queued | Loading):
            self._pending = self._pending or loop.create_task(_next(self._choices))
            until = begun + (patience_s if self._early else max(patience_s, first_s))
            await asyncio.wait({self._pending}, timeout=max(0.0, until - loop.time()))
            if not self._pending.done():
                return
            pending, self._pending = self._pending, None
            self._early.append(pending.result())

    def __aiter__(self) -> Primed:
        return self

    async def __anext__(self) -> Numbered:
        """The next event: those already read first."""
        if self._early:
            return self._early.pop(0)
        if self._pending is not None:
            pending, self._pending = self._pending, None
            return await pending
        return await anext(self._choices)

    async def aclose(self) -> None:
        """Stop the answer under way; idempotent."""
        with anyio.CancelScope(shield=True):
            if self._pending is not None:
                self._pending.cancel()
                await asyncio.wait({self._pending})
                if not self._pending.cancelled():
                    self._pending.exception()  # seen, or the loop would complain of it
            await self._choices.aclose()


# ---------------------------------------------------------------------------------------------------


async def _next(choices: Choices) -> Numbered:
    return await anext(choices)
