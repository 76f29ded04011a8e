"""The served model's tools and MCP's are one set of declarations, checked by one function."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp")

from mcp import Client, ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from roteiro.graph.sync import sync
from roteiro.mcp_server.server import build_server, declared
from roteiro.tools.access import GraphAccess
from roteiro.tools.graph_tools import graph_registry
from roteiro.tools.registry import Registry

pytestmark = pytest.mark.anyio


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(
        "class Base:\n    pass\n\n\nclass Child(Base):\n    def run(self):\n        return help_out()\n\n\n"
        "def help_out():\n    # TODO: later\n    return 1\n"
    )
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    sync(tmp_path)
    return tmp_path


@pytest.fixture
def registry(project: Path) -> Registry:
    return graph_registry(GraphAccess(project))


def test_both_surfaces_declare_the_same_tools_letter_for_letter(registry: Registry):
    served = registry.declarations()
    over_mcp = declared(registry)
    assert [(t.name, t.description, t.parameters) for t in served] == [
        (t.name, t.description, t.input_schema) for t in over_mcp
    ]
    assert all(t.input_schema["additionalProperties"] is False for t in over_mcp)


async def test_a_client_lists_calls_and_is_refused_with_the_names_that_work(registry: Registry):
    async with Client(build_server(registry)) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == list(registry.names)
        found = await client.call_tool("explain", {"key": "help_out"})
        assert not found.is_error
        assert "`Child.run` calls `help_out` (app.py:7)" in found.content[0].text
        refused = await client.call_tool("debt", {"kind": ["todo"]})
        assert refused.is_error
        assert "categories" in refused.content[0].text
        assert refused.content[0].text == registry.call("debt", {"kind": ["todo"]}).text
        unknown = await client.call_tool("nope", {})
        assert unknown.is_error
        assert "search, explain" in unknown.content[0].text


async def test_a_narrowed_surface_serves_only_what_is_left(registry: Registry):
    async with Client(build_server(registry.narrowed(("path",)))) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["path"]
        assert (await client.call_tool("search", {"query": "x"})).is_error


@pytest.mark.timeout(60)
async def test_a_real_session_over_stdio(project: Path):
    server = StdioServerParameters(command=sys.executable, args=["-m", "roteiro", "mcp"], cwd=str(project))
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        found = await session.call_tool("debt", {"categories": ["todo"]})
        assert "1 todo markers" in found.content[0].text
