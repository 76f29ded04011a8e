"""An MCP server over the tool registry: same names, same arguments, same refusals as everywhere else.

The door to the `mcp` SDK. A refused or failed call is a result with `isError`, so that the model at the
other end can correct itself; it decides nothing else. Thread: event loop; calls run in worker threads.
"""

from __future__ import annotations

import asyncio
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server

from roteiro import __version__
from roteiro.graph.model import SCHEMA
from roteiro.tools.registry import Registry

INSTRUCTIONS = (
    "Queries over a graph of the code repository this server was started in. Start with search or explain; "
    "results cite path:line. Provenance: derived by parsing, authored by people, inferred with a confidence."
)


def build_server(registry: Registry) -> Server[Any]:
    """The MCP server of a registry; it can be run over any transport, several times."""

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=declared(registry))

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        result = await asyncio.to_thread(registry.call, params.name, params.arguments or {})
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=result.text)],
            structured_content=result.data if result.ok else {"schema": SCHEMA, "code": result.code},
            is_error=not result.ok,
        )

    return Server(
        "roteiro",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


_READS = types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)


def declared(registry: Registry) -> list[types.Tool]:
    """The tools as MCP states them: read only, over a closed world."""
    return [
        types.Tool(
            name=tool.name,
            description=tool.description,
            input_schema=tool.schema(),
            annotations=types.ToolAnnotations(
                read_only_hint=True, idempotent_hint=True, open_world_hint=False
            ),
        )
        for tool in registry
    ]


async def run_stdio(registry: Registry) -> None:
    """Serve one client over standard input and output until it leaves."""
    from mcp.server.stdio import stdio_server

    server = build_server(registry)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
