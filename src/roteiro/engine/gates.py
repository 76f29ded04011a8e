"""Constraints that begin later: after a thought, or when a marker is written.

They wrap another constraint and decide by the bytes generated so far when it starts. Pure; they know
no grammar. One object serves one generation. Thread: engine thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from roteiro.engine.request import Constraint

TokenBytes = Callable[[int], bytes]


class StartableConstraint(Constraint, Protocol):
    """A constraint that can be told of text that was written before it began."""

    def allows(self, token: int) -> bool:
        """Whether `token` may come next."""

    def accept_text(self, text: bytes) -> bool:
        """Advance past `text`; False when it does not fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    """How a thought is delimited.

    `opener_token` is the first token of the opening marker, None when the model has none to write.
    `end` is the closing marker's bytes. `open` says that the prompt has opened the thought already.
    """

    opener_token: int | None
    end: bytes
    open: bool


class AfterThought:
    """Lets the model think first, then holds it to `inner`.

    While the thought is open, everything but the end of generation may be written. When it is not open
    yet, the model may open it or begin with what `inner` takes.
    """

    def __init__(
        self,
        inner: StartableConstraint,
        thought: Thought,
        *,
        token_bytes: TokenBytes,
        eog_tokens: Sequence[int],
    ) -> None:
        self._inner = inner
        self._thought = thought
        self._token_bytes = token_bytes
        self._eog = list(eog_tokens)
        self._tail = b""
        self._state = "thinking" if thought.open else "start"

    def mask(self, logits: Any) -> None:
        """Ban what may not come now."""
        if self._state == "thinking":
            logits[self._eog] = float("-inf")
            return
        opener = self._thought.opener_token if self._state == "start" else None
        kept = None if opener is None else logits[opener]
        self._inner.mask(logits)
        if opener is not None:
            logits[opener] = kept

    def accept(self, token: int) -> None:
        """Advance; a thought that ends hands over to `inner`."""
        if self._state == "start":
            opens = token == self._thought.opener_token and not self._inner.allows(token)
            self._state = "thinking" if opens else "inner"
            if opens:
                return
        if self._state == "inner":
            self._inner.accept(token)
            return
        self._tail += self._token_bytes(token)
        before, found, rest = self._tail.partition(self._thought.end)
        if found:
            self._state = "inner"
            self._inner.accept_text(rest)
        else:
            self._tail = before[-len(self._thought.end) :]

    def forced(self) -> tuple[int, ...]:
        """What `inner` forces, once it has begun."""
        return self._inner.forced() if self._state == "inner" else ()

    def finished(self) -> bool:
        """As `inner`, once it has begun."""
        return self._state == "inner" and self._inner.finished()


class WhenTriggered:
    """Free text until a marker is written; from there on `make(marker)` holds.

    A marker inside a thought does not count. When what follows the marker in the same token does not
    fit, the text stays free: the parser will say what it is.

    Args:
        make: builds the constraint for what follows a marker; None for no constraint after that one.
        markers: texts that trigger, as bytes.
        thought: how a thought is delimited, or None for models that have none.
    """

    def __init__(
        self,
        make: Callable[[bytes], StartableConstraint | None],
        markers: Sequence[bytes],
        *,
        token_bytes: TokenBytes,
        thought: Thought | None = None,
        thought_start: bytes = b"",
    ) -> None:
        self._make = make
        self._markers = sorted(markers, key=len, reverse=True)
        self._token_bytes = token_bytes
        self._thought = thought
        self._thought_start = thought_start
        self._thinking = thought is not None and thought.open
        self._longest = max(
            [len(m) for m in markers] + [len(thought_start)] + [len(thought.end) if thought else 0]
        )
        self._tail = b""
        self._inner: StartableConstraint | None = None

    def mask(self, logits: Any) -> None:
        """Nothing is banned before a marker."""
        if self._inner is not None:
            self._inner.mask(logits)

    def accept(self, token: int) -> None:
        """Advance, and look for a marker."""
        if self._inner is not None:
            self._inner.accept(token)
            return
        self._tail += self._token_bytes(token)
        while self._step():
            pass
        if self._inner is None:
            self._tail = self._tail[-self._longest :]

    def forced(self) -> tuple[int, ...]:
        """What the constraint forces, once it has begun."""
        return self._inner.forced() if self._inner is not None else ()

    def finished(self) -> bool:
        """As the constraint, once it has begun."""
        return self._inner is not None and self._inner.finished()

    def _step(self) -> bool:
        """Consume one marker from the tail; True when there may be more in it."""
        if self._thinking and self._thought is not None:
            _, found, rest = self._tail.partition(self._thought.end)
            if found:
                self._thinking, self._tail = False, rest
            return bool(found)
        hits = [
            (self._tail.find(m), m) for m in (*self._markers, self._thought_start) if m and m in self._tail
        ]
        if not hits:
            return False
        at, marker = min(hits, key=lambda hit: (hit[0], -len(hit[1])))
        rest = self._tail[at + len(marker) :]
        self._tail = rest
        if marker == self._thought_start:
            self._thinking = True
            return True
        inner = self._make(marker)
        if inner is not None and inner.accept_text(rest):
            self._inner = inner
            return False
        return inner is None
