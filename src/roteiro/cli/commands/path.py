"""`roteiro path`: how two nodes are connected."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from roteiro.cli import output
from roteiro.cli.commands.explain import print_candidates
from roteiro.cli.graph import JSON_OPTION, SYNC_OPTION, opened
from roteiro.cli.tables import print_table, print_text
from roteiro.errors import AmbiguousName
from roteiro.graph.queries.path import DEFAULT_MAX_DEPTH, Connection, Step, path

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def command(
    start: str = typer.Argument(metavar="FROM", help="A key or a unique name."),
    end: str = typer.Argument(metavar="TO", help="A key or a unique name."),
    *,
    max_depth: int = typer.Option(DEFAULT_MAX_DEPTH, "--max-depth", help="The most steps; 0 is any number."),
    kinds: list[str] = typer.Option([], "--kinds", help="Only edges of this kind; may be repeated."),
    directed: bool = typer.Option(
        False, "--directed/--undirected", help="Walk edges only from source to target."
    ),
    sync: bool = SYNC_OPTION,
    as_json: bool = JSON_OPTION,
) -> None:
    """Show the shortest connection of two symbols, with the place of every step."""
    with opened(sync_first=sync, as_json=as_json) as graph:
        try:
            found = path(graph.store, start, end, max_depth=max_depth, kinds=kinds, directed=directed)
        except AmbiguousName as error:
            print_candidates(graph, error, as_json=as_json)
            raise
        if as_json:
            graph.print_json(found.to_json())
        else:
            _print(found)
        if not found.found:
            raise typer.Exit(output.EXIT_FAILED)


# --------------------------------------------------------------------------------------------------


def _print(found: Connection) -> None:
    ends = f"{found.start.key} and {found.end.key}"
    if found.reason == "no_path":
        output.notice(f"no path: nothing found that connects {ends}")
        return
    if found.reason == "not_within_depth":
        output.notice(f"not within {found.max_depth} steps: {ends} are connected further apart")
        return
    print_text(found.start.key)
    _print_steps(found.steps)
    if found.call_chain:
        print_text()
        print_text(f"call chain from {found.start.key}", style="bold")
        _print_steps(found.call_chain)


def _print_steps(steps: Sequence[Step]) -> None:
    rows = [
        (
            f"<-{step.kind}-" if step.reversed else f"-{step.kind}->",
            step.end,
            f"{step.path}:{step.line}",
            step.provenance if step.confidence is None else f"{step.provenance} {step.confidence:.2f}",
        )
        for step in steps
    ]
    if rows:
        print_table(("step", "node", "seen at", "how"), rows, indent="  ")
