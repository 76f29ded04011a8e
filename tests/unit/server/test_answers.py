"""Choices in turn and a primed stream: early errors are raised, waiting is not, closing stops the work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from roteiro.chat.events import TextDelta
from roteiro.chat.messages import Message
from roteiro.conversation.events import AnswerFinished, Delta, Usage
from roteiro.conversation.request import ChatRequest
from roteiro.engine.request import Loading, Queued, SamplingParams, Timings
from roteiro.errors import DecodeFailed, InvalidRequest, RequestTimeout
from roteiro.server.answers import Choices, Primed

pytestmark = pytest.mark.anyio

END = AnswerFinished(
    finish_reason="stop",
    usage=Usage(prompt_tokens=1, completion_tokens=1, cached_tokens=0),
    timings=Timings(),
    model="m",
)
Script = Callable[[], AsyncGenerator[Any, None]]


def word(text: str) -> Delta:
    return Delta(event=TextDelta(text=text))


class Scripted:
    """A conversation whose answers are generators; counts those that were closed."""

    def __init__(self, *scripts: Script) -> None:
        self.scripts = list(scripts)
        self.requests: list[ChatRequest] = []
        self.closed = 0

    def answer(self, request: ChatRequest) -> AsyncGenerator[Any, None]:
        self.requests.append(request)
        return self._watched(self.scripts.pop(0))

    async def _watched(self, script: Script) -> AsyncGenerator[Any, None]:
        try:
            async for event in script():
                yield event
        finally:
            self.closed += 1


def request(seed: int | None = None) -> ChatRequest:
    return ChatRequest(
        id="c",
        model="m",
        messages=(Message(role="user", content="x"),),
        sampling=SamplingParams(seed=seed),
    )


async def one() -> AsyncGenerator[Any, None]:
    yield word("a")
    yield END


async def failing() -> AsyncGenerator[Any, None]:
    raise InvalidRequest("no")
    yield


async def queued_for_ever() -> AsyncGenerator[Any, None]:
    yield Queued(position=2)
    await asyncio.sleep(60)
    yield END


async def test_choices_are_made_in_turn_and_seeds_count_up() -> None:
    talk = Scripted(one, one, one)
    events = [pair async for pair in Choices(talk, request(7), count=3)]
    assert [index for index, _ in events] == [0, 0, 1, 1, 2, 2]
    assert [made.sampling.seed for made in talk.requests] == [7, 8, 9]
    assert {made.id for made in talk.requests} == {"c"}
    assert talk.closed == 3


async def test_no_seed_stays_none_in_every_choice() -> None:
    talk = Scripted(one, one)
    assert [pair async for pair in Choices(talk, request(), count=2)]
    assert [made.sampling.seed for made in talk.requests] == [None, None]


async def test_the_hard_stop_is_over_all_choices() -> None:
    talk = Scripted(one, queued_for_ever)
    choices = Choices(talk, request(), count=2, timeout_s=0.1)
    with pytest.raises(RequestTimeout, match="request_timeout_s"):
        [pair async for pair in choices]
    await choices.aclose()
    assert talk.closed == 2


async def test_a_timeout_of_somebody_else_is_not_taken_for_the_hard_stop() -> None:
    async def broken() -> AsyncGenerator[Any, None]:
        raise TimeoutError("something else")
        yield

    with pytest.raises(TimeoutError, match="something else"):
        await anext(Choices(Scripted(broken), request(), timeout_s=60))


async def test_priming_raises_what_comes_before_the_answer() -> None:
    with pytest.raises(InvalidRequest):
        await Primed(Choices(Scripted(failing), request())).prime()


async def test_priming_does_not_wait_for_more_than_the_first_sign_of_work() -> None:
    async def slow() -> AsyncGenerator[Any, None]:
        yield Queued(position=1)
        yield Loading(model="m")
        yield word("a")
        await asyncio.sleep(60)
        yield END

    primed = Primed(Choices(Scripted(slow), request()))
    async with asyncio.timeout(5):
        await primed.prime(patience_s=60)
    events = [await anext(primed) for _ in range(3)]
    assert [type(event) for _, event in events] == [Queued, Loading, Delta]
    await primed.aclose()


async def test_priming_gives_up_waiting_and_loses_nothing() -> None:
    gate = asyncio.Event()

    async def waiting() -> AsyncGenerator[Any, None]:
        yield Queued(position=1)
        await gate.wait()
        yield word("a")
        yield END

    talk = Scripted(waiting)
    primed = Primed(Choices(talk, request()))
    await primed.prime(patience_s=0.05)
    gate.set()
    events = [event async for _, event in primed]
    assert events == [Queued(position=1), word("a"), END]
    assert talk.closed == 1


async def test_closing_while_waiting_stops_the_answer() -> None:
    talk = Scripted(queued_for_ever)
    primed = Primed(Choices(talk, request()))
    await primed.prime(patience_s=0.05)
    await primed.aclose()
    await primed.aclose()
    assert talk.closed == 1


async def test_closing_after_a_failure_nobody_saw_is_quiet() -> None:
    gate = asyncio.Event()

    async def fails_late() -> AsyncGenerator[Any, None]:
        yield Queued(position=1)
        await gate.wait()
        raise DecodeFailed("late")

    talk = Scripted(fails_late)
    primed = Primed(Choices(talk, request()))
    await primed.prime(patience_s=0.01)
    gate.set()
    await asyncio.sleep(0.01)
    await primed.aclose()
    assert talk.closed == 1


async def test_a_cancelled_reader_stops_the_answer() -> None:
    talk = Scripted(queued_for_ever)
    primed = Primed(Choices(talk, request()))
    await primed.prime(patience_s=0.01)

    async def read() -> None:
        try:
            async for _ in primed:
                pass
        finally:
            await primed.aclose()

    reader = asyncio.create_task(read())
    await asyncio.sleep(0.01)
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert talk.closed == 1
