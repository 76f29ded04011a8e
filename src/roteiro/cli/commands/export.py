"""`roteiro export`: the whole graph for another program."""

from __future__ import annotations

from pathlib import Path

import typer

from roteiro.cli import output
from roteiro.cli.graph import JSON_OPTION, SYNC_OPTION, opened
from roteiro.errors import UsageError
from roteiro.graph.queries.export import export

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def command(
    file_format: str = typer.Option("json", "--format", help="json (networkx node-link), graphml or dot."),
    to: Path | None = typer.Option(None, "--output", "-o", help="Write here, not to the terminal."),
    sync: bool = SYNC_OPTION,
    as_json: bool = JSON_OPTION,
) -> None:
    """Export the graph as JSON, GraphML or DOT."""
    with opened(sync_first=sync, as_json=as_json) as graph:
        if as_json and file_format != "json":
            raise UsageError(f"--json and --format {file_format} say different things.")
        pieces = export(graph.store, file_format, stale=graph.stale)
        if to is None:
            output.write(pieces)
            return
        try:
            with to.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
                file.writelines(pieces)
        except OSError as error:
            raise UsageError(f"{str(to)!r} cannot be written: {error.strerror}.") from error
