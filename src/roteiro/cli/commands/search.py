"""`roteiro search`: find nodes by a name, some words or a question."""

from __future__ import annotations

import typer

from roteiro.cli import output
from roteiro.cli.graph import JSON_OPTION, OFFSET_OPTION, SYNC_OPTION, opened
from roteiro.cli.tables import print_table
from roteiro.graph.model import Node
from roteiro.graph.queries.search import DEFAULT_LIMIT, SearchResult, search
from roteiro.graph.queries.shapes import place

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def command(
    query: list[str] = typer.Argument(help="A name, a part of one, some words, or a question."),
    *,
    kind: list[str] = typer.Option([], "--kind", help="Only nodes of this kind; may be repeated."),
    limit: int = typer.Option(DEFAULT_LIMIT, "--limit", help="The most hits; 0 is all."),
    offset: int = OFFSET_OPTION,
    sync: bool = SYNC_OPTION,
    as_json: bool = JSON_OPTION,
) -> None:
    """Find symbols, decisions and docs by words, the best first."""
    with opened(sync_first=sync, as_json=as_json) as graph:
        result = search(graph.store, " ".join(query), kinds=kind, limit=limit, offset=offset)
        if as_json:
            graph.print_json(result.to_json())
        else:
            _print(result, offset)
        if not result.total:
            raise typer.Exit(output.EXIT_FAILED)


# --------------------------------------------------------------------------------------------------


def _print(result: SearchResult, offset: int) -> None:
    for word, others in result.corrected.items():
        output.notice(f"nothing has {word!r}; searched for {', '.join(others)}")
    if result.undefined:
        output.notice(f"nothing is called {' or '.join(result.undefined)}")
    if not result.hits:
        output.notice(f"nothing found for {result.query!r}" if not result.total else "no hits on this page")
        return
    print_table(
        ("place", "kind", "name", "line that shows it"),
        [
            (place(hit.node), hit.node.kind, _name(hit.node), hit.snippet or hit.node.doc)
            for hit in result.hits
        ],
    )
    left = result.total - offset - len(result.hits)
    if left > 0:
        output.notice(f"{left} more; --offset {offset + len(result.hits)} goes on, --kind narrows")


def _name(node: Node) -> str:
    """The qualified name of a symbol, the title of a section or decision, the path of a file."""
    if not node.key.startswith("sym:"):
        return node.title or node.name
    return node.key.partition("#")[2]
