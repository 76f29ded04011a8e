"""Holds back the text of a round until it is clear that it is the answer and not a preface to a call.

Models put a few words before a call. Those are not the answer, while an answer is to stream; so a short
beginning is held and anything longer passes. Thread: event loop.
"""

from __future__ import annotations

from roteiro.chat.events import ReasoningDelta, TextDelta
from roteiro.conversation.events import Delta
from roteiro.engine.request import Loading, PromptProgress, Queued

# Prefaces ("Let me look that up.") are shorter.
HELD_CHARACTERS = 160

Passing = Queued | Loading | PromptProgress | Delta


class HeldText:
    """One round's text.

    Args:
        release_at_once: True in a round whose text can only be the answer.
    """

    def __init__(self, *, release_at_once: bool) -> None:
        self._held: list[Delta] = []
        self._size = 0
        self._open = release_at_once

    def receive(self, event: Passing) -> list[Passing]:
        """What of the events may be shown now; calls of graph tools never are."""
        if not isinstance(event, Delta):
            return [event]
        if isinstance(event.event, ReasoningDelta):
            return [event]
        if not isinstance(event.event, TextDelta):
            return []
        if self._open:
            return [event]
        self._held.append(event)
        self._size += len(event.event.text)
        if self._size < HELD_CHARACTERS:
            return []
        self._open = True
        return self.release()

    def release(self) -> list[Passing]:
        """Everything held, in order."""
        held: list[Passing] = list(self._held)
        self._held.clear()
        return held
