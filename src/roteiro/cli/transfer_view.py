"""Shows how far a download is: a bar on a terminal, a line every tenth elsewhere. Thread: the command's."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from roteiro.cli import output
from roteiro.cli.consent import one_line, show_bytes

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class TransferView:
    """Hears of progress from the downloader; use it in a `with`."""

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._tenths: dict[str, int] = {}

    def __enter__(self) -> TransferView:
        if output.stderr().is_terminal:
            from rich import progress

            self._bar = progress.Progress(
                progress.TextColumn("{task.description}", markup=False),
                progress.BarColumn(),
                progress.DownloadColumn(),
                progress.TransferSpeedColumn(),
                progress.TimeRemainingColumn(),
                console=output.stderr(),
            )
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def at(self, name: str, received: int, total: int) -> None:
        """`received` of `total` bytes of a file are on disk."""
        if self._bar is not None:
            if name not in self._tasks:
                self._tasks[name] = self._bar.add_task(one_line(name), total=total)
            self._bar.update(self._tasks[name], completed=received)
            return
        tenth = received * 10 // max(total, 1)
        if tenth > self._tenths.get(name, -1):
            self._tenths[name] = tenth
            output.notice(f"  {one_line(name)}: {show_bytes(received)} of {show_bytes(total)}")
