"""Tokens' bytes to text, piece by piece, without ever showing half a character.

Knows bytes only. Thread: engine thread; one object a sequence.
"""

from __future__ import annotations

import codecs


class TextDecoder:
    """An incremental UTF-8 decoder: whole characters at once, invalid bytes as U+FFFD, the tail held back."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def push(self, data: bytes) -> str:
        """The text that `data` completes; empty in mid-character."""
        return self._decoder.decode(data)

    def flush(self) -> str:
        """The dangling tail, once: U+FFFD for an unfinished character, else empty."""
        return self._decoder.decode(b"", final=True)
