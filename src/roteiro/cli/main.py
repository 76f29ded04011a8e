"""The `roteiro` command: a table of sub-commands, each loaded only when it is the one asked for.

`roteiro --help` must answer at once, so nothing heavy is imported here (a test holds that).
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperGroup

from roteiro import __version__


@dataclass(frozen=True, slots=True)
class Command:
    """Where a sub-command lives and the line that `--help` shows for it."""

    module: str
    help: str


# In the order in which `--help` lists them.
COMMANDS: dict[str, Command] = {
    "serve": Command("serve", "Serve the installed models and the code graph over HTTP."),
    "chat": Command("chat", "Talk to a model on the terminal."),
    "ask": Command("ask", "Ask a question about this repository."),
    "model": Command("model", "List, import, discover, pull, check and remove models."),
    "sync": Command("sync", "Build or update the code graph of this work tree."),
    "search": Command("search", "Find symbols, decisions and docs by words."),
    "explain": Command("explain", "Show what a symbol is and what it is connected to."),
    "path": Command("path", "Show how two symbols are connected."),
    "context": Command("context", "Collect the most useful source for a symbol or question."),
    "debt": Command("debt", "List debt markers."),
    "debt-density": Command("debt_density", "Rank files by debt."),
    "list": Command("list_nodes", "List the nodes of one kind."),
    "export": Command("export", "Export the graph as JSON, GraphML or DOT."),
    "mcp": Command("mcp", "Serve the graph's queries over the Model Context Protocol."),
    "config": Command("config", "Show or set the configuration."),
}


class LazyGroup(TyperGroup):
    """Imports a command's module when that command is the one to run.

    Typer carries its own copy of click in newer versions, so contexts and formatters are not named here.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Load the command's own Typer application."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module = importlib.import_module(f"roteiro.cli.commands.{entry.module}")
        command = typer.main.get_command(module.app)
        command.name = cmd_name
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the table's lines, so that help imports no command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])


app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    # A fault of ours is a plain traceback: local variables may hold prompts and keys.
    pretty_exceptions_enable=False,
)


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"roteiro {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Show the version."
    ),
) -> None:
    """A graph of your code, and local models that answer from it."""


def main() -> None:
    """Entry point of the console script."""
    app()
