"""Host, Origin, key, media type and size: refused before routing, with OpenAI error objects."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from roteiro.errors import ConfigError
from roteiro.server.security import (
    BodyGuard,
    HostGuard,
    KeyGuard,
    OriginGuard,
    check_host,
    check_origin,
    split_host,
)

pytestmark = pytest.mark.anyio


async def echo(request: Request) -> JSONResponse:
    return JSONResponse({"bytes": len(await request.body())})


def client(
    *,
    hosts: tuple[str, ...] = (),
    origins: tuple[str, ...] = (),
    keys: tuple[str, ...] = (),
    limit: int = 100,
    stall_s: float = 60,
) -> httpx.AsyncClient:
    app = Starlette(
        routes=[Route(path, echo, methods=["GET", "POST"]) for path in ("/x", "/health")],
        middleware=[
            Middleware(HostGuard, allowed=hosts),
            Middleware(OriginGuard, allowed=origins),
            Middleware(KeyGuard, keys=keys),
            Middleware(BodyGuard, limit=limit, stall_s=stall_s),
        ],
    )
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:8017")


@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost:9", "LOCALHOST:80", "localhost.", "127.0.0.1:8017", "[::1]", "[::1]:1"],
)
async def test_loopback_hosts_are_taken_with_any_port(host: str) -> None:
    assert (await client().get("/x", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8017",
        "localhost.evil.example",
        "evil.example#localhost",
        "localhost@evil.example",
        "127.0.0.1.evil.example",
        "127.0.0.2",
        "192.168.1.5:8017",
        "[::2]:80",
        "::1",
        "[::1",
        "localhost:99999",
        "localhost:x",
        "",
        "local host",
        "sub.localhost",
    ],
)
async def test_other_hosts_are_refused(host: str) -> None:
    reply = await client().get("/x", headers={"Host": host})
    assert reply.status_code == 403
    assert reply.json()["error"]["code"] == "host_not_allowed"


async def test_a_configured_host_is_taken() -> None:
    one = client(hosts=("model.lan",))
    assert (await one.get("/x", headers={"Host": "Model.LAN:443"})).status_code == 200
    assert (await one.get("/x", headers={"Host": "other.lan"})).status_code == 403


async def test_the_address_of_the_connection_is_taken() -> None:
    app = HostGuard(Starlette(routes=[Route("/x", echo)]))
    transport = httpx.ASGITransport(app)

    async def call(server: tuple[str, int | None], host: str) -> int:
        async def patched(scope: Any, receive: Any, send: Any) -> None:
            await app({**scope, "server": server}, receive, send)

        transport.app = patched
        async with httpx.AsyncClient(transport=transport, base_url="http://h") as one:
            return (await one.get("/x", headers={"Host": host})).status_code

    assert await call(("192.168.1.5", 80), "192.168.1.5:80") == 200
    assert await call(("fe80::1", 80), "[FE80:0::1]") == 200
    assert await call(("192.168.1.5", 80), "192.168.1.6:80") == 403
    # A browser cannot reach a Unix socket.
    assert await call(("/run/r.sock", None), "anything") == 200


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "http://localhost:3000",
        "http://127.0.0.1:8018",
        "https://127.0.0.1:8017",
        "http://127.0.0.1:8017.evil.example",
        "vscode-webview://abc",
        "file://",
        "",
    ],
)
async def test_foreign_origins_are_refused(origin: str) -> None:
    reply = await client().get("/x", headers={"Origin": origin})
    assert reply.status_code == 403
    assert reply.json()["error"]["code"] == "origin_not_allowed"
    assert "access-control-allow-origin" not in reply.headers


async def test_the_servers_own_page_is_not_foreign() -> None:
    reply = await client().get("/x", headers={"Origin": "http://127.0.0.1:8017"})
    assert reply.status_code == 200


async def test_a_configured_origin_gets_its_headers_and_no_other_does() -> None:
    one = client(origins=("https://app.example", "vscode-webview://*"))
    reply = await one.get("/x", headers={"Origin": "https://app.example"})
    assert reply.headers["access-control-allow-origin"] == "https://app.example"
    assert reply.headers["vary"] == "Origin"
    reply = await one.get("/x", headers={"Origin": "vscode-webview://1a2b"})
    assert reply.headers["access-control-allow-origin"] == "vscode-webview://1a2b"
    assert (await one.get("/x", headers={"Origin": "http://app.example"})).status_code == 403
    assert (await one.get("/x", headers={"Origin": "https://app.example.evil"})).status_code == 403


async def test_a_preflight_needs_no_key_but_the_request_does() -> None:
    one = client(origins=("https://app.example",), keys=("s3cret",))
    headers = {
        "Origin": "https://app.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization, content-type",
        "Access-Control-Request-Private-Network": "true",
    }
    reply = await one.options("/x", headers=headers)
    assert reply.status_code == 200
    assert reply.headers["access-control-allow-methods"] == "GET, POST, DELETE, OPTIONS"
    assert reply.headers["access-control-allow-headers"] == "authorization, content-type"
    assert reply.headers["access-control-allow-private-network"] == "true"
    reply = await one.post("/x", json={}, headers={"Origin": "https://app.example"})
    assert reply.status_code == 401
    assert reply.headers["access-control-allow-origin"] == "https://app.example"
    refused = await one.options("/x", headers={**headers, "Origin": "https://evil.example"})
    assert refused.status_code == 403


@pytest.mark.parametrize("origin", ["*", "http://*", "https://*", "app.example", "http://a/b", ""])
def test_an_origin_that_would_open_the_web_is_a_mistake(origin: str) -> None:
    with pytest.raises(ConfigError, match="allowed_origins"):
        check_origin(origin)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer nope"}, 401),
        ({"Authorization": "Bearer"}, 401),
        ({"Authorization": "Basic s3cret"}, 401),
        ({"Authorization": "Bearer s3cret"}, 200),
        ({"Authorization": "bearer  second"}, 200),
        ({"X-Api-Key": "s3cret"}, 200),
        ({"X-Api-Key": "Bearer s3cret"}, 200),
        ({"X-Api-Key": "s3cre"}, 401),
        ({"X-Api-Key": "\xff"}, 401),
    ],
)
async def test_a_key_is_wanted_where_keys_are_configured(headers: dict[str, str], status: int) -> None:
    one = client(keys=("s3cret", "second"))
    raw = {name: value.encode("latin-1") for name, value in headers.items()}
    reply = await one.get("/x", headers=raw)
    assert reply.status_code == status
    if status == 401:
        assert reply.json()["error"]["type"] == "authentication_error"
    assert (await one.get("/health")).status_code == 200


async def test_a_declared_body_over_the_bound_is_refused_unread() -> None:
    reply = await client().post("/x", json={"a": "x" * 200})
    assert reply.status_code == 413
    assert reply.headers["connection"] == "close"


async def test_a_chunked_body_over_the_bound_is_refused() -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(30):
            yield b"1234567890"

    reply = await client().post("/x", content=chunks(), headers={"Content-Type": "application/json"})
    assert reply.status_code == 413


async def test_a_body_at_the_bound_arrives_whole() -> None:
    reply = await client().post("/x", content=b"1" * 100, headers={"Content-Type": "application/json"})
    assert reply.json() == {"bytes": 100}


@pytest.mark.parametrize("value", ["-1", "1e3", "x", "999999999999999999999"])
async def test_a_nonsense_length_is_refused(value: str) -> None:
    reply = await client().post(
        "/x", content=b"{}", headers={"Content-Type": "application/json", "Content-Length": value}
    )
    assert reply.status_code == 413


@pytest.mark.parametrize(
    "media",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""],
)
async def test_a_body_a_page_could_send_without_asking_is_refused(media: str) -> None:
    reply = await client().post("/x", content=b"{}", headers={"Content-Type": media})
    assert reply.status_code == 415
    assert reply.json()["error"]["code"] == "unsupported_media_type"


@pytest.mark.parametrize(
    "media", ["application/json; charset=utf-8", "Application/JSON", "application/ld+json"]
)
async def test_json_by_any_of_its_names_is_taken(media: str) -> None:
    reply = await client().post("/x", content=b"{}", headers={"Content-Type": media})
    assert reply.status_code == 200


async def test_a_body_that_stalls_is_given_up() -> None:
    async def stalled() -> AsyncIterator[bytes]:
        yield b"{"
        import anyio

        await anyio.sleep(1)
        yield b"}"

    reply = await client(stall_s=0.05).post(
        "/x", content=stalled(), headers={"Content-Type": "application/json"}
    )
    assert reply.status_code == 408


@pytest.mark.parametrize(
    ("name", "meant"),
    [("A.b:80", "a.b"), ("[::1]", "::1"), ("FE80:0::1", "fe80::1"), ("10.0.0.1", "10.0.0.1")],
)
def test_a_configured_host_may_be_written_in_several_ways(name: str, meant: str) -> None:
    assert check_host(name) == meant
    assert check_host(check_host(name)) == meant


@pytest.mark.parametrize("name", ["", "http://a", "a/b", "a b", "[x]", "a:99999"])
def test_a_configured_host_that_is_none_is_a_mistake(name: str) -> None:
    with pytest.raises(ConfigError, match="allowed_hosts"):
        check_host(name)


def test_split_host_keeps_ipv6_and_ports_apart() -> None:
    assert split_host("[::1]:8017") == ("::1", 8017)
    assert split_host("a.b:1") == ("a.b", 1)
    assert split_host("[fe80::1]") == ("fe80::1", None)
