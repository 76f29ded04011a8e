"""MCP beside `/v1`: mounted only where it is granted, behind the same Host, Origin and key checks."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from fakes.served import make_runtime
from roteiro.mcp_server.http import McpEndpoint
from roteiro.server.app import create_app

pytestmark = pytest.mark.anyio

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}


async def replies(folder: Path, *asked: dict[str, Any], mounted: bool = True) -> list[httpx.Response]:
    runtime, _ = make_runtime(folder, models=False)
    mounts = {"/mcp": McpEndpoint(runtime.tools)} if mounted else None
    app = create_app(runtime, keys=["k"], mounts=mounts)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(app.router.lifespan_context(app))
        client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:8017")
        await stack.enter_async_context(client)
        return [
            await client.post("/mcp", json=LIST, headers={**HEADERS, "X-Api-Key": "k", **headers})
            for headers in asked
        ]


async def test_the_graphs_tools_are_listed(tmp_path: Path) -> None:
    (reply,) = await replies(tmp_path, {})
    assert reply.status_code == 200, reply.text
    names = {tool["name"] for tool in reply.json()["result"]["tools"]}
    assert {"search", "explain", "path", "debt"} <= names


async def test_it_stands_behind_the_same_checks(tmp_path: Path) -> None:
    host, origin, key = await replies(
        tmp_path,
        {"Host": "evil.example"},
        {"Origin": "https://evil.example"},
        {"X-Api-Key": "wrong"},
    )
    assert [host.status_code, origin.status_code, key.status_code] == [403, 403, 401]


async def test_it_is_not_there_unless_granted(tmp_path: Path) -> None:
    (reply,) = await replies(tmp_path, {}, mounted=False)
    assert reply.status_code == 404
