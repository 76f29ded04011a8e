"""Tables for people: drawn on a terminal, aligned plain text in a pipe, and safe in both.

Names and texts come from repositories, so control characters are made visible and never obeyed.
Thread: any.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from roteiro.cli.output import stdout

_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """A text whose control characters (escape sequences, turned writing) are shown, not obeyed."""
    text = text.encode("utf-8", "backslashreplace").decode().replace("\t", "    ")
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def print_text(text: str = "", *, style: str | None = None) -> None:
    """Print lines as they are, without markup."""
    stdout().print(printable(text), markup=False, style=style, highlight=False)


def print_table(titles: Sequence[str], rows: Sequence[Sequence[object]], *, indent: str = "") -> None:
    """Print rows under titles; a pipe gets the rows alone, columns aligned, nothing cut."""
    cells = [[_one_line(cell) for cell in row] for row in rows]
    if stdout().is_terminal:
        _draw(titles, cells)
        return
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        print_text(indent + "  ".join(padded).rstrip())


# --------------------------------------------------------------------------------------------------


def _one_line(cell: object) -> str:
    return printable("" if cell is None else " ".join(str(cell).split()))


def _draw(titles: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in titles:
        table.add_column(title, overflow="fold")
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    stdout().print(table, soft_wrap=False)
