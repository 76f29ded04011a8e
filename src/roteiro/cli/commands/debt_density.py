"""`roteiro debt-density`: the files with the most debt for their length."""

from __future__ import annotations

import typer

from roteiro.cli import output
from roteiro.cli.commands.debt import ignored
from roteiro.cli.graph import CATEGORY_OPTION, JSON_OPTION, OFFSET_OPTION, SYNC_OPTION, WITHIN_OPTION, opened
from roteiro.cli.tables import print_table, print_text
from roteiro.graph.queries.debt import DebtDensity, density

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def command(
    *,
    kind: list[str] = CATEGORY_OPTION,
    order: str = typer.Option("density", "--order", help="density, markers or lines."),
    min_lines: int = typer.Option(0, "--min-lines", help="Leave out files with fewer lines."),
    path: str = WITHIN_OPTION,
    limit: int = typer.Option(0, "--limit", help="The most files; 0 is all."),
    offset: int = OFFSET_OPTION,
    sync: bool = SYNC_OPTION,
    as_json: bool = JSON_OPTION,
) -> None:
    """Rank files by debt markers a thousand lines, by markers, or by length."""
    with opened(sync_first=sync, as_json=as_json) as graph:
        found = density(
            graph.store,
            categories=kind,
            ignore=ignored(),
            path=path,
            order=order,
            min_lines=min_lines,
            limit=limit,
            offset=offset,
        )
        if as_json:
            graph.print_json(found.to_json())
        else:
            _print(found, offset)


# --------------------------------------------------------------------------------------------------


def _print(found: DebtDensity, offset: int) -> None:
    if not found.total:
        print_text("no markers found")
        return
    if found.items:
        print_table(
            ("file", "per 1000 lines", "markers", "lines", "categories"),
            [
                (item.path, f"{item.per_kloc:.2f}", item.markers, item.lines, _categories(item.by_category))
                for item in found.items
            ],
        )
    left = found.total - offset - len(found.items)
    if left > 0:
        output.notice(f"{left} more; --offset {offset + len(found.items)} goes on")


def _categories(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} {category}" for category, number in counts.items())
