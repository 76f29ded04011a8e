"""`roteiro mcp`: the graph's queries over MCP on standard input and output, for agents and editors."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import sys

import typer

from roteiro.cli import output
from roteiro.config import load_config
from roteiro.errors import MissingExtra

app = typer.Typer(
    help="Serve the graph's queries over MCP on standard input and output.",
    add_completion=False,
    rich_markup_mode=None,
)


@app.command()
def serve() -> None:
    """Serve until the client closes its end. Messages for people go to standard error."""
    with output.command_errors():
        if importlib.util.find_spec("mcp") is None:
            raise MissingExtra("mcp", "Serving MCP")
        logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
        config = load_config()
        from roteiro.mcp_server.server import run_stdio
        from roteiro.tools.access import GraphAccess
        from roteiro.tools.graph_tools import graph_registry

        access = GraphAccess(config.project_root)
        registry = graph_registry(access, ignore=config.debt.ignore).narrowed(config.mcp.tools)
        if not access.available():
            output.notice("note: this tree has no graph yet; run `roteiro sync`.")
        try:
            asyncio.run(run_stdio(registry))
        finally:
            access.close()
