"""One line a request: an id, the facts that routes noted, and nothing that could fool a terminal."""

from __future__ import annotations

import logging

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route

from roteiro.server.access import AccessLog, note

pytestmark = pytest.mark.anyio


async def fine(request: Request) -> PlainTextResponse:
    note(request, model="m", cached=3, prompt_ms=1.25, left_out=None, text="a b\n\x1b[31m")
    return PlainTextResponse("ok")


async def broken(_request: Request) -> PlainTextResponse:
    raise ZeroDivisionError("inside")


async def breaks_late(_request: Request) -> StreamingResponse:
    async def body():
        yield b"begun"
        raise ZeroDivisionError("late")

    return StreamingResponse(body())


def client() -> httpx.AsyncClient:
    routes = [
        Route("/fine/{rest:path}", fine),
        Route("/broken", broken),
        Route("/late", breaks_late),
        Route("/health", fine),
    ]
    app = Starlette(routes=routes, middleware=[Middleware(AccessLog)])
    transport = httpx.ASGITransport(app)
    return httpx.AsyncClient(transport=transport, base_url="http://localhost")


async def test_the_line_has_the_facts_in_the_order_noted(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="roteiro.access"):
        reply = await client().get("/fine/x", headers={"X-Request-Id": "r-1"})
    (line,) = [record.getMessage() for record in caplog.records if record.name == "roteiro.access"]
    assert reply.headers["x-request-id"] == "r-1"
    assert line.startswith("GET /fine/x status=200 ms=")
    assert line.endswith(r"request=r-1 model=m cached=3 prompt_ms=1.2 text='a b\n\x1b[31m'")
    assert "left_out" not in line


async def test_a_path_cannot_write_a_second_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="roteiro.access"):
        await client().get("/fine/%0A2026%1b[2J")
    assert all("\n" not in record.getMessage() for record in caplog.records)
    assert all("\x1b" not in record.getMessage() for record in caplog.records)


async def test_what_is_polled_is_quiet(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="roteiro.access"):
        await client().get("/health")
    assert not [record for record in caplog.records if record.name == "roteiro.access"]


async def test_an_exception_nobody_caught_is_a_500_with_an_id(caplog: pytest.LogCaptureFixture) -> None:
    reply = await client().get("/broken")
    assert reply.status_code == 500
    assert "inside" not in reply.text
    assert reply.headers["x-request-id"] == reply.json()["error"]["request_id"]
    assert "ZeroDivisionError" in caplog.text


async def test_an_exception_after_the_headers_closes_the_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with pytest.raises(ZeroDivisionError):
        await client().get("/late")
    assert "ZeroDivisionError" in caplog.text
