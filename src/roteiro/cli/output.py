"""How commands print: JSON, tables and errors, and which exit code an error means.

The only module that prints. It renders `RoteiroError`s and knows nothing of what raised them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from roteiro import errors

if TYPE_CHECKING:
    from rich.console import Console

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_NO_GRAPH = 3
EXIT_STORE_TOO_NEW = 4

# The first class that an error is an instance of decides.
EXIT_CODES: tuple[tuple[type[errors.RoteiroError], int], ...] = (
    (errors.UsageError, EXIT_USAGE),
    (errors.ConfigError, EXIT_USAGE),
    (errors.AmbiguousName, EXIT_USAGE),
    (errors.RootRefused, EXIT_USAGE),
    (errors.NoGraph, EXIT_NO_GRAPH),
    (errors.StoreTooNew, EXIT_STORE_TOO_NEW),
    (errors.RoteiroError, EXIT_FAILED),
)


@cache
def stdout() -> Console:
    """The console for results. Plain text when standard output is not a terminal."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=True, emoji=False)


@cache
def stderr() -> Console:
    """The console for progress, notices and errors."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)


def print_json(value: Any) -> None:
    """Print one JSON document on standard output, UTF-8, keys in the order given."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def write(pieces: Iterable[str]) -> None:
    """Print a document that comes in pieces, as it is."""
    sys.stdout.writelines(pieces)


def notice(text: str) -> None:
    """Print a remark on standard error, without markup."""
    stderr().print(text, markup=False)


def exit_code(error: errors.RoteiroError) -> int:
    """The exit code an error means."""
    return next(code for kind, code in EXIT_CODES if isinstance(error, kind))


def print_error(error: errors.RoteiroError, *, as_json: bool = False) -> None:
    """Print an error on standard error, as text or as `{"error": {"code", "message", "hint"}}`."""
    if as_json:
        body = {"error": {"code": error.code, "message": error.message, "hint": error.hint}}
        sys.stderr.write(json.dumps(body, ensure_ascii=False) + "\n")
        return
    sys.stderr.write(f"error: {error.message}\n")
    if error.hint:
        sys.stderr.write(f"       {error.hint}\n")


@contextmanager
def command_errors(*, json: bool = False) -> Iterator[None]:
    """Render a `RoteiroError` raised inside and exit with its code; Ctrl-C exits with 130."""
    import typer

    try:
        yield
    except errors.RoteiroError as error:
        print_error(error, as_json=json)
        raise typer.Exit(exit_code(error)) from error
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        raise typer.Exit(130) from None
    except BrokenPipeError:
        # The reader of our output left (`| head`): not an error of ours.
        sys.stderr.close()
        raise typer.Exit(0) from None
