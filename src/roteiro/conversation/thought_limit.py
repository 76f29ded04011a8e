"""Ends a running thought: when its budget is used up, or when somebody asks for it.

What is forced is what the model's template writes after a thought, so that the replayed turn renders to
the tokens that were generated. Created and asked on the event loop; `take` runs on the engine thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


class ThoughtLimit:
    """A `ForcedTokens` for one generation.

    Args:
        start, end: the thought's markers as bytes.
        is_open: whether the prompt has opened the thought already.
        budget: most tokens of one thought; None for no limit. A new thought gets a fresh budget.
        ending: tokens to force: the budget message, if any, and the end as the template writes it.
        token_bytes: a token's bytes.
    """

    def __init__(
        self,
        *,
        start: bytes,
        end: bytes,
        is_open: bool,
        budget: int | None,
        ending: tuple[int, ...],
        token_bytes: Callable[[int], bytes],
    ) -> None:
        self._start = start
        self._end = end
        self._thinking = is_open
        self._budget = budget
        self._ending = ending
        self._token_bytes = token_bytes
        self._asked = threading.Event()
        self._tail = b""
        self._spent = 0
        self._seen = 0

    def end_thought(self) -> None:
        """Ask for the end; takes effect before the next token, if a thought is running then."""
        self._asked.set()

    def take(self, generated: tuple[int, ...]) -> tuple[int, ...]:
        """The ending when it is due now, else nothing."""
        for token in generated[self._seen :]:
            self._follow(token)
        self._seen = len(generated)
        due = self._asked.is_set() or (self._budget is not None and self._spent >= self._budget)
        if not (self._thinking and due and self._at_character_boundary()):
            return ()
        self._asked.clear()
        self._spent = 0
        return self._ending

    # ---------------------------------------------------------------------------------------------

    def _follow(self, token: int) -> None:
        self._tail += self._token_bytes(token)
        self._spent += self._thinking
        marker = self._end if self._thinking else self._start
        _, found, rest = self._tail.partition(marker)
        if found:
            self._thinking = not self._thinking
            self._tail, self._spent = rest, 0
        else:
            self._tail = self._tail[-max(len(self._start), len(self._end)) :]

    def _at_character_boundary(self) -> bool:
        """Whether the text so far ends between characters, so that the ending cuts none in two."""
        for back, byte in enumerate(reversed(self._tail[-4:])):
            if byte < 0x80:
                return True
            if byte >= 0xC0:
                length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
                return back + 1 >= length
        return True
