"""`roteiro context`: the most useful source for a symbol or a question."""

from __future__ import annotations

import typer

from roteiro.cli import output
from roteiro.cli.commands.explain import print_candidates
from roteiro.cli.graph import JSON_OPTION, SYNC_OPTION, opened
from roteiro.cli.tables import print_text
from roteiro.errors import AmbiguousName
from roteiro.graph.queries.context import DEFAULT_BUDGET, Context, context

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def command(
    query: list[str] = typer.Argument(help="A key, a unique name, or a question."),
    budget: int = typer.Option(DEFAULT_BUDGET, "--budget", help="The most tokens, estimated."),
    sync: bool = SYNC_OPTION,
    as_json: bool = JSON_OPTION,
) -> None:
    """Collect the most useful source within a budget: the definition first, then what is near it."""
    with opened(sync_first=sync, as_json=as_json) as graph:
        text = " ".join(query)
        try:
            found = context(graph.store, text, budget=budget)
        except AmbiguousName as error:
            print_candidates(graph, error, as_json=as_json)
            raise
        if as_json:
            graph.print_json(found.to_json())
        else:
            _print(found)


# --------------------------------------------------------------------------------------------------


def _print(found: Context) -> None:
    for block in found.blocks:
        print_text(block.header, style="bold")
        print_text(block.text)
        print_text()
    left = f"; {found.left_out} more did not fit" if found.left_out else ""
    output.notice(f"about {found.tokens} of {found.budget} tokens{left}")
