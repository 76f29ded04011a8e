"""What every graph command does: open the graph of this tree, say when it is stale, print the answer.

Knows no query. Thread: the command's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from roteiro.cli import output
from roteiro.graph.store import GraphStore, open_graph

STALE = "note: the tree has changed since the last sync; run `roteiro sync`, or ask with --sync."

# Declared once, so that they read the same in every command's help.
JSON_OPTION = typer.Option(False, "--json", help="Print JSON.")
SYNC_OPTION = typer.Option(False, "--sync", help="Bring the graph up to date first.")
OFFSET_OPTION = typer.Option(0, "--offset", help="How many to leave out.")
CATEGORY_OPTION = typer.Option(
    [], "--kind", metavar="CATEGORY", help="todo, fixme, hack, stub or deferred; may be repeated."
)
WITHIN_OPTION = typer.Option("", "--path", help="Only this file or folder, from the tree's root.")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenGraph:
    """The graph that a command asks. `stale` says that the tree has moved on since its sync."""

    store: GraphStore
    stale: bool

    def print_json(self, answer: dict[str, Any]) -> None:
        """Print an answer with the remark on how fresh it is."""
        output.print_json({**answer, "stale": self.stale})


@contextmanager
def opened(*, sync_first: bool, as_json: bool) -> Iterator[OpenGraph]:
    """The graph of the tree around the working folder; errors inside become messages and exit codes.

    Args:
        sync_first: bring it up to date before.
        as_json: render errors as JSON.
    """
    with output.command_errors(json=as_json):
        here = Path.cwd()
        if sync_first:
            # Imported here: parsers cost more start-up than a question does.
            from roteiro.graph.sync import sync

            sync(here)
        with open_graph(here) as store:
            stale = not sync_first and _is_stale(store)
            if stale:
                output.notice(STALE)
            yield OpenGraph(store=store, stale=stale)


# --------------------------------------------------------------------------------------------------


def _is_stale(store: GraphStore) -> bool:
    from roteiro.graph.freshness import is_stale

    return is_stale(store)
