"""What one rendering may use: seconds, steps and characters; the thread that overspends ends itself.

A template is untrusted: one expression can hold the interpreter for hours, and no timeout reaches into a
running C call. So growth is refused before it happens and time is looked at on every step. Thread: the one
that renders; the budget in force is a context variable.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

RENDER_SECONDS = 5.0
# One value or the whole output; a conversation of that size fits no context window.
MAX_CHARACTERS = 16 * 2**20
# All intermediate values together: bounds memory where a template collects what it builds.
MAX_PRODUCED = 1 << 30
# A thousand messages looked at once for each message is one million.
MAX_STEPS = 5_000_000
# Bits of a whole number; templates count messages.
MAX_INTEGER_BITS = 4_096


class BudgetExceeded(Exception):
    """Raised inside the sandbox when a rendering has used up what it may; says which bound."""


class Budget:
    """Counts what one rendering uses."""

    __slots__ = ("_deadline", "_produced", "_seconds", "_steps")

    def __init__(self, seconds: float = RENDER_SECONDS) -> None:
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds
        self._steps = 0
        self._produced = 0

    def step(self, count: int = 1) -> None:
        """Take `count` steps (a call, an operation, a loop's round)."""
        self._steps += count
        if self._steps > MAX_STEPS:
            message = f"it took more than {MAX_STEPS} steps"
            raise BudgetExceeded(message)
        if time.monotonic() > self._deadline:
            message = f"it took longer than {self._seconds:g} s"
            raise BudgetExceeded(message)

    def grow(self, characters: int) -> None:
        """Announce a value of that many characters or items before it is built."""
        if characters > MAX_CHARACTERS:
            message = f"it built more than {MAX_CHARACTERS} characters"
            raise BudgetExceeded(message)
        self._produced += characters
        if self._produced > MAX_PRODUCED:
            message = f"it built more than {MAX_PRODUCED} characters in all"
            raise BudgetExceeded(message)


_current: ContextVar[Budget | None] = ContextVar("roteiro_template_budget", default=None)


@contextmanager
def spending(budget: Budget) -> Iterator[Budget]:
    """Put `budget` in force for this thread."""
    token = _current.set(budget)
    try:
        yield budget
    finally:
        _current.reset(token)


def current() -> Budget:
    """The budget in force. Template code never runs without one."""
    budget = _current.get()
    if budget is None:
        message = "template code ran outside a rendering"
        raise BudgetExceeded(message)
    return budget
