"""`roteiro sync`: builds or updates the code graph of this work tree."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from roteiro.cli import output

if TYPE_CHECKING:
    from roteiro.graph.sync import Progress, SyncReport

app = typer.Typer(add_completion=False, rich_markup_mode=None)

SHOWN_SKIPPED = 10


@app.command()
def command(
    *,
    path: Path = typer.Argument(Path(), metavar="[PATH]", help="Any folder of the tree; default: this one."),
    watch: bool = typer.Option(False, "--watch", help="Go on: sync again whenever files change."),
    poll: bool = typer.Option(False, "--poll", help="With --watch: look at the tree instead of being told."),
    force: bool = typer.Option(False, "--force", help="Take `/` or the home folder for a tree."),
    rebuild: bool = typer.Option(False, "--rebuild", help="Read every file anew."),
    as_json: bool = typer.Option(False, "--json", help="Print the result as JSON."),
) -> None:
    """Build or update the code graph of the whole work tree that PATH is in."""
    from roteiro.graph.sync import sync

    with output.command_errors(json=as_json):
        with _progress() as progress:
            report = sync(path, force=force, rebuild=rebuild, progress=progress)
        _show(report, as_json=as_json)
        if watch:
            _watch(report.root, force=force, poll=poll, as_json=as_json)


# --------------------------------------------------------------------------------------------------


def _watch(root: Path, *, force: bool, poll: bool, as_json: bool) -> None:
    from roteiro.graph.watch import watch

    stop = threading.Event()

    def interrupted(_number: int, _frame: object) -> None:
        # The exception may be raised where nothing can be raised (a finalizer), and is lost there.
        stop.set()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupted)
    output.notice(f"watching {root} (Ctrl-C ends)")
    for report in watch(root, force=force, poll=poll, stop=stop, notice=output.notice):
        _show(report, as_json=as_json, brief=True)
    raise KeyboardInterrupt


@contextmanager
def _progress() -> Iterator[Progress | None]:
    """A bar with files per second on a terminal, nothing elsewhere and nothing where nothing changed."""
    if not sys.stderr.isatty():
        yield None
        return
    with ExitStack() as stack:
        bars: list[Progress] = []

        def show(stage: str, done: int, total: int) -> None:
            if not bars:
                bars.append(stack.enter_context(_bars()))
            bars[0](stage, done, total)

        yield show


@contextmanager
def _bars() -> Iterator[Progress]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description:>8}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=output.stderr(), transient=True) as bars:
        tasks = {stage: bars.add_task(stage, start=False, visible=False, rate="", total=None)
                 for stage in ("extract", "link")}  # fmt: skip

        def show(stage: str, done: int, total: int) -> None:
            number = tasks[stage]
            if done == 0:
                bars.start_task(number)
            task = bars.tasks[number]
            rate = f"{done / task.elapsed:.0f} files/s" if task.elapsed else ""
            bars.update(number, completed=done, total=total, visible=total > 0, rate=rate)

        yield show


def _show(report: SyncReport, *, as_json: bool, brief: bool = False) -> None:
    if as_json:
        output.print_json(report.document())
        return
    lines = [_summary(report)]
    if not brief:
        lines += _details(report)
    output.write(f"{line}\n" for line in lines)


def _details(report: SyncReport) -> Iterator[str]:
    languages = ", ".join(f"{number} {lang}" for lang, number in report.languages.items())
    yield f"  languages  {languages or 'none'}"
    if report.assets:
        yield f"  {report.assets} other files have no language that is known here"
    if report.skipped:
        yield f"  left out   {len(report.skipped)}"
        for item in report.skipped[:SHOWN_SKIPPED]:
            yield f"    {item.path}: {item.reason}"
        more = len(report.skipped) - SHOWN_SKIPPED
        if more > 0:
            yield f"    and {more} more (--json lists them all)"


def _summary(report: SyncReport) -> str:
    if report.changed:
        did = f"{report.parsed} read, {report.linked} linked, {report.removed} gone"
    else:
        did = "nothing changed"
    return (
        f"{report.root}: {report.files} files, {report.nodes} nodes, {report.edges} edges"
        f" ({did}) in {report.seconds:.2f} s"
    )
