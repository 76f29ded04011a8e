"""Text that arrives in pieces, read by generators that pause where it runs out.

A step function is a generator: it yields when it needs more text and returns its result. So a dialect's
grammar is written top-down, as if the whole text were there, and is still incremental: what was read is
never read again. Knows no call form. Thread: any; one source belongs to one reader.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable
from typing import TypeAlias, TypeVar

T = TypeVar("T")
Steps: TypeAlias = Generator[None, None, T]
Out: TypeAlias = Callable[[str], object]

SPACE = re.compile(r"[ \t\r\n]*")


class Malformed(Exception):
    """The text cannot be what the grammar asks for, whatever comes next."""


class Truncated(Exception):
    """The text ended inside something that could still have become whole."""


def drop(_text: str) -> None:
    """An output that forgets."""


class Source:
    """A cursor over text that grows. Consumed text is kept until `mark`, so that it can be given back."""

    def __init__(self) -> None:
        self._buffer = ""
        self._at = 0
        self._ended = False
        self._consumed: list[str] = []

    def feed(self, text: str) -> None:
        """Add text at the end."""
        self._buffer = self._buffer[self._at :] + text
        self._at = 0

    def end(self) -> None:
        """Nothing more will be fed."""
        self._ended = True

    def mark(self) -> None:
        """Forget what was consumed so far: it belongs to something that is finished."""
        self._consumed.clear()

    def consumed(self) -> str:
        """Everything consumed since the mark."""
        return "".join(self._consumed)

    def rest(self) -> str:
        """What was fed and not consumed."""
        return self._buffer[self._at :]

    def head(self) -> str:
        """The next character, or "" where the buffer is used up."""
        return self._buffer[self._at : self._at + 1]

    def take(self, count: int) -> str:
        """Consume `count` characters that are known to be there."""
        text = self._buffer[self._at : self._at + count]
        self._at += count
        self._consumed.append(text)
        return text

    def take_run(self, pattern: re.Pattern[str]) -> str:
        """Consume what the pattern matches here of the text that has arrived."""
        match = pattern.match(self._buffer, self._at)
        return self.take(match.end() - self._at) if match and match.end() > self._at else ""

    def need(self, count: int) -> Steps[None]:
        """Wait until `count` characters are there.

        Raises:
            Truncated: the text ended before.
        """
        while len(self._buffer) - self._at < count:
            if self._ended:
                raise Truncated
            yield

    def peek(self) -> Steps[str]:
        """The next character, not consumed.

        Raises:
            Truncated: the text is over.
        """
        yield from self.need(1)
        return self.head()

    def skip_space(self, out: Out = drop) -> Steps[None]:
        """Consume whitespace into `out`, up to something else or the end."""
        while True:
            blank = self.take_run(SPACE)
            if blank:
                out(blank)
            if self.head() or self._ended:
                return
            yield

    def token(self, out: Out = drop) -> Steps[str]:
        """The next character that is not whitespace, not consumed; the whitespace goes to `out`.

        Raises:
            Truncated: the text ended before.
        """
        yield from self.skip_space(out)
        return (yield from self.peek())

    def run(self, pattern: re.Pattern[str], out: Out, *, limit: int | None = None) -> Steps[None]:
        """Consume characters of a class (`pattern` matches any number of them) until another one comes.

        Raises:
            Truncated: the text ended inside the run.
            Malformed: the run is longer than `limit`.
        """
        length = 0
        while True:
            piece = self.take_run(pattern)
            if piece:
                out(piece)
                length += len(piece)
            if limit is not None and length > limit:
                raise Malformed
            if self.head():
                return
            yield from self.need(1)

    def choose(self, literals: Iterable[str]) -> Steps[str | None]:
        """Consume the longest of `literals` that stands here and return it; None where none does."""
        options = tuple(literals)
        longest = max(map(len, options))
        while True:
            have = self._buffer[self._at : self._at + longest]
            undecided = any(option.startswith(have) and option != have for option in options)
            if undecided and not self._ended:
                yield
                continue
            found = max((o for o in options if have.startswith(o)), key=len, default=None)
            if found is not None:
                self.take(len(found))
            elif undecided:
                raise Truncated
            return found

    def expect(self, literal: str) -> Steps[None]:
        """Consume exactly `literal`.

        Raises:
            Malformed: something else stands here.
            Truncated: the text ended inside it.
        """
        if (yield from self.choose((literal,))) is None:
            raise Malformed

    def until(self, literals: Iterable[str], out: Out) -> Steps[str]:
        """Consume text into `out` up to the first of `literals`, consume that too and return it.

        Raises:
            Truncated: the text ended before; everything that is not part of a literal was put out.
        """
        options = tuple(literals)
        while True:
            places = [(self._buffer.find(o, self._at), o) for o in options]
            found = min(((i, -len(o), o) for i, o in places if i >= 0), default=None)
            if found is not None:
                if found[0] > self._at:
                    out(self.take(found[0] - self._at))
                return self.take(len(found[2]))
            held = 0 if self._ended else max(self._overlap(o) for o in options)
            ready = len(self._buffer) - self._at - held
            if ready > 0:
                out(self.take(ready))
            if self._ended:
                raise Truncated
            yield

    def ahead(self, literals: Iterable[str]) -> Steps[bool]:
        """Whether one of `literals` comes next, after any whitespace. Consumes nothing."""
        options = tuple(literals)
        longest = max(map(len, options))
        offset = 0  # from the cursor: the buffer is rebased while this waits
        while True:
            blank = SPACE.match(self._buffer, self._at + offset)
            if blank:
                offset = blank.end() - self._at
            have = self._buffer[self._at + offset : self._at + offset + longest]
            if any(have.startswith(option) for option in options):
                return True
            if self._ended or not any(option.startswith(have) for option in options):
                return False
            yield

    def looks_like(self, whole: re.Pattern[str], maybe: re.Pattern[str]) -> Steps[bool]:
        """Whether `whole` matches next. `maybe` matches every text that may yet become such a match.

        Consumes nothing; waits while all that has arrived is a `maybe`.
        """
        while True:
            if whole.match(self._buffer, self._at):
                return True
            if self._ended or not maybe.fullmatch(self._buffer, self._at):
                return False
            yield

    def _overlap(self, literal: str) -> int:
        """How many characters at the end of the buffer may be the beginning of `literal`."""
        room = min(len(literal) - 1, len(self._buffer) - self._at)
        return next((n for n in range(room, 0, -1) if self._buffer.endswith(literal[:n])), 0)
