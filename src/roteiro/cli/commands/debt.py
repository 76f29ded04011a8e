"""`roteiro debt`: what people left for later."""

from __future__ import annotations

from pathlib import Path

import typer

from roteiro.cli import output
from roteiro.cli.graph import CATEGORY_OPTION, JSON_OPTION, OFFSET_OPTION, SYNC_OPTION, WITHIN_OPTION, opened
from roteiro.cli.tables import print_table, print_text
from roteiro.graph.queries.debt import DebtList, debt

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def command(
    *,
    kind: list[str] = CATEGORY_OPTION,
    path: str = WITHIN_OPTION,
    limit: int = typer.Option(0, "--limit", help="The most markers; 0 is all."),
    offset: int = OFFSET_OPTION,
    sync: bool = SYNC_OPTION,
    as_json: bool = JSON_OPTION,
) -> None:
    """List debt markers by path and line. `[debt] ignore` leaves paths out."""
    with opened(sync_first=sync, as_json=as_json) as graph:
        found = debt(
            graph.store,
            categories=kind,
            ignore=ignored(),
            path=path,
            limit=limit,
            offset=offset,
        )
        if as_json:
            graph.print_json(found.to_json())
        else:
            _print(found, offset)


def ignored() -> tuple[str, ...]:
    """The globs of `[debt] ignore`, as the configuration's layers merge them."""
    from roteiro.config import load_config

    return load_config(cwd=Path.cwd()).debt.ignore


# --------------------------------------------------------------------------------------------------


def _print(found: DebtList, offset: int) -> None:
    if not found.total:
        print_text("no markers found")
        return
    if found.items:
        print_table(
            ("place", "category", "text"),
            [(f"{item.path}:{item.line}", item.category, item.text) for item in found.items],
        )
    counts = ", ".join(f"{number} {category}" for category, number in found.by_category.items())
    print_text()
    print_text(f"{found.total} in all: {counts}")
    left = found.total - offset - len(found.items)
    if left > 0:
        output.notice(f"{left} more; --offset {offset + len(found.items)} goes on")
