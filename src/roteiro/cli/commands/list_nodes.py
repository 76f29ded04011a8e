"""`roteiro list`: the nodes of one kind."""

from __future__ import annotations

import typer

from roteiro.cli import output
from roteiro.cli.graph import JSON_OPTION, OFFSET_OPTION, SYNC_OPTION, opened
from roteiro.cli.tables import print_table, print_text
from roteiro.graph.queries.listing import NodeList, list_nodes
from roteiro.graph.queries.shapes import place

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def command(
    kind: str = typer.Argument(help="file, class, fn, method, const, adr, doc, marker and so on."),
    limit: int = typer.Option(0, "--limit", help="The most nodes; 0 is all."),
    offset: int = OFFSET_OPTION,
    sync: bool = SYNC_OPTION,
    as_json: bool = JSON_OPTION,
) -> None:
    """List the nodes of one kind, by key."""
    with opened(sync_first=sync, as_json=as_json) as graph:
        found = list_nodes(graph.store, kind, limit=limit, offset=offset)
        if as_json:
            graph.print_json(found.to_json())
        else:
            _print(found, offset)


# --------------------------------------------------------------------------------------------------


def _print(found: NodeList, offset: int) -> None:
    if not found.total:
        print_text(f"no {found.kind} found")
        return
    if found.nodes:
        rows = [(place(node), node.key, node.title or node.signature) for node in found.nodes]
        print_table(("place", "key", "what it is"), rows)
    left = found.total - offset - len(found.nodes)
    if left > 0:
        output.notice(f"{left} more; --offset {offset + len(found.nodes)} goes on")
