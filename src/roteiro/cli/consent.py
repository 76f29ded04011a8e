"""Asks on the terminal whether a download may happen, and shows what it would be.

It decides nothing by itself: without a terminal and without a grant it refuses. Thread: the command's.
"""

from __future__ import annotations

import sys

import typer

from roteiro.cli import output
from roteiro.cli.tables import printable
from roteiro.errors import ConsentRefused
from roteiro.modelstore.consent import DownloadOffer


class TerminalConsent:
    """Consent from whoever sits at the terminal.

    Args:
        granted: `--yes` or the user's own `[store] allow_pull`: show the offer and go on.
    """

    def __init__(self, *, granted: bool) -> None:
        self._granted = granted

    def require_answer(self) -> None:
        """Refuse at once where nobody could be asked."""
        if not self._granted and not is_interactive():
            raise ConsentRefused(
                "A download needs consent, and there is no terminal to ask on.",
                hint="Say --yes, or set [store] allow_pull = true in your own configuration.",
            )

    def agree(self, offer: DownloadOffer) -> bool:
        """Show the offer and, unless it was granted, ask."""
        size = "of unknown size" if offer.size is None else show_bytes(offer.size)
        for label, value in (
            ("model", offer.what),
            ("from", f"{offer.origin}: {', '.join(offer.files)}"),
            ("size", size),
            ("to", str(offer.destination)),
            ("check", offer.check),
        ):
            output.notice(f"  {label:<6}{one_line(value)}")
        return self._granted or confirm("Download it?")


def is_interactive() -> bool:
    """True when a question can be asked and answered."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirm(question: str) -> bool:
    """Ask on standard error; no answer is a no."""
    try:
        return typer.confirm(question, default=False, err=True)
    except typer.Abort:
        return False


def show_bytes(count: int) -> str:
    """A size for people, in decimal units as disks and hubs give it."""
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.2f} GB"


def one_line(text: str) -> str:
    """Text from a file or server on one line, without what could steer a terminal."""
    return printable(" ".join(text.split()))
