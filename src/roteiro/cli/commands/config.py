"""`roteiro config`: what is in force and why; `roteiro config set`: change it."""

from __future__ import annotations

from pathlib import Path

import typer

from roteiro.cli import output
from roteiro.config import LoadedConfig, explain, load, paths
from roteiro.config.editing import set_key

app = typer.Typer(
    invoke_without_command=True,
    help="Show every key's value, class and origin, or set one.",
    add_completion=False,
    rich_markup_mode=None,
)


@app.callback()
def show(
    ctx: typer.Context,
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Show every key with its effective value, its class and the layer it came from."""
    if ctx.invoked_subcommand is not None:
        return
    with output.command_errors(json=as_json):
        loaded = load()
        if as_json:
            output.print_json(explain.to_json(loaded.entries))
        else:
            _print_table(loaded)
        for warning in loaded.warnings:
            output.notice(f"warning: {warning}")


@app.command("set")
def set_command(
    key: str = typer.Argument(help="section.key, for example serve.sessions"),
    value: str = typer.Argument(help="a TOML value; plain text needs no quotes"),
    project: bool = typer.Option(
        False, "--project", help="Write the project's roteiro.toml instead of your own file."
    ),
    rewrite: bool = typer.Option(
        False, "--rewrite", help="Write a file with comments anew, which drops them."
    ),
) -> None:
    """Set a key in your own configuration file, or in the project's."""
    with output.command_errors():
        loaded = load()
        if project:
            path = paths.project_file(Path.cwd()) or loaded.config.project_root / paths.PROJECT_FILE
        else:
            path = loaded.config.paths.home / paths.USER_FILE
        edit = set_key(path, "project" if project else "user", key, value, rewrite=rewrite)
        if edit.written:
            output.notice(f"{edit.path}: {key} is set" + (f" (before: {edit.backup})" if edit.backup else ""))
            return
        output.notice(
            f"{edit.path} has comments that writing it anew would drop. Add this to it, or use --rewrite:"
        )
        output.stdout().print(edit.line, markup=False)
        raise typer.Exit(output.EXIT_FAILED)


# ------------------------------------------------------------------------------------------------


def _print_table(loaded: LoadedConfig) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("key", "value", "class", "origin"):
        table.add_column(title, overflow="fold")
    for name, entry in loaded.entries.items():
        table.add_row(name, explain.shown(entry), entry.key.class_name, entry.origin)
        for item in entry.overruled:
            table.add_row(
                "", f"not {explain.plain(item.value)}", "", f"{item.layer}: {item.why}", style="dim"
            )
    output.stdout().print(table)
