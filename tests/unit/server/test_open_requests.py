"""Ending what is open: before an answer, within a stream, and when the answer is complete already."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from roteiro.errors import EngineClosed
from roteiro.server.open_requests import EndsAtStop, OpenRequests

pytestmark = pytest.mark.anyio

START: dict[str, Any] = {"type": "http.response.start", "status": 200}
EVENTS = {**START, "headers": [(b"content-type", b"text/event-stream; charset=utf-8")]}
MORE = {"type": "http.response.body", "body": b"data: 1\n\n", "more_body": True}
LAST = {"type": "http.response.body", "body": b"", "more_body": False}


async def ended(*messages: dict[str, Any], path: str = "/v1/chat/completions") -> list[dict[str, Any]]:
    """What is sent by an application that sends these messages, never returns, and is ended."""
    requests, sent = OpenRequests(), list[dict[str, Any]]()

    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        for message in messages:
            await send(message)
        await asyncio.sleep(60)

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError

    scope = {"type": "http", "method": "POST", "path": path, "state": {"request_id": "r"}}
    guarded = EndsAtStop(app, requests=requests, foreign=["/mcp"])
    task = asyncio.create_task(guarded(scope, receive, send))
    await asyncio.sleep(0.01)
    requests.end_listeners()
    await asyncio.sleep(0.01)
    assert len(requests) == 1
    requests.end_all()
    requests.end_all()
    try:
        await asyncio.wait_for(task, 5)
    finally:
        assert len(requests) == 0
    return sent[len(messages) :]


async def test_what_has_not_answered_fails_with_what_is_told_as_a_status() -> None:
    with pytest.raises(EngineClosed):
        await ended()


async def test_a_stream_gets_its_last_event() -> None:
    (told,) = await ended(EVENTS, MORE)
    assert told["body"].startswith(b'data: {"error":{"message":"The server is stopping.')
    assert not told["more_body"]


async def test_a_stream_of_another_protocol_just_ends() -> None:
    assert await ended(EVENTS, MORE, path="/mcp") == [LAST]


async def test_an_answer_that_is_complete_gets_nothing_more() -> None:
    assert await ended(EVENTS, MORE, LAST) == []
    assert await ended(START, LAST) == []


async def test_a_timeout_of_the_application_is_its_own() -> None:
    async def app(_scope: Any, _receive: Any, _send: Any) -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        await EndsAtStop(app, requests=OpenRequests())({"type": "http"}, None, None)  # type: ignore[arg-type]
