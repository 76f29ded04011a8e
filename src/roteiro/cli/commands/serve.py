"""`roteiro serve`: serve the installed models over HTTP. Every `[serve]` key has a flag; a test holds it."""

from __future__ import annotations

import importlib.util
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from roteiro.cli import output
from roteiro.config import load_config
from roteiro.errors import MissingExtra

if TYPE_CHECKING:
    from roteiro.runtime import Runtime
    from roteiro.server.lifespan import Mounted

app = typer.Typer(
    help="Serve the installed models and the code graph over HTTP.",
    add_completion=False,
    rich_markup_mode=None,
)

LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"


@app.command()
def serve(
    *,
    addr: str | None = typer.Option(None, help="HOST:PORT, or unix:/path.sock."),
    models: list[str] | None = typer.Option(None, help="Id of a model to serve; repeatable."),
    tools: bool | None = typer.Option(None, help="Hand the graph's queries to the model as tools."),
    memory_budget_mb: int | None = typer.Option(None, help="MiB for models, sessions and KV."),
    max_context_tokens: int | None = typer.Option(None, help="Lowers every model's window."),
    max_client_tool_bytes: int | None = typer.Option(None, help="Most bytes of a tools array."),
    prefix_cache_mb: int | None = typer.Option(None, help="MiB of host memory for snapshots."),
    prefix_cache_disk_mb: int | None = typer.Option(
        None, help="MiB of disk where snapshots outlive the server."
    ),
    sessions: int | None = typer.Option(None, help="Live contexts kept per loaded model."),
    sleep_idle_s: float | None = typer.Option(None, help="Unload models after idle seconds."),
    queue_limit: int | None = typer.Option(None, help="Requests that may wait."),
    request_timeout_s: float | None = typer.Option(None, help="Hard stop for one request."),
    keepalive_s: float | None = typer.Option(None, help="Seconds between comments in a stream."),
    threads: str | None = typer.Option(None, help="Threads that evaluate tokens, or auto."),
    gpu_layers: str | None = typer.Option(None, help="Layers put on a GPU, or auto."),
    api_key_file: Path | None = typer.Option(None, help="File whose lines are the API keys."),
    allowed_hosts: list[str] | None = typer.Option(None, help="Host name to answer to; repeatable."),
    allowed_origins: list[str] | None = typer.Option(
        None, help="Web origin that may call from a browser; repeatable."
    ),
    log_level: str = typer.Option("info", help="debug, info, warning or error."),
) -> None:
    """Serve until Ctrl-C; a second Ctrl-C ends at once."""
    flags: dict[str, Any] = {
        "addr": addr,
        "models": models or None,
        "tools": tools,
        "memory_budget_mb": memory_budget_mb,
        "max_context_tokens": max_context_tokens,
        "max_client_tool_bytes": max_client_tool_bytes,
        "prefix_cache_mb": prefix_cache_mb,
        "prefix_cache_disk_mb": prefix_cache_disk_mb,
        "sessions": sessions,
        "sleep_idle_s": sleep_idle_s,
        "queue_limit": queue_limit,
        "request_timeout_s": request_timeout_s,
        "keepalive_s": keepalive_s,
        "threads": _number_or_auto(threads),
        "gpu_layers": _number_or_auto(gpu_layers),
        "api_key_file": api_key_file,
        "allowed_hosts": allowed_hosts or None,
        "allowed_origins": allowed_origins or None,
    }
    with output.command_errors():
        _start_log(log_level)
        config = load_config({f"serve.{name}": value for name, value in flags.items()})
        # The web stack takes most of a second to import; the mistakes above are told without it.
        from roteiro.runtime import build_runtime
        from roteiro.server.serve import serve as run

        runtime = build_runtime(config)
        runtime.catalog.check()
        run(runtime, announce=output.notice, mounts=_mounts(runtime))


# ------------------------------------------------------------------------------------------------


def _mounts(runtime: Runtime) -> dict[str, Mounted]:
    """MCP beside `/v1` where the user granted it; a narrowing that leaves no tool stops the start."""
    mcp = runtime.config.mcp
    if not mcp.http:
        return {}
    if importlib.util.find_spec("mcp") is None:
        raise MissingExtra("mcp", "[mcp] http = true")
    from roteiro.mcp_server.http import McpEndpoint

    return {"/mcp": McpEndpoint(runtime.tools.narrowed(mcp.tools))}


def _number_or_auto(text: str | None) -> int | str | None:
    # What is neither stays text, and the key's own check says what it must be.
    return int(text) if text is not None and text.isascii() and text.isdigit() else text


def _start_log(level: str) -> None:
    number = logging.getLevelNamesMapping().get(level.upper())
    if number is None:
        raise typer.BadParameter(f"{level!r} is not a level", param_hint="--log-level")
    logging.basicConfig(level=logging.WARNING, format=LOG_FORMAT, stream=sys.stderr)
    logging.getLogger("roteiro").setLevel(number)
    # uvicorn's own lines say nothing that the access log does not.
    logging.getLogger("uvicorn").setLevel(max(number, logging.ERROR))
