"""Consent to a download, as a port: who is asked and how is the front door's business.

Pure values; thread: that of the caller.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadOffer:
    """What a user must know before agreeing.

    Attributes:
        what: the model, in words.
        origin: the URL's host and what is taken from it.
        files: names of the files that travel.
        size: bytes of them together; None when the server does not say.
        destination: the store's folder.
        check: how the bytes are proved, or that they are not.
    """

    what: str
    origin: str
    files: tuple[str, ...]
    size: int | None
    destination: Path
    check: str


class Consent(Protocol):
    """Whoever may agree to a download."""

    def require_answer(self) -> None:
        """Raise `ConsentRefused` at once when nobody could answer; called before any request."""

    def agree(self, offer: DownloadOffer) -> bool:
        """True when the download may happen."""


class Granted:
    """Consent given beforehand: `--yes`, or the user's own `[store] allow_pull`."""

    def require_answer(self) -> None:
        """There is an answer already."""

    def agree(self, offer: DownloadOffer) -> bool:
        """Always."""
        return True
