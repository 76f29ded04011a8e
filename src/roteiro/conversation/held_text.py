"""Holds back the text of a round until it is clear that it is the answer.

Models put a few words before a call, and small ones write a call as JSON that no dialect proves. Neither is
the answer, while an answer is to stream; so a short beginning is held, what begins as a call does is held to
its end, and anything else passes. Thread: event loop.
"""

from __future__ import annotations

import re

from roteiro.chat.events import ReasoningDelta, TextDelta
from roteiro.conversation.events import Delta
from roteiro.engine.request import Loading, PromptProgress, Queued

# Prefaces ("Let me look that up.") are shorter.
HELD_CHARACTERS = 160

_BEGINS = re.compile(r"\s*(```(json)?\s*)?[\[{<]")
_CALL = re.compile(r"\"name\"\s*:|\"(arguments|parameters)\"\s*:|<(tool_call|function)\b")

Passing = Queued | Loading | PromptProgress | Delta


class HeldText:
    """One round's text.

    Args:
        release_at_once: True in a round whose text can only be the answer.
        tools: whether the model was told of tools, so that it may try to call one.
    """

    def __init__(self, *, release_at_once: bool, tools: bool) -> None:
        self._held: list[Delta] = []
        self._text = ""
        self._enough = 0 if release_at_once else HELD_CHARACTERS
        self._tools = tools
        self._open = False

    @property
    def is_call(self) -> bool:
        """Whether what is held is a call that no dialect could read."""
        held = bool(self._held) and not self._open
        return held and self._tools and bool(_BEGINS.match(self._text) and _CALL.search(self._text))

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
        self._text += event.event.text
        if len(self._text) < self._enough or self._may_be_call():
            return []
        return self.release()

    def release(self) -> list[Passing]:
        """Everything held, in order; what follows passes."""
        self._open = True
        held: list[Passing] = list(self._held)
        self._held.clear()
        return held

    # ---------------------------------------------------------------------------------------------

    def _may_be_call(self) -> bool:
        if not self._tools:
            return False
        return not self._text.strip(" \n`") or bool(_BEGINS.match(self._text))
