"""`roteiro explain`: what a node is and what it is connected to."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from roteiro.cli import output
from roteiro.cli.graph import JSON_OPTION, OFFSET_OPTION, SYNC_OPTION, OpenGraph, opened
from roteiro.cli.tables import print_table, print_text
from roteiro.errors import AmbiguousName
from roteiro.graph.model import Node
from roteiro.graph.queries.explain import DEFAULT_LIMIT, Explanation, candidates, explain
from roteiro.graph.queries.shapes import EdgeEnd, place

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def command(
    name: str = typer.Argument(help="A key, path#name, a path, or any name that is unique."),
    *,
    kinds: list[str] = typer.Option([], "--kinds", help="Only edges of this kind; may be repeated."),
    limit: int = typer.Option(DEFAULT_LIMIT, "--limit", help="The most edges each way; 0 is all."),
    offset: int = OFFSET_OPTION,
    sync: bool = SYNC_OPTION,
    as_json: bool = JSON_OPTION,
) -> None:
    """Show what a symbol is, who uses it and what it uses, and the decisions and debt near it."""
    with opened(sync_first=sync, as_json=as_json) as graph:
        try:
            found = explain(graph.store, name, kinds=kinds, limit=limit, offset=offset)
        except AmbiguousName as error:
            print_candidates(graph, error, as_json=as_json)
            raise
        if as_json:
            graph.print_json(found.to_json())
        else:
            _print(found, offset)


def print_candidates(graph: OpenGraph, error: AmbiguousName, *, as_json: bool) -> None:
    """List the nodes that an ambiguous name may mean; the error itself follows on standard error."""
    found = candidates(graph.store, error)
    if as_json:
        graph.print_json(found.to_json())
        return
    print_table(("place", "kind", "key"), [(place(node), node.kind, node.key) for node in found.nodes])
    if found.total > len(found.nodes):
        output.notice(f"{found.total - len(found.nodes)} more")


# --------------------------------------------------------------------------------------------------


def _print(found: Explanation, offset: int) -> None:
    node = found.node
    print_text(f"{node.kind} {node.title or node.name}", style="bold")
    last = f"-{node.end_line}" if node.end_line and node.end_line != node.line else ""
    print_text(f"  {place(node)}{last}")
    print_text(f"  {node.key}")
    for text in (node.signature, node.doc, node.status):
        if text:
            print_text(f"  {text}")
    _print_edges("outgoing", "->", found.outgoing, found.outgoing_total, offset)
    _print_edges("incoming", "<-", found.incoming, found.incoming_total, offset)
    print_text()
    print_text("decisions" if found.decisions else "decisions: none found", style="bold")
    if found.decisions:
        rows = [(adr.key, place(adr), adr.title or adr.name, adr.status) for adr in found.decisions]
        print_table(("key", "place", "title", "status"), rows, indent="  ")
    print_text()
    print_text("debt" if found.markers else "debt: none found", style="bold")
    if found.markers:
        found_debt = [(f"{item.path}:{item.line}", item.category, item.text) for item in found.markers]
        print_table(("place", "category", "text"), found_debt, indent="  ")
    if found.markers_total > len(found.markers):
        print_text(f"  {found.markers_total - len(found.markers)} more; see `roteiro debt`")


def _print_edges(title: str, arrow: str, ends: Sequence[EdgeEnd], total: int, offset: int) -> None:
    print_text()
    if not total:
        print_text(f"{title}: none found", style="bold")
        return
    print_text(f"{title}: {total}", style="bold")
    if ends:
        print_table(
            ("kind", "node", "defined at", "seen at", "how"), [_row(arrow, end) for end in ends], indent="  "
        )
    left = total - offset - len(ends)
    if left > 0:
        print_text(f"  {left} more; --limit 0 shows all, --kinds narrows")


def _short(node: Node) -> str:
    """A name that tells the node where its place stands beside it."""
    if node.key.startswith("adr:"):
        return node.key
    return node.key.partition("#")[2] or node.path


def _row(arrow: str, end: EdgeEnd) -> tuple[str, str, str, str, str]:
    name = _short(end.node)
    how = end.provenance if end.confidence is None else f"{end.provenance} {end.confidence:.2f}"
    times = f" x{end.sites}" if end.sites > 1 else ""
    return end.kind, f"{arrow} {name}", place(end.node), f"{end.path}:{end.line}{times}", how
