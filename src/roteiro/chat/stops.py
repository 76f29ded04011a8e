"""Stop strings over pieces of text: `StopMatcher(stops).receive_text(piece) -> (released, stop | None)`.

Text that may become a stop string is held back and released whole when it does not. Of several stop strings
the one that is complete first wins; of those that complete at one character, the one that began first, so
that nothing of a longer one is left in the answer. Pure; thread: event loop.
"""

from __future__ import annotations

from collections.abc import Sequence

from roteiro.chat.markers import held_back


class StopMatcher:
    """Holds what may become a stop string."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(stop for stop in stops if stop)
        self._held = ""

    def receive_text(self, piece: str) -> tuple[str, str | None]:
        """Take more text; give what is certain, and the stop string if one is complete."""
        if not self._stops:
            return piece, None
        text = self._held + piece
        self._held = ""
        found = self._first_complete(text)
        if found is not None:
            at, stop = found
            return text[:at], stop
        held = held_back(text, self._stops)
        cut = len(text) - held
        self._held = text[cut:]
        return text[:cut], None

    def flush(self) -> str:
        """Give what was held back: no stop string can complete any more."""
        held, self._held = self._held, ""
        return held

    def _first_complete(self, text: str) -> tuple[int, str] | None:
        best: tuple[int, int, str] | None = None
        for stop in self._stops:
            at = text.find(stop)
            if at >= 0:
                candidate = (at + len(stop), at, stop)
                best = candidate if best is None else min(best, candidate)
        return None if best is None else (best[1], best[2])
